"""The compiled engine: many algorithms over one world in one pass, blocks of clients on threads.

Twin of paofed.simulate.engines.reference. The rules are in `kernels`, beside this file. Algorithms
of the family (windows, any weight by age, LMS steps, eq. 9) become rows of numbers for them.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from paofed.algorithms import Algorithm
from paofed.algorithms.spec import resolve
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.features import FourierMap
from paofed.errors import AlgorithmError
from paofed.simulate.engines.fast import kernels, layout
from paofed.simulate.engines.fast.records import Model, Moment, Nature
from paofed.simulate.engines.task import Precision
from paofed.simulate.results.progressive import per_sample
from paofed.simulate.results.result import Outcome, RunRecord, curve_ticks
from paofed.simulate.results.traffic import of_floats
from paofed.world.realize import make_world, realize
from paofed.world.scenario import Scenario
from paofed.world.table.spec import Table
from paofed.world.trace import Targets, Trace

__all__ = [
    "Precision",
    "Simulation",
    "ThreadPool",
    "in_family",
    "replay",
    "run",
]

_Record = TypeVar("_Record", Model, Moment)
_ALL_PHASES = kernels.EVENTS | kernels.PICK | kernels.LEARN | kernels.SERVE


def in_family(method: Algorithm) -> bool:
    """Whether the kernels can run this algorithm: everything about it is numbers."""
    return method.paper_parts is not None


def run(
    scenario: Scenario,
    methods: Sequence[Algorithm],
    *,
    seed: int,
    world: int,
    run: int,
    every: int,
    precision: Precision,
    report: Callable[[float], None],
    pool: "ThreadPool | None" = None,
    watch: Callable[[FloatArray], None] | None = None,
) -> RunRecord:
    """Run algorithms over one run of one world, drawn inside the kernels.

    `watch` sees the server's models, (A, D), at every point of the curve; they change afterwards.
    """
    settled = [settle(m, scenario.step_size, scenario.max_age) for m in methods]
    if isinstance(scenario.stream, Table):
        trace = realize(scenario, world, run, seed=seed)
        simulation = Simulation.over(trace, settled, precision, judged=True)
        scored = scenario.stream.read().scored
        return simulation.follow(trace, every, scored, report, pool)
    made = make_world(scenario, seed, world)
    nature, ages = layout.drawn(scenario, made, run), layout.ages_of(scenario)
    simulation = Simulation(settled, nature, ages, made.fourier_map, scenario.clients, precision)
    return simulation.record(
        scenario.ticks, every, made.x_test, made.test_targets, report, pool, watch
    )


def replay(
    trace: Trace,
    method: str | Algorithm,
    *,
    step_size: float = 0.4,
    max_age: int = 10,
    seed: int = 0,  # noqa: ARG001 (an engine's interface; the family draws no numbers)
) -> Outcome:
    """Run an algorithm over a trace in float64, as the reference engine's `replay` does."""
    settled = settle(resolve(method), step_size, max_age)
    if not in_family(settled):
        raise AlgorithmError(
            f"{settled.name} is outside the family that the fast engine knows: "
            f"use the reference engine"
        )
    simulation = Simulation.over(trace, [settled], "float64")
    record = simulation.record(trace.ticks, 1, trace.x_test, trace.test_targets, lambda _: None)
    return Outcome(server_model=record.models[0], mse=record.mse[0], traffic=record.traffic[0])


def settle(method: Algorithm, step_size: float, max_age: int) -> Algorithm:
    """Give an algorithm the step size and age limit that it has none of."""
    return replace(method, **method.settled(step_size=step_size, max_age=max_age)._asdict())


