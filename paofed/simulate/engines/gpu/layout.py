"""Lay runs out on the card: worlds, what happens in them, and algorithms, as the kernels take them.

Samples and events are drawn on the card where a scenario has laws, and copied to it from a trace.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.features import FourierMap, linear_terms
from paofed.core.random import Key, key_of, philox
from paofed.simulate.engines import Precision
from paofed.simulate.engines.fast import layout as on_cpu
from paofed.simulate.engines.fast.nature import ages_of, hazards_of
from paofed.simulate.engines.fast.records import Family
from paofed.simulate.engines.gpu import nature
from paofed.simulate.engines.gpu.card import over, sent, zeros
from paofed.simulate.engines.gpu.judging import map_tests
from paofed.simulate.engines.gpu.steps import ModelShape
from paofed.simulate.engines.task import Place
from paofed.world.availability import OnOff
from paofed.world.delays import NoDelay
from paofed.world.recorded import Recorded
from paofed.world.scenario import Scenario
from paofed.world.streams import INPUTS
from paofed.world.trace import Targets, Trace, blend
from paofed.world.value import threshold


class WorldsOnCard(NamedTuple):
    """The worlds of R runs on the card."""

    frequencies: Any  # (R, d, D) real; for linear terms, these are slopes
    phases: Any  # (R, D) real; for linear terms, these are constants
    low: Any  # (R, d) real: ranges of the inputs of linear terms
    high: Any
    start: Any  # (R, D) float64
    z_test: Any  # (R, D, T) real
    y_test: Any  # (R, rows, T) real
    seen: Any  # (P,) int64: which row of y_test holds at a point of the curve


class TicksOnCard(NamedTuple):
    """The samples and events of R runs in some ticks."""

    sample: Any  # (R, ticks, d + 1, K) real: inputs, then the target
    event: Any  # (R, ticks, K) int32: see paofed.simulate.engines.gpu.nature
    lottery: Any  # (R, ticks, K) float64, or (0, 0, 0) where no server picks


class ListedTicks(NamedTuple):
    """The ticks of R runs as lists of clients: see `nature.line_up`."""

    clients: int
    listed: Any  # (R, ticks) int32: how many are available
    # The others have one dimension, in this order:
    sample: Any  # (R, ticks, K, d + 1) real
    event: Any  # (R, ticks, K, 2) int32: an event, and whose
    picked: Any  # (algorithms that pick, R, ticks, K) uint8: see `nature.pick`


class CardRows(NamedTuple):
    """Algorithms on the card, and the ages of messages: see records.Family and FamilyModels."""

    down: Any  # (A, 3) int64: as in Family, but the last number is less than D
    heard: int
    up: Any
    learns_away: Any
    picks: Any  # (A,) int64: the index of an algorithm among those that pick a subset, or -1
    mu: Any  # (A,) real
    max_age: Any
    by_coverage: Any
    exchange: Any
    weight: Any
    age_index: Any
    base: Any
    period: Any
    turn: Any  # (A,) int64: the algorithms, those that take long before the others
    subset: Any  # the subsets of the algorithms that pick

    @property
    def cells(self) -> int:
        """How many sums are on their way at a time."""
        return int(np.sum(self.period.copy_to_host()))

    @property
    def longest(self) -> int:
        """The highest age that some algorithm does not drop."""
        return int(self.age_index.size) - 1


def rows_of(
    methods: Sequence[Algorithm], ages: IntArray, features: int, heard: int, precision: Precision
) -> CardRows:
    """Copy algorithms, whose step sizes and age limits are set, to the card."""
    kept = on_cpu.kept(ages, methods)
    family: Family = on_cpu.family(methods, kept, features, heard)
    picking = np.flatnonzero(family.picks)
    picks = np.full(len(methods), -1)
    picks[picking] = np.arange(picking.size)
    index = np.full(int(kept[-1]) + 1, -1)
    index[kept] = np.arange(kept.size)
    return CardRows(
        down=_windows(family.down, features),
        heard=heard,
        up=_windows(family.up, features),
        learns_away=sent(family.learns_away, np.uint8),
        picks=sent(picks, np.int64),
        mu=sent(family.mu, precision),
        max_age=sent(family.max_age, np.int64),
        by_coverage=sent(family.by_coverage, np.uint8),
        exchange=sent(family.exchange, np.int64),
        weight=sent(family.weight, np.float64),
        age_index=sent(index, np.int64),
        base=sent(np.cumsum(kept + 1) - (kept + 1), np.int64),
        period=sent(kept + 1, np.int64),
        turn=sent(np.argsort(family.learns_away == 0, stable=True), np.int64),
        subset=sent(family.subset[picking], np.float64),
    )


def _windows(windows: IntArray, features: int) -> Any:
    """Copy windows to the card; D windows further on is the same window, so `ahead` is below D."""
    width, apart, ahead = windows.T
    return sent(np.column_stack([width, apart, ahead % features]), np.int64)


def shape_of(fourier_map: FourierMap, precision: Precision) -> ModelShape:
    """Return what the kernels are compiled for."""
    waves = fourier_map.phases.size
    return ModelShape(fourier_map.features, waves, len(fourier_map.frequencies), precision)


def judged_rows(targets: Targets, points: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the targets at the points of a curve, (rows, T), and which row holds at each point."""
    seen, done = targets.progress(points)
    under_way = np.flatnonzero(done < 1)
    between = [
        blend(targets.y[max(int(seen[p]) - 1, 0)], targets.y[seen[p]], done[p]) for p in under_way
    ]
    rows = seen.copy()
    rows[under_way] = len(targets.y) + np.arange(under_way.size)
    return np.stack([*targets.y, *between]), rows


