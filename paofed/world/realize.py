"""Realise nature: (scenario, seed, world, run) -> Trace, the same bits however it is asked for.

The map, the clients' laws and the test set belong to a world; samples, presence, delays and lottery
belong to a run in that world. Every number is a function of (seed, world, run, client, tick,
purpose), so the part of any client can be produced without the other clients'. The compiled engine
draws the same numbers inside its kernels (paofed.simulate.engines.fast.family).
"""

from enum import IntEnum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray, IntArray, WordArray
from paofed.core.due import SampleLabels
from paofed.core.features import NO_RANGES, FourierMap, Ranges, draw_map
from paofed.core.intervals import first_half_width
from paofed.core.parts import Calibration, keys_of
from paofed.core.random import Key, child, key_of, normal, philox, some_of, uniform
from paofed.errors import InputError
from paofed.memory import require_memory
from paofed.world.faults import Chance, FaultyReadings, Measured
from paofed.world.recorded import Recorded
from paofed.world.scenario import Scenario, scenario_of, settled_labels
from paofed.world.start import fitted
from paofed.world.streams import INPUTS, ClientLaws, target
from paofed.world.table.door import read
from paofed.world.table.spec import Table
from paofed.world.trace import NO_DELAYS, NOTHING_LOST, Targets, Trace, blend
from paofed.world.value import threshold

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings

# Bits of a client's phase in `even` arrivals: integers stay exact up to 700,000 ticks.
PHASE_BITS = 24
_CELL_BYTES = 100  # bytes that one client of a synthetic world needs for one tick, at most
# The most bytes for the trace of a table: a larger trace is nearly all gaps.
_MOST_OF_TABLE = 1 << 30


class Purpose(IntEnum):
    """What a random number is for; the purpose is the last word of the number's counter."""

    LAWS = 0
    TEST = 1
    EVENTS = 2  # one block per client and tick: data, presence, delay, lottery
    SAMPLE = 3  # inputs, then observation noise
    PHASE = 4
    # One more block per client and tick, where needed: loss up, loss down, charge, use.
    CONTACT = 5
    OUTAGE = 6  # one word per tick for the whole fleet: whether there is an outage
    HIT = 7  # one word per client and tick at which an outage began
    FAULT = 8  # one block per client, tick and faulty reading
    # A block per client and tick: whether a sample has a label; one per client: who has labels.
    LABEL = 9


class World(NamedTuple):
    """What all runs of a synthetic world have in common."""

    key: Key
    fourier_map: FourierMap
    laws: ClientLaws
    x_test: FloatArray
    test_targets: Targets


class _Contacts(NamedTuple):
    """Which of the possible contacts nature offers, and which messages are lost."""

    available: BoolArray
    lost_up: BoolArray = NOTHING_LOST
    lost_down: BoolArray = NOTHING_LOST


class _Samples(NamedTuple):
    """What the clients see in one run, and the test set."""

    fourier_map: FourierMap
    x: FloatArray
    y: FloatArray
    has_data: BoolArray
    x_test: FloatArray
    test_targets: Targets


def make_world(scenario: Scenario, seed: int, world: int) -> World:
    """Draw the map, the clients' laws and the test set."""
    samples, features = scenario.test_samples, scenario.features
    require_memory(_sample_bytes(features) * samples, f"a test set of {samples:,} samples")
    key = world_key(seed, world)
    stream = scenario.synthetic
    laws = stream.laws(key, scenario.clients, Purpose.LAWS)
    # Every test sample comes from the stationary law of a client drawn at random.
    t = np.arange(scenario.test_samples)
    k = (uniform(philox(key, t, 0, 0, Purpose.TEST)[0]) * scenario.clients).astype(np.int64)
    draws = _normals(key, t, np.ones_like(t), Purpose.TEST)
    x_test = laws.stationary_mean[k, None] + laws.spread[k, None] * draws[:, :INPUTS]
    noise = laws.noise[k] * draws[:, INPUTS]
    drifts = np.array(stream.drifts, dtype=np.int64)
    y = np.stack([target(x_test, seen) + noise for seen in range(drifts.size + 1)])
    targets = Targets(drifts, y, np.full_like(drifts, stream.drift_ticks))
    return World(key, map_of(scenario, key, INPUTS), laws, x_test, targets)