class Simulation:
    """All algorithms over one run, ready to advance; what it holds does not grow with the ticks."""

    def __init__(
        self,
        methods: Sequence[Algorithm],
        nature: Nature,
        ages: IntArray,
        fourier_map: FourierMap,
        clients: int,
        precision: Precision,
        *,
        judged: bool = False,
    ) -> None:
        inputs, features = fourier_map.frequencies.shape
        for method in methods:
            method.require_fits(features)
        kept = layout.kept(ages, methods)
        self.nature = nature
        self.family = layout.family(methods, kept, features)
        self.model = layout.model(fourier_map, precision, methods, clients, kept, judged=judged)
        self.blocks = len(self.model.blocks) - 1
        self.moment = layout.moment(len(methods), clients, inputs, self.blocks)
        self._fourier_map = fourier_map
        self._precision = precision

    @classmethod
    def over(
        cls,
        trace: Trace,
        methods: Sequence[Algorithm],
        precision: Precision,
        *,
        judged: bool = False,
    ) -> Self:
        """Make one over a trace."""
        nature, ages = layout.traced(trace), np.unique(trace.delay[trace.available])
        return cls(
            methods, nature, ages, trace.fourier_map, trace.clients, precision, judged=judged
        )

    def branch(self, nature: Nature) -> Self:
        """Make one that goes on from here, judged from now on, where nature takes another turn."""
        other = copy(self)
        other.nature = nature
        other.model, other.moment = _copied(self.model), _copied(self.moment)
        algorithms, clients = len(self.family.mu), self.moment.available.size
        other.model = other.model._replace(judged=layout.unjudged(algorithms, clients))
        return other

    def download(self, client: int) -> None:
        """Give a client the server's whole models, as they are."""
        self.model.local[client, :, : self.model.shared.shape[1]] = self.model.shared

    def advance(self, begin: int, end: int, pool: "ThreadPool | None" = None) -> None:
        """Run the ticks from `begin` up to `end`, on this thread or spread over a pool."""
        if pool is None:
            self._run(begin, end, _ALL_PHASES, 0, self.blocks)
            return
        for n in range(begin, end):
            pool.each(partial(self._run, n, n + 1, kernels.EVENTS), self.blocks)
            self._run(n, n + 1, kernels.PICK, 0, self.blocks)
            pool.each(partial(self._run, n, n + 1, kernels.LEARN), self.blocks)
            self._run(n, n + 1, kernels.SERVE, 0, self.blocks)

    def _run(self, n0: int, n1: int, phases: int, b0: int, b1: int) -> None:
        kernels.advance(self.nature, self.moment, self.family, self.model, n0, n1, phases, b0, b1)

    def record(
        self,
        ticks: int,
        every: int,
        x_test: FloatArray,
        targets: Targets,
        report: Callable[[float], None],
        pool: "ThreadPool | None" = None,
        watch: Callable[[FloatArray], None] | None = None,
    ) -> RunRecord:
        """Run all ticks, evaluating the server's models on the way; `report` hears the progress."""
        z_test = layout.laid_out(self._fourier_map(x_test), self._precision)
        y_test = layout.laid_out(targets.y, self._precision)
        points = curve_ticks(ticks, every)
        drifts = targets.drifts_until(points)
        mse = np.empty((len(self.family.mu), points.size))
        traffic = []
        for point in self._stops(points, report, pool):
            kernels.evaluate(self.model.shared, z_test, y_test[drifts[point]], mse, point)
            traffic.append(self._traffic())
            if watch is not None:
                watch(self.model.server)
        return self._recorded(mse=mse, traffic=np.stack(traffic, axis=-1))

    def follow(
        self,
        trace: Trace,
        every: int,
        scored: int,
        report: Callable[[float], None],
        pool: "ThreadPool | None" = None,
    ) -> RunRecord:
        """Run all ticks, judging all models on every sample before it is learned from."""
        points = curve_ticks(trace.ticks, every)
        # Errors by device count from a tick on that may be no point of the curve.
        stops = np.union1d(points, scored - 1) if scored else points
        before = np.zeros_like(self.model.judged)
        until = np.empty((stops.size, *before.shape[:2]))
        traffic = []
        for stop in self._stops(stops, report, pool):
            until[stop] = self.model.judged.sum(axis=-1)
            traffic.append(self._traffic())
            if stops[stop] == scored - 1:
                before = self.model.judged.copy()
        at_points = np.isin(stops, points)
        with np.errstate(invalid="ignore"):  # once infinite, errors of a later time are unknown
            errors = np.moveaxis(np.diff(until[at_points], axis=0, prepend=0.0), 0, -1)
            device_errors = self.model.judged - before
        return self._recorded(
            mse=per_sample(errors[:, 1], trace.has_data, points),
            traffic=np.stack(traffic, axis=-1)[..., at_points],
            errors=errors,
            device_errors=device_errors,
        )

    def _stops(
        self, stops: IntArray, report: Callable[[float], None], pool: "ThreadPool | None"
    ) -> Iterator[int]:
        """Run up to and including each of the ticks, saying which of them was reached."""
        begin = 0
        for index, tick in enumerate(stops.tolist()):
            self.advance(begin, tick + 1, pool)
            yield index
            report((tick + 1 - begin) / (int(stops[-1]) + 1))
            begin = tick + 1

    def _traffic(self) -> IntArray:
        """What was sent until now, (A, 7)."""
        up, down = self.family.up[:, 0], self.family.down[:, 0]
        return of_floats(self.model.sent_up.sum(axis=0) // up, up, down)

    def _recorded(self, **curves: NDArray[Any]) -> RunRecord:
        algorithms = len(self.family.mu)
        nothing = np.zeros((algorithms, 2, 0))
        return RunRecord(
            **{"errors": nothing, "device_errors": nothing, **curves},
            models=self.model.server.copy(),
        )


def _copied(record: _Record) -> _Record:
    """The same with arrays of its own."""
    return type(record)(*(a.copy() if isinstance(a, np.ndarray) else a for a in record))


class ThreadPool:
    """Threads that share the blocks of one run, each the same contiguous part every time."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._executor = ThreadPoolExecutor(threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()

    def each(self, work: Callable[[int, int], None], blocks: int) -> None:
        """Do work on (begin, end) of every part and wait for all of it."""
        cuts = [blocks * i // self._threads for i in range(self._threads + 1)]
        list(self._executor.map(work, cuts[:-1], cuts[1:]))