class TracedRuns:
    """Runs whose traces are copied to the card as a whole."""

    def __init__(self, traces: Sequence[Trace], precision: Precision) -> None:
        self._traces = traces
        self._precision = precision
        first = traces[0]
        self.ticks, self.clients = first.ticks, first.clients
        self.shape = shape_of(first.fourier_map, precision)
        self.heard = first.sparse().heard
        self.ages = np.unique(np.concatenate([t.delay[t.available] for t in traces]))

    def fleet(self, points: IntArray) -> WorldsOnCard:
        """Copy the worlds to the card."""
        maps = [_linearly(trace.fourier_map) for trace in self._traces]
        tests = [judged_rows(trace.test_targets, points) for trace in self._traces]
        z = np.stack([trace.fourier_map(trace.x_test).T for trace in self._traces])
        starts = [t.start if t.start.size else np.zeros(t.features) for t in self._traces]
        real = self._precision
        frequencies, phases, low, high = (
            sent(np.stack(part), real) for part in zip(*maps, strict=True)
        )
        return WorldsOnCard(
            frequencies,
            phases,
            low,
            high,
            start=sent(np.stack(starts), np.float64),
            z_test=sent(z, real),
            y_test=sent(np.stack([y for y, _ in tests]), real),
            seen=sent(tests[0][1], np.int64),
        )

    def stretch(self, begin: int, end: int, *, lottery: bool) -> TicksOnCard:
        """Copy some ticks to the card."""
        ticks = slice(begin, end)
        samples = [
            np.concatenate([t.x[ticks], t.y[ticks, :, None]], axis=2).swapaxes(1, 2)
            for t in self._traces
        ]
        drawn = [t.lottery[ticks] for t in self._traces] if lottery else []
        return TicksOnCard(
            sent(np.stack(samples), self._precision),
            sent(np.stack([_events(trace, ticks) for trace in self._traces]), np.int32),
            sent(np.stack(drawn) if lottery else np.zeros((0, 0, 0)), np.float64),
        )


