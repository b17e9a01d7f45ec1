"""Lay a run out for the kernels: scenario, trace and algorithms as the arrays of `records`."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.features import FourierMap
from paofed.core.parts import keys_of
from paofed.core.random import Key
from paofed.core.selection import Windows
from paofed.core.staleness import weight_of
from paofed.errors import InputError
from paofed.simulate.engines import Precision
from paofed.simulate.engines.fast import kernels
from paofed.simulate.engines.fast.records import (
    Family,
    FamilyModels,
    Hazards,
    Moment,
    Nature,
    Wrong,
)
from paofed.simulate.engines.guarded import guarded
from paofed.world.availability import OnOff
from paofed.world.delays import NoDelay
from paofed.world.faults import FaultyReadings
from paofed.world.realize import PHASE_BITS, Purpose, World, phases, realize, run_key
from paofed.world.recorded import Recorded
from paofed.world.scenario import Scenario
from paofed.world.streams import INPUTS
from paofed.world.trace import SparseTrace
from paofed.world.value import threshold

EXCHANGES = {"paper": kernels.PAPER, "single": kernels.SINGLE, "live": kernels.LIVE}
# How many terms of the odd series of sin(2 pi s), |s| <= 1/4, leave less than a rounding error.
_SINE_TERMS = {"float32": 5, "float64": 8}
# Clients whose messages are summed together: fixed, so that results do not depend on threads.
_BLOCK = 2048
_MOST_BLOCKS = 64
_LINE = 64  # bytes of a cache line
_PAD = 16  # how many float32 numbers fill a cache line
# The most bytes for messages on their way; a scenario that needs more is a mistake.
_MOST_IN_FLIGHT = 4 << 30

_NO_VISITS = {name: np.zeros(0, dtype=np.int64) for name in ("busy", "begin", "sample")}
_NO_SAMPLES: dict[str, NDArray[Any]] = {
    "x": np.zeros((0, 0)),
    "y": np.zeros(0),
    "truth": np.zeros(0),
    "available": np.zeros(0, dtype=np.uint8),
    "delay": np.zeros(0, dtype=np.int64),
    "lottery": np.zeros(0),
    "lost_up": np.zeros(0, dtype=np.uint8),
    "lost_down": np.zeros(0, dtype=np.uint8),
}
_NO_WORDS, _NO_NUMBERS = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
_NO_HAZARDS = Hazards(
    any=False,
    began=_NO_NUMBERS,
    share=_NO_WORDS,
    use=_NO_WORDS,
    capacity=_NO_NUMBERS,
    start=_NO_NUMBERS,
    fill=_NO_WORDS,
    up=_NO_WORDS,
    down=_NO_WORDS,
)


NOTHING_WRONG = Wrong(_NO_NUMBERS, np.zeros((0, 0, INPUTS)), np.zeros((0, 0)))


def laid_out(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array in the one layout that the kernels are compiled for."""
    return np.require(array, dtype, ["C", "A", "W"])


def drawn(scenario: Scenario, made: World, run: int, wrong: Wrong = NOTHING_WRONG) -> Nature:
    """Return nature as laws and thresholds, from which the kernels draw."""
    ticks, clients, stream = scenario.ticks, scenario.clients, scenario.synthetic
    key = run_key(made.key, run)
    samples = stream.samples_of(clients)
    never = np.zeros(clients, dtype=np.uint64)
    on_off, presence = OnOff(never, never, never), np.zeros((0, 0), dtype=np.uint8)
    if isinstance(scenario.availability, Recorded):
        presence = laid_out(scenario.availability.table(ticks, clients), np.uint8)
    else:
        on_off = scenario.availability.on_off(np.arange(clients))
    ladder, lateness = NoDelay().ladder(), np.zeros((0, 0), dtype=np.int64)
    if isinstance(scenario.delay, Recorded):
        lateness = laid_out(scenario.delay.table(ticks, clients), np.int64)
    else:
        ladder = scenario.delay.ladder()
    return Nature(
        key=np.array(key, dtype=np.uint64),
        even=stream.arrivals == "even",
        samples=samples,
        phase=phases(key, np.arange(clients)),
        phase_bits=PHASE_BITS,
        ticks=ticks,
        data=threshold(samples / ticks),
        **on_off._asdict(),
        presence=presence,
        ladder=ladder.thresholds,
        step=ladder.step,
        lateness=lateness,
        hazards=hazards_of(scenario, key),
        wrong=wrong,
        **made.laws._asdict(),
        fresh=np.sqrt(1 - made.laws.memory**2),
        drifts=made.test_targets.drifts,
        takes=made.test_targets.takes if stream.drift_ticks else _NO_NUMBERS,
        client=np.arange(clients),
        traced=False,
        place=_NO_NUMBERS,
        **_NO_VISITS,
        **_NO_SAMPLES,
    )