def _sample_bytes(features: int) -> int:
    """Return the bytes of one test sample: its numbers as they are drawn, then its features."""
    return 100 + 8 * features


def world_key(seed: int, world: int) -> Key:
    """Derive the key of a world's map, laws and test set."""
    return child(key_of(seed), world)


def map_key(world: Key) -> Key:
    """Derive the key of a world's map from the world's."""
    return child(world, 0, 1)


def run_key(world: Key, run: int) -> Key:
    """Derive the key of one run's samples, presence, delays and lottery from its world's."""
    return child(world, run, 2)


def realize(
    scenario: Scenario | str | Path,
    world: int = 0,
    run: int = 0,
    *,
    seed: int = 0,
    clients: IntArray | None = None,
) -> Trace:
    """Realise one run of a scenario: everything that happens in it, as a Trace.

    `scenario` is a Scenario, a preset's name or a file's path. The random numbers are those of the
    run number `run` in the world number `world` of `seed`. The whole fleet is realised or, with
    `clients`, those of these indices alone.
    """
    scenario = scenario_of(scenario)
    cells = scenario.ticks * (scenario.clients if clients is None else len(clients))
    _require_room(scenario, cells)
    key = run_key(world_key(seed, world), run)
    k = np.arange(scenario.clients) if clients is None else np.asarray(clients, dtype=np.int64)
    n = np.arange(scenario.ticks)[:, None]
    data, presence, lateness, lottery = philox(key, k, n, 0, Purpose.EVENTS)
    if isinstance(scenario.stream, Table):
        samples = _recorded(scenario, scenario.stream, world_key(seed, world), k)
    else:
        samples = _drawn(scenario, make_world(scenario, seed, world), key, k, data)
    if scenario.numbered(FaultyReadings):
        samples = _faulty(scenario, samples, k, seed, world, run)
    wanted = samples.has_data & _presence(scenario, k, presence)
    labels = labels_of(scenario, key, n, k) or SampleLabels(NOTHING_LOST, NO_DELAYS)
    return Trace(
        x=samples.x,
        y=samples.y,
        has_data=samples.has_data,
        **_contacts(scenario, key, k, wanted)._asdict(),
        delay=_delays(scenario, k, lateness),
        lottery=uniform(lottery),
        frequencies=samples.fourier_map.frequencies,
        phases=samples.fourier_map.phases,
        linear_low=samples.fourier_map.ranges.low,
        linear_high=samples.fourier_map.ranges.high,
        x_test=samples.x_test,
        y_test=samples.test_targets.y[0],
        drifts=samples.test_targets.drifts,
        y_test_drifted=samples.test_targets.y[1:],
        drift_ticks=samples.test_targets.takes,
        start=start_of(scenario, world_key(seed, world)),
        newcomers_whole=np.array([scenario.newcomers == "whole"]),
        personal=np.array([scenario.personal]),
        labelled=labels.given,
        label_delay=labels.delay,
    )


def labels_of(scenario: Scenario, run: Key, n: IntArray, k: IntArray) -> SampleLabels | None:
    """Return the labels of samples of clients k at ticks n; None without a law of labels."""
    law = settled_labels(scenario)
    return None if law is None else law.of_samples(run, n, k, Purpose.LABEL)


def _faulty(
    scenario: Scenario, samples: _Samples, k: IntArray, seed: int, world: int, run: int
) -> _Samples:
    """Return the samples as broken sensors give them."""
    there = tick, column = np.nonzero(samples.has_data)
    seen = Measured(tick, k[column], samples.x[there], samples.y[there])
    x, y = samples.x.copy(), samples.y.copy()
    _, _, x[there], y[there] = with_faults(scenario, seen, seed, world, run)
    return samples._replace(x=x, y=y)


def with_faults(scenario: Scenario, seen: Measured, seed: int, world: int, run: int) -> Measured:
    """Let the faults of a scenario's sensors change the measured values of one run."""
    faults = scenario.numbered(FaultyReadings)
    key = run_key(world_key(seed, world), run)
    chance = Chance(keys_of(seed, world, run).up, key, Purpose.FAULT, scenario.clients)
    return seen.with_faults(faults, scenario.units, chance) if faults else seen