def _events(trace: Trace, ticks: slice) -> IntArray:
    there, lost = trace.available[ticks], trace.losses
    flags = (
        trace.has_data[ticks] * nature.HAS_DATA
        | there * nature.AVAILABLE
        | lost.up[ticks] * nature.LOST_UP
        | lost.down[ticks] * nature.LOST_DOWN
    )
    delay = np.where(there, np.minimum(trace.delay[ticks], nature.LONGEST_DELAY), 0)
    events: IntArray = flags | delay << nature.DELAY_SHIFT
    return events


def _linearly(
    fourier_map: FourierMap,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return a map as slopes and constants of all its features, and the ranges of its inputs."""
    frequencies, phases, (low, high) = fourier_map
    inputs, terms = len(frequencies), linear_terms(fourier_map.ranges)
    if not terms:
        return frequencies, phases, np.zeros(inputs), np.zeros(inputs)
    # Since the kernels multiply all features by the scale of the cosines.
    scale = 1 / np.sqrt(terms) / fourier_map.fourier_scale
    slopes = np.append(np.diag(2 * scale / (high - low)), np.zeros((inputs, 1)), axis=1)
    constants = np.append(-scale * (low + high) / (high - low), scale)
    return np.hstack([frequencies, slopes]), np.append(phases, constants), low, high


class DrawnRuns:
    """Runs of a scenario with laws, drawn on the card from the same counters as everywhere."""

    def __init__(self, scenario: Scenario, places: Sequence[Place], precision: Precision) -> None:
        self._scenario = scenario
        self._precision = precision
        self.ticks, self.clients = scenario.ticks, scenario.clients
        self.shape = ModelShape(scenario.features, scenario.features, INPUTS, precision)
        self.heard = scenario.features
        self.ages = ages_of(scenario)
        seed = key_of(places[0]["seed"])
        worlds = np.array([place["world"] for place in places], dtype=np.uint64)
        runs = np.array([place["run"] for place in places], dtype=np.uint64)
        self._world_keys = children(seed, worlds)
        by_world = Key(*self._world_keys.T)  # stands for the keys of all worlds at once
        self._map_keys = children(by_world, np.zeros_like(worlds), 1)
        self._run_keys = children(by_world, runs, 2)
        self._laws: _Laws | None = None

    def fleet(self, points: IntArray) -> WorldsOnCard:
        """Draw the worlds."""
        scenario, runs = self._scenario, len(self._world_keys)
        features, samples, real = scenario.features, scenario.test_samples, self._precision
        stream = scenario.synthetic
        drifts = np.array(stream.drifts, dtype=np.int64)
        exact = zeros((runs, INPUTS, features), np.float64), zeros((runs, features), np.float64)
        rounded = zeros((runs, INPUTS, features), real), zeros((runs, features), real)
        over(
            nature.draw_maps, runs * (INPUTS + 1) * features, sent(self._map_keys, np.uint64),
            scenario.kernel_width, *exact, *rounded,
        )  # fmt: skip
        x = zeros((runs, samples, INPUTS), np.float64)
        y = zeros((runs, drifts.size + 1, samples), np.float64 if drifts.size else real)
        keys, ranges = sent(self._world_keys, np.uint64), sent(_ranges(scenario), np.float64)
        over(nature.draw_tests, runs * samples, keys, scenario.clients, ranges, x, y)
        z = zeros((runs, features, samples), real)
        over(map_tests, z.size, x, *exact, z)
        seen = np.zeros_like(points)
        if drifts.size:
            takes = np.full_like(drifts, stream.drift_ticks)
            rows = [judged_rows(Targets(drifts, own, takes), points) for own in y.copy_to_host()]
            y, seen = sent(np.stack([own for own, _ in rows]), real), rows[0][1]
        nowhere = zeros((runs, INPUTS), real)
        start = zeros((runs, features), np.float64)
        return WorldsOnCard(*rounded, nowhere, nowhere, start, z, y, sent(seen, np.int64))

    def stretch(self, begin: int, end: int, *, lottery: bool) -> TicksOnCard:
        """Draw the next ticks; they must follow each other, since clients remember their series."""
        runs, clients, ticks = len(self._run_keys), self.clients, end - begin
        if self._laws is None:
            self._laws = _laws(self._scenario, self._run_keys)
            keys = (sent(self._world_keys, np.uint64), sent(self._run_keys, np.uint64))
            self._keys = (*keys, sent(_ranges(self._scenario), np.float64))
            self._memory = (
                zeros((runs, INPUTS, clients), np.float64),
                zeros((runs, clients), np.uint8),
                zeros((runs, clients if self._laws.capacity.size else 0), np.int64),
            )
            self._stretch: TicksOnCard | None = None
        if self._stretch is None or self._stretch.event.shape[1] != ticks:
            self._stretch = TicksOnCard(
                zeros((runs, ticks, INPUTS + 1, clients), self._precision),
                zeros((runs, ticks, clients), np.int32),
                zeros((runs, ticks, clients) if lottery else (0, 0, 0), np.float64),
            )
        over(
            nature.draw, runs * clients, *self._keys, *self._laws, *self._memory, begin, end,
            *self._stretch,
        )  # fmt: skip
        return self._stretch


class _Laws(NamedTuple):
    """A scenario's laws as the kernel `draw` takes them; empty where it has no such law."""

    ticks: int
    even: bool
    samples: Any
    data: Any
    first: Any
    start: Any
    stay: Any
    presence: Any
    ladder: Any
    step: Any
    lateness: Any
    began: Any  # (R, N)
    share: Any
    use: Any
    capacity: Any
    charge: Any
    fill: Any
    up: Any
    down: Any
    drifts: Any
    takes: Any


def _laws(scenario: Scenario, run_keys: Any) -> _Laws:
    ticks, clients, stream = scenario.ticks, scenario.clients, scenario.synthetic
    samples, k = stream.samples_of(clients), np.arange(clients)
    nobody = np.zeros(0, dtype=np.uint64)
    on_off, presence = OnOff(nobody, nobody, nobody), np.zeros((0, 0), dtype=np.int64)
    if isinstance(scenario.availability, Recorded):
        presence = scenario.availability.table(ticks, clients)
    else:
        on_off = scenario.availability.on_off(k)
    ladder, lateness = NoDelay().ladder(), np.zeros((0, 0), dtype=np.int64)
    if isinstance(scenario.delay, Recorded):
        lateness = scenario.delay.table(ticks, clients)
    else:
        ladder = scenario.delay.ladder()
    hazards = [hazards_of(scenario, Key(int(low), int(high))) for low, high in run_keys]
    words = {"share", "use", "fill", "up", "down"}
    shared = {
        name: sent(getattr(hazards[0], name), np.uint64 if name in words else np.int64)
        for name in ("share", "use", "capacity", "fill", "up", "down")
    }
    drifts = np.array(stream.drifts, dtype=np.int64)
    return _Laws(
        ticks=ticks,
        even=stream.arrivals == "even",
        samples=sent(samples, np.int64),
        data=sent(threshold(samples / ticks), np.uint64),
        **{name: sent(law, np.uint64) for name, law in on_off._asdict().items()},
        presence=sent(presence, np.uint8),
        ladder=sent(ladder.thresholds, np.uint64),
        step=sent(ladder.step, np.int64),
        lateness=sent(lateness, np.int64),
        began=sent(np.stack([h.began for h in hazards]), np.int64),
        charge=sent(hazards[0].start, np.int64),
        **shared,
        drifts=sent(drifts, np.int64),
        takes=sent(
            np.full_like(drifts, stream.drift_ticks) if stream.drift_ticks else drifts[:0], np.int64
        ),
    )


def _ranges(scenario: Scenario) -> FloatArray:
    stream = scenario.synthetic
    return np.array([stream.memory, stream.centre, stream.variance, stream.noise_variance])


def children(key: Key, *path: Any) -> Any:
    """Return keys of several branches at once, (R, 2): see paofed.core.random.child."""
    a, b = (*path, 0)[:2]
    return philox(key, a, b, 0, 0xFFFFFFFF)[:2].T.astype(np.uint64)