def wrong_of(scenario: Scenario, *, seed: int, world: int, run: int) -> Wrong:
    """Return what faulty sensors measure in one run, for the clients that have faults."""
    faults = scenario.numbered(FaultyReadings)
    if not faults:
        return NOTHING_WRONG
    key, fleet = keys_of(seed, world, run).up, scenario.clients
    hit = np.logical_or.reduce([fault.picked(i, key, fleet) for i, fault in faults])
    clients = np.flatnonzero(hit)
    who = np.full(fleet, -1)
    who[clients] = np.arange(clients.size)
    trace = realize(scenario, world, run, seed=seed, clients=clients)
    x, y = trace.x.swapaxes(0, 1), trace.y.T
    return Wrong(who, laid_out(x, np.float64), laid_out(y, np.float64))


def hazards_of(scenario: Scenario, key: Key) -> Hazards:
    """Return outages, used contacts, batteries and losses as thresholds of every client."""
    clients, found = np.arange(scenario.clients), _NO_HAZARDS
    if scenario.outages is not None:
        began = scenario.outages.began(key, scenario.ticks, Purpose.OUTAGE)
        found = found._replace(any=True, began=began, share=scenario.outages.shares(clients))
    if scenario.contacts is not None:
        use = np.full(scenario.clients, threshold(scenario.contacts))
        found = found._replace(any=True, use=use)
    if scenario.battery is not None:
        found = found._replace(any=True, **scenario.battery.cells(clients)._asdict())
    if scenario.loss is not None:
        up, down = scenario.loss.thresholds(clients)
        found = found._replace(any=True, up=up, down=down)
    return found