def _require_room(scenario: Scenario, cells: int) -> None:
    """Refuse a trace that does not fit in memory, or one of a table that is nearly all gaps."""
    if not isinstance(scenario.stream, Table):
        require_memory(_CELL_BYTES * cells, f"a trace of {cells:,} client ticks")
        return
    readings = read(scenario.stream)
    # Three numbers of 8 bytes (y, delay and lottery) and two flags of 1; a number and a flag more
    # for labels.
    size = cells * (8 * readings.inputs + 26 + 9 * (scenario.labels is not None))
    if size > _MOST_OF_TABLE:
        raise InputError(
            f"a trace of {scenario.name} has {cells:,} cells and needs {size / 1e9:.1f} GB for "
            f"{len(readings.y):,} readings: expected at most {_MOST_OF_TABLE / 1e9:.1f} GB; "
            f"`run` takes such a table as it is, a trace wants longer ticks (`tick`) or a part of "
            f"the table"
        )


def map_of(scenario: Scenario, world: Key, inputs: int, ranges: Ranges = NO_RANGES) -> FourierMap:
    """Draw the one map of a world."""
    return draw_map(
        map_key(world),
        inputs=inputs,
        features=scenario.features,
        width=scenario.kernel_width,
        ranges=ranges,
    )


def table_map(scenario: Scenario, world: Key) -> FourierMap:
    """Draw the map of a world over a table; linear terms follow the calibration period's inputs."""
    readings = read(scenario.table)
    ranges = readings.ranges if scenario.linear else NO_RANGES
    return map_of(scenario, world, readings.inputs, ranges)


def start_of(scenario: Scenario, world: Key) -> FloatArray:
    """Return the model with which a fleet begins in a world: zeros, or a fit of the calibration."""
    if scenario.start == "zeros":
        return np.zeros(scenario.features)
    return fitted(read(scenario.table), table_map(scenario, world)).model


def calibration_of(scenario: Scenario, world: Key) -> Calibration | None:
    """Return the calibration period of a table as servers know it; None if fleets begin with zeros.

    The samples are those on which the fit of the period was tried before it had seen them.
    """
    if scenario.start == "zeros":
        return None
    readings = read(scenario.table)
    foretold = fitted(readings, table_map(scenario, world)).foretold
    if not foretold.size:
        return None
    since = len(readings.y_past) - foretold.size
    y = readings.y_past[since:]
    return Calibration(readings.x_past[since:], y, y - foretold)


def half_width_of(scenario: Scenario, world: Key) -> float:
    """Return half the width of a device's first interval over a table.

    The interval covers the errors of the fleet's first model on the calibration period; a model of
    zeros has the targets themselves as errors.
    """
    readings = read(scenario.table)
    if scenario.start == "zeros":
        return first_half_width(readings.y_past)
    return fitted(readings, table_map(scenario, world)).half_width


def _recorded(scenario: Scenario, table: Table, world: Key, k: IntArray) -> _Samples:
    """Return the samples of a table, which are the same in every world but for the map."""
    readings, shape = read(table), (scenario.ticks, scenario.clients)
    there = readings.tick, readings.device
    x, y, has_data = np.zeros((*shape, readings.inputs)), np.zeros(shape), np.zeros(shape, bool)
    x[there], y[there], has_data[there] = readings.x, readings.y, True
    fourier_map = table_map(scenario, world)
    return _Samples(fourier_map, x[:, k], y[:, k], has_data[:, k], *past_of(scenario, readings))


def past_of(scenario: Scenario, readings: "Readings") -> tuple[FloatArray, Targets]:
    """Return the test set of a table: its calibration period, from which nobody learns."""
    some = some_of(len(readings.y_past), scenario.test_samples)
    never = np.zeros(0, dtype=np.int64)
    return readings.x_past[some], Targets(never, readings.y_past[None, some], never)


def _drawn(scenario: Scenario, made: World, key: Key, k: IntArray, words: WordArray) -> _Samples:
    """Draw the samples of one run from the laws of the clients."""
    has_data = _arrivals(scenario, key, k, words)
    x, y = _samples(made, key, k, has_data)
    return _Samples(made.fourier_map, x, y, has_data, made.x_test, made.test_targets)


def phases(key: Key, k: IntArray) -> IntArray:
    """Draw each client's phase for `even` arrivals, in units of 2^-PHASE_BITS."""
    words = philox(key, k, 0, 0, Purpose.PHASE)[0]
    shifted: IntArray = words.astype(np.int64) >> (32 - PHASE_BITS)
    return shifted


