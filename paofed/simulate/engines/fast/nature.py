"""Lay out for the kernels what nature does, drawn or of a trace, as the arrays of `records`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import IntArray
from paofed.core.due import Due, due_of
from paofed.core.parts import keys_of
from paofed.core.random import Key
from paofed.simulate.engines.fast import kernels
from paofed.simulate.engines.fast.layout import laid_out
from paofed.simulate.engines.fast.records import Hazards, Moment, Nature, Wrong
from paofed.world.availability import OnOff
from paofed.world.delays import NoDelay
from paofed.world.faults import FaultyReadings
from paofed.world.realize import PHASE_BITS, Purpose, World, phases, realize, run_key
from paofed.world.recorded import Recorded
from paofed.world.scenario import Scenario
from paofed.world.streams import INPUTS
from paofed.world.trace import SparseTrace
from paofed.world.value import threshold

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


_ALL_AT_ONCE = Due(_NO_NUMBERS, _NO_NUMBERS)
NOTHING_WRONG = Wrong(_NO_NUMBERS, np.zeros((0, 0, INPUTS)), np.zeros((0, 0)))


def drawn_nature(scenario: Scenario, made: World, run: int, wrong: Wrong = NOTHING_WRONG) -> Nature:
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
        due=_ALL_AT_ONCE,
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
        due=_due(trace, by_client),
        **_calendar(visits // trace.clients, visits % trace.clients, sample),
        **{name: values[by_client] for name, values in samples_of(trace).items()},
    )


def _due(trace: SparseTrace, order: IntArray) -> Due:
    """Return what is learned at each of the samples in this order."""
    if trace.labels is None:
        return _ALL_AT_ONCE
    return due_of(trace.tick[order], trace.client[order], trace.labels.at(order))


def samples_of(trace: SparseTrace) -> dict[str, NDArray[Any]]:
    """Return the samples of a trace as the arrays that the kernels take."""
    return {name: laid_out(getattr(trace, name), a.dtype) for name, a in _NO_SAMPLES.items()}


def without(nature: Nature, client: int) -> Nature:
    """Return the trace without any visit of a client; the other samples keep their places."""
    tick = np.repeat(nature.busy, np.diff(nature.begin))
    others = nature.client != client
    return nature._replace(**_calendar(tick[others], nature.client[others], nature.sample[others]))


def joining(nature: Nature, client: int, begin: int) -> Nature:
    """Return the trace as a client meets it that joins at the tick `begin`.

    Labels of samples from before that tick never come to the client, who was not there.
    """
    if not nature.due.begin.size:
        return nature
    tick = np.repeat(nature.busy, np.diff(nature.begin))
    seen = nature.sample >= 0
    missed = nature.sample[seen & (nature.client == client) & (tick < begin)]
    here = np.repeat(np.arange(nature.y.size), np.diff(nature.due.begin))
    left = ~np.isin(nature.due.sample, missed)
    kept = np.searchsorted(here[left], np.arange(nature.y.size + 1))
    return nature._replace(due=Due(kept, nature.due.sample[left]))


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