def traced(trace: SparseTrace) -> Nature:
    """Return nature as the samples of a trace; the laws are dummies of the right types."""
    words, whole, real = (np.zeros(2, dtype=kind) for kind in (np.uint64, np.int64, np.float64))
    by_client = np.argsort(trace.client, kind="stable")
    visits, cells = _visits(trace), trace.tick * trace.clients + trace.client
    sample = np.full(visits.size, -1)
    sample[np.searchsorted(visits, cells)[by_client]] = np.arange(cells.size)
    return Nature(
        key=words,
        even=False,
        samples=whole,
        phase=whole,
        phase_bits=PHASE_BITS,
        ticks=trace.ticks,
        data=words,
        first=words,
        start=words,
        stay=words,
        presence=np.zeros((0, 0), dtype=np.uint8),
        ladder=np.zeros((1, 0), dtype=np.uint64),
        step=whole,
        lateness=np.zeros((0, 0), dtype=np.int64),
        hazards=_NO_HAZARDS,
        wrong=NOTHING_WRONG,
        memory=real,
        fresh=real,
        centre=real,
        spread=real,
        noise=real,
        drifts=whole,
        takes=whole,
        traced=True,
        place=by_client,
        **_calendar(visits // trace.clients, visits % trace.clients, sample),
        **{name: values[by_client] for name, values in samples_of(trace).items()},
    )


def samples_of(trace: SparseTrace) -> dict[str, NDArray[Any]]:
    """Return the samples of a trace as the arrays that the kernels take."""
    return {name: laid_out(getattr(trace, name), a.dtype) for name, a in _NO_SAMPLES.items()}


def without(nature: Nature, client: int) -> Nature:
    """Return the trace without any visit of a client; the other samples keep their places."""
    tick = np.repeat(nature.busy, np.diff(nature.begin))
    others = nature.client != client
    return nature._replace(**_calendar(tick[others], nature.client[others], nature.sample[others]))


def _visits(trace: SparseTrace) -> IntArray:
    """Return which clients the kernels visit at which tick, as tick times K plus client, rising.

    Visited are clients that have a sample, clients whose message arrives (to be answered), and
    clients that may have samples left to learn at the end of a stretch.
    """
    tick, client = trace.tick, trace.client
    arrives = trace.available & (trace.delay < trace.ticks - tick)
    arrival = tick[arrives] + trace.delay[arrives]
    end = tick - tick % kernels.STRETCH + kernels.STRETCH - 1
    ended = end < trace.ticks
    ticks = np.concatenate([tick, arrival, end[ended]])
    clients = np.concatenate([client, client[arrives], client[ended]])
    return np.unique(ticks * trace.clients + clients)


def _calendar(tick: IntArray, client: IntArray, sample: IntArray) -> dict[str, NDArray[Any]]:
    """Return the visits in order of ticks, and where each busy tick begins."""
    busy, begin = np.unique(tick, return_index=True)
    return {"busy": busy, "begin": np.append(begin, tick.size), "client": client, "sample": sample}


def ages_of(scenario: Scenario) -> IntArray:
    """Return all ages that a message can have on arrival."""
    law = scenario.delay
    if isinstance(law, Recorded):
        return np.unique(law.table(scenario.ticks, scenario.clients))
    ages, _ = law.ladder().chances()
    return ages


def kept(ages: IntArray, methods: Sequence[Algorithm]) -> IntArray:
    """Return the ages that at least one algorithm does not drop; 0 is always among them."""
    limit = max(method.max_age or 0 for method in methods)
    return np.union1d(0, ages[ages <= limit])


def blocks_of(clients: int) -> IntArray:
    """Return where the fixed blocks of a fleet begin and end."""
    size = max(_BLOCK, -(-clients // _MOST_BLOCKS))
    return np.append(np.arange(0, clients, size), clients)


def family(
    methods: Sequence[Algorithm], ages: IntArray, features: int, heard: int | None = None
) -> Family:
    """Return algorithms as rows of numbers; devices take over `heard` coordinates (None: all)."""

    def column(values: Iterable[float], dtype: DTypeLike) -> NDArray[Any]:
        return np.array(list(values), dtype=dtype)

    methods = [guarded(method, features, clients=1) for method in methods]
    parts = [method.require_paper_parts("the family") for method in methods]
    return Family(
        down=np.array([windows(part.downlink, features) for part in parts]),
        heard=np.full(len(methods), features if heard is None else heard),
        up=np.array([windows(part.uplink, features) for part in parts]),
        learns_away=column((m.learns_while_away for m in methods), np.uint8),
        picks=column((m.subset is not None for m in methods), np.uint8),
        subset=column((m.subset or 0.0 for m in methods), np.float64),
        mu=column((m.step_size or 0.0 for m in methods), np.float64),
        max_age=column((m.max_age or 0 for m in methods), np.int64),
        by_coverage=column((part.server.divisor == "coverage" for part in parts), np.uint8),
        exchange=column((EXCHANGES[m.exchange] for m in methods), np.int64),
        weight=np.array([_weights(method, ages) for method in methods], dtype=np.float64),
    )


def _weights(method: Algorithm, ages: IntArray) -> list[float]:
    """Return weights by age.

    An age that the method drops has weight 0, whatever its function says.
    """
    limit, staleness = (
        method.max_age or 0,
        method.require_paper_parts("the family").server.staleness,
    )
    return [weight_of(staleness, age) if age <= limit else 0.0 for age in ages.tolist()]


def windows(channel: Windows, features: int) -> tuple[int, int, int]:
    """Return windows as numbers: width, windows further on per client, windows ahead."""
    return channel.size(features), int(not channel.coordinated), channel.ahead


def moment(algorithms: int, clients: int, inputs: int, blocks: int) -> Moment:
    """Return the state of nature before the first tick."""

    def flags(*shape: int) -> NDArray[np.uint8]:
        return np.zeros(shape, dtype=np.uint8)

    stretch, group = kernels.STRETCH, kernels.GROUP
    return Moment(
        has_data=flags(clients),
        available=flags(clients),
        on=flags(clients),
        hit=flags(clients),
        level=np.zeros(clients, dtype=np.int64),
        lost_up=flags(clients),
        lost_down=flags(clients),
        delay=np.zeros(clients, dtype=np.int64),
        lottery=np.zeros(clients),
        now=np.zeros((clients, inputs)),
        begun=flags(clients),
        picked=flags(algorithms, clients),
        scratch=np.zeros(clients),
        words=np.zeros((4, clients), dtype=np.uint64),
        todo=np.zeros((blocks, stretch + 1), dtype=np.int64),
        draws=np.zeros((blocks, 5, stretch), dtype=np.uint64),
        normals=np.zeros((blocks, 5, stretch)),
        x=np.zeros((blocks, stretch, -(-inputs // group) * group)),
        y=np.zeros((blocks, stretch)),
        roles=np.zeros((blocks, stretch, INPUTS)),
        past=np.zeros((blocks, stretch)),
        newest=np.zeros(clients, dtype=np.int64),
        pending=np.zeros(clients, dtype=np.uint64),
        ahead=flags(clients),
    )


def model(
    fourier_map: FourierMap,
    precision: Precision,
    methods: Sequence[Algorithm],
    clients: int,
    ages: IntArray,
    *,
    start: FloatArray,
    newcomers_whole: bool,
    judged: NDArray[Any],
) -> FamilyModels:
    """Return all models at the start, with no message on its way; `judged` has room for errors."""
    real = np.dtype(precision).type
    blocks, features, algorithms = blocks_of(clients), fourier_map.features, len(methods)
    row = -(-features // _PAD) * _PAD
    here, longest = blocks.size - 1, int(ages[-1])
    age_index = np.full(longest + 1, -1)
    age_index[ages] = np.arange(ages.size)
    cells = (here, int((ages + 1).sum()), algorithms)
    if 12 * math.prod(cells) * features > _MOST_IN_FLIGHT:
        raise InputError(
            f"keeping messages of up to {longest} ticks on their way would take more than "
            f"{_MOST_IN_FLIGHT >> 30} GiB: lower max_age"
        )
    live = any(method.exchange == "live" for method in methods)
    frequencies, phases, cosine, ranges = mapping(fourier_map, precision)
    local = _aligned_zeros((clients, algorithms, row), real)
    local[..., :features] = start
    joins = kernels.UNASKED if newcomers_whole else kernels.JOINED
    return FamilyModels(
        blocks=blocks,
        frequencies=frequencies,
        phases=phases,
        cosine=cosine,
        ranges=ranges,
        server=np.tile(start, (algorithms, 1)),
        shared=np.tile(start, (algorithms, 1)).astype(real),
        local=local,
        mapped=_aligned_zeros((here, kernels.GROUP, row), real),
        gram=np.zeros((here, 6), dtype=real),
        age_index=age_index,
        base=np.cumsum(ages + 1) - (ages + 1),
        period=ages + 1,
        sums=np.zeros((*cells, features)),
        holders=np.zeros((*cells, features), dtype=np.int32),
        counts=np.zeros(cells, dtype=np.int64),
        settled=np.zeros(features, dtype=np.uint8),
        judged=judged,
        answers=np.zeros((longest + 1, algorithms, clients) if live else (1, 0, 0), dtype=np.uint8),
        joins=np.full((algorithms, clients), joins),
        contacts=np.zeros((here, algorithms), dtype=np.int64),
        wholes=np.zeros((here, algorithms), dtype=np.int64),
    )


def mapping(fourier_map: FourierMap, precision: Precision) -> tuple[Any, Any, Any, Any]:
    """Return the map as the kernels take it: frequencies, phases, series of the cosine, ranges."""
    real = np.dtype(precision).type
    turns, scale = 1 / math.tau, fourier_map.fourier_scale
    padding = (0, -fourier_map.frequencies.shape[0] % kernels.GROUP), (0, 0)
    return (
        laid_out(np.pad(fourier_map.frequencies * turns, padding), real),
        laid_out(fourier_map.phases * turns, real),
        tuple(real(scale * c) for c in kernels.sine_series(_SINE_TERMS[precision])),
        laid_out(np.stack(fourier_map.ranges), np.float64),
    )


def unjudged(algorithms: int, samples: int, precision: DTypeLike) -> NDArray[Any]:
    """Return zeros for the errors of both models of every algorithm on every sample."""
    return np.zeros((algorithms, 2, samples), dtype=precision)


def _aligned_zeros(shape: tuple[int, ...], real: type[np.generic]) -> NDArray[Any]:
    """Return zeros whose rows begin on cache lines: other loads take up to 25% longer."""
    size = math.prod(shape) * np.dtype(real).itemsize
    raw = np.zeros(size + _LINE, dtype=np.uint8)
    offset = -raw.ctypes.data % _LINE
    return raw[offset : offset + size].view(real).reshape(shape)