def _arrivals(scenario: Scenario, key: Key, k: IntArray, words: WordArray) -> BoolArray:
    ticks = scenario.ticks
    stream = scenario.synthetic
    samples = stream.samples_of(scenario.clients)[k]
    if stream.arrivals == "bernoulli":
        return np.less(words, threshold(samples / ticks))
    # Sample i arrives at floor((i + phase) N / samples). So before tick n have arrived all i below
    # n samples / N - phase: a count, in exact integers.
    n = np.arange(ticks + 1)[:, None]
    arrived = -((phases(key, k) * ticks - (n * samples << PHASE_BITS)) // (ticks << PHASE_BITS))
    moved: BoolArray = np.diff(np.maximum(arrived, 0), axis=0) > 0
    return moved


def _presence(scenario: Scenario, k: IntArray, words: WordArray) -> BoolArray:
    law = scenario.availability
    if isinstance(law, Recorded):
        return law.table(scenario.ticks, scenario.clients)[:, k].astype(bool)
    return law.on_off(k).follow(words)


def _contacts(scenario: Scenario, key: Key, k: IntArray, wanted: BoolArray) -> _Contacts:
    """Take from the wanted contacts what outages, unused contacts, batteries and losses take."""
    loss, battery, outages = scenario.loss, scenario.battery, scenario.outages
    share = scenario.contacts
    if outages is not None:
        began = outages.began(key, scenario.ticks, Purpose.OUTAGE)
        wanted = wanted & ~outages.hits(key, began, k, Purpose.HIT)
    if loss is None and battery is None and share is None:
        return _Contacts(wanted)
    n = np.arange(scenario.ticks)[:, None]
    up, down, charge, use = philox(key, k, n, 0, Purpose.CONTACT)
    if share is not None:
        wanted = wanted & (use < threshold(share))
    if battery is not None:
        wanted = battery.cells(k).offers(wanted, charge)
    if loss is None:
        return _Contacts(wanted)
    losing_up, losing_down = loss.thresholds(k)
    return _Contacts(wanted, wanted & (up < losing_up), wanted & (down < losing_down))


def _delays(scenario: Scenario, k: IntArray, words: WordArray) -> IntArray:
    law = scenario.delay
    if isinstance(law, Recorded):
        return law.table(scenario.ticks, scenario.clients)[:, k]
    return law.ladder().delays(words, k)


def _samples(
    made: World, key: Key, k: IntArray, has_data: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Draw inputs and targets: a client's series moves on at each of its samples."""
    ticks, where = np.nonzero(has_data)
    draws = np.zeros((*has_data.shape, INPUTS + 1))
    draws[ticks, where] = _normals(key, k[where], ticks, Purpose.SAMPLE)
    own = ClientLaws(*(law[k] for law in made.laws))
    u = own.centre[:, None] + own.spread[:, None] * draws[..., :INPUTS]
    memory = own.memory[:, None]
    fresh = np.sqrt(1 - memory**2)
    x = np.zeros_like(u)
    now, begun = np.zeros(u.shape[1:]), np.zeros(len(k), dtype=bool)
    for n, there in enumerate(has_data):
        moved = np.where(begun[:, None], memory * now + fresh * u[n], u[n])
        now = np.where(there[:, None], moved, now)
        begun |= there
        x[n] = now
    y = _targets(x, made.test_targets) + own.noise * draws[..., INPUTS]
    x[~has_data], y[~has_data] = 0.0, 0.0
    return x, y


def _targets(x: FloatArray, targets: Targets) -> FloatArray:
    """Compute the targets of inputs whose first axis is the ticks; drifts change the function."""
    y = target(x)
    for drifts, (begin, end) in enumerate(pairwise([*targets.drifts.tolist(), len(x)]), start=1):
        y[begin:end] = target(x[begin:end], drifts)
    seen, done = targets.progress(np.arange(len(x)))
    for n in np.flatnonzero(done < 1).tolist():
        y[n] = blend(target(x[n], int(seen[n]) - 1), y[n], done[n])
    return y


def _normals(key: Key, c0: IntArray, c1: IntArray, purpose: Purpose) -> FloatArray:
    """Draw INPUTS + 1 standard normal numbers for each pair of counters."""
    blocks = range(-(-(INPUTS + 1) // 4))
    words = np.concatenate([philox(key, c0, c1, block, purpose) for block in blocks])
    return normal(words[: INPUTS + 1].T)
