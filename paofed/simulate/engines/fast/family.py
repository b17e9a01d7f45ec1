"""The compiled engine: many algorithms over one world in one pass, blocks of clients on threads.

The same as paofed.simulate.engines.reference, compiled. The rules are in `kernels`, beside this
file. Algorithms of the family (windows, any weight by age, LMS steps, eq. 9) become rows of numbers
for them.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.features import FourierMap
from paofed.core.traffic import Traffic
from paofed.simulate.engines import Precision
from paofed.simulate.engines.fast import kernels, layout
from paofed.simulate.engines.fast.curves import over_setting
from paofed.simulate.engines.fast.nature import ages_of, moment, traced
from paofed.simulate.engines.fast.records import FamilyModels, Moment, Nature
from paofed.simulate.engines.task import Place
from paofed.simulate.results.outcome import RunRecord
from paofed.simulate.stopping import Report
from paofed.world.realize import World
from paofed.world.scenario import Scenario
from paofed.world.trace import SparseTrace
from paofed.world.worlds import Setting

_Record = TypeVar("_Record", FamilyModels, Moment)
_ALL_PHASES = kernels.EVENTS | kernels.PICK | kernels.LEARN | kernels.SERVE


def in_family(method: Algorithm) -> bool:
    """Whether the kernels can run this algorithm: numbers alone describe all of it."""
    return method.paper_parts is not None


def run(
    scenario: Setting,
    methods: Sequence[Algorithm],
    *,
    precision: Precision,
    report: Report,
    pool: "ThreadPool | None" = None,
    watch: Callable[[FloatArray], None] | None = None,
    **place: Unpack[Place],
) -> RunRecord:
    """Run algorithms over one run of one world; the kernels draw samples where the world has laws.

    `watch` is given the server's models, (A, D), at every point of the curve; the array changes
    afterwards.
    """
    settled = [settle(m, scenario.step_size, scenario.max_age) for m in methods]

    def listed(samples: SparseTrace, *, judged: bool) -> Simulation:
        return Simulation.over(samples, settled, precision, judged=judged)

    def drawn(law: Scenario, made: World, nature: Nature) -> Simulation:
        return Simulation(
            settled, nature, ages_of(law), made.fourier_map, law.clients, precision,
            newcomers_whole=law.newcomers == "whole",
        )  # fmt: skip

    return over_setting(scenario, place, listed, drawn, report, pool, watch)


def settle(method: Algorithm, step_size: float, max_age: int) -> Algorithm:
    """Give an algorithm this step size and age limit, unless it has its own."""
    return replace(method, **method.settled(step_size=step_size, max_age=max_age)._asdict())


class Simulation:
    """All algorithms over one run, ready to advance; memory does not grow with the ticks."""

    def __init__(
        self,
        methods: Sequence[Algorithm],
        nature: Nature,
        ages: IntArray,
        fourier_map: FourierMap,
        clients: int,
        precision: Precision,
        *,
        start: FloatArray | None = None,
        newcomers_whole: bool = False,
        heard: int | None = None,
        judged: bool = False,
    ) -> None:
        inputs, features = len(fourier_map.frequencies), fourier_map.features
        for method in methods:
            method.require_fits(features)
        kept = layout.kept(ages, methods)
        self.nature = nature
        self.family = layout.family(methods, kept, features, heard)
        up, down = self.family.up[:, 0], self.family.down[:, 0]
        live = self.family.exchange == kernels.LIVE
        # A newcomer gets the whole model at its first contact; its message in a live exchange is
        # empty.
        self._per_contact = _per_contact(up, down)
        self._per_whole = _per_contact(np.where(live, 0, up), np.full_like(down, features))
        algorithms, samples = (len(methods), nature.truth.size) if judged else (0, 0)
        self.model = layout.model(
            fourier_map, precision, methods, clients, kept,
            judged=layout.unjudged(algorithms, samples, precision),
            start=np.zeros(features) if start is None else start,
            newcomers_whole=newcomers_whole,
        )  # fmt: skip
        self.blocks = len(self.model.blocks) - 1
        self.moment = moment(len(methods), clients, inputs, self.blocks)

    @classmethod
    def over(
        cls,
        trace: SparseTrace,
        methods: Sequence[Algorithm],
        precision: Precision,
        *,
        judged: bool = False,
    ) -> Self:
        """Make a simulation of a trace."""
        nature, ages = traced(trace), np.unique(trace.delay[trace.available])
        return cls(
            methods, nature, ages, trace.fourier_map, trace.clients, precision, judged=judged,
            start=trace.start, newcomers_whole=trace.newcomers_whole, heard=trace.heard,
        )  # fmt: skip

    def branch(self, nature: Nature) -> Self:
        """Copy this simulation with another nature from now on.

        The copy is judged on its samples.
        """
        other = copy(self)
        other.nature = nature
        other.model, other.moment = _copied(self.model), _copied(self.moment)
        errors = layout.unjudged(len(self.family.mu), nature.truth.size, self.shared.dtype)
        other.model = other.model._replace(judged=errors)
        return other

    def join(self, client: int, *, whole: bool) -> None:
        """Let a client join now: with the server's whole model, or with its own and windows."""
        if whole:
            self.model.local[client, :, : self.model.shared.shape[1]] = self.model.shared
        self.model.joins[:, client] = kernels.JOINED

    def advance(self, begin: int, end: int, pool: "ThreadPool | None" = None) -> None:
        """Run the ticks from `begin` up to `end`, on this thread or spread over a pool."""
        if pool is None:
            self._run(begin, end, _ALL_PHASES, 0, self.blocks)
            return
        for n in self._turns(begin, end):
            pool.each(partial(self._run, n, n + 1, kernels.EVENTS), self.blocks)
            self._run(n, n + 1, kernels.PICK, 0, self.blocks)
            pool.each(partial(self._run, n, n + 1, kernels.LEARN), self.blocks)
            self._run(n, n + 1, kernels.SERVE, 0, self.blocks)

    def _turns(self, begin: int, end: int) -> Iterable[int]:
        """Return the ticks at which anything can happen: over a trace, its busy ticks."""
        if not self.nature.traced:
            return range(begin, end)
        first, beyond = np.searchsorted(self.nature.busy, [begin, end])
        busy: list[int] = self.nature.busy[first:beyond].tolist()
        return busy

    def _run(self, n0: int, n1: int, phases: int, b0: int, b1: int) -> None:
        advance = kernels.advance_due if self.nature.due.begin.size else kernels.advance
        advance(self.nature, self.moment, self.family, self.model, n0, n1, phases, b0, b1)

    @property
    def server(self) -> FloatArray:
        """The server's models, (A, D)."""
        server: FloatArray = self.model.server
        return server

    @property
    def shared(self) -> NDArray[Any]:
        """The server's models as clients receive them, (A, D)."""
        shared: NDArray[Any] = self.model.shared
        return shared

    @property
    def errors(self) -> NDArray[Any]:
        """Errors of the devices' and the server's models on every sample, (A, 2, M)."""
        errors: NDArray[Any] = self.model.judged
        return errors

    def traffic(self) -> IntArray:
        """Return the counts of traffic until now, (A, 7)."""
        wholes = self.model.wholes.sum(axis=0)
        windows = self.model.contacts.sum(axis=0) - wholes
        traffic: IntArray = windows[:, None] * self._per_contact + wholes[:, None] * self._per_whole
        return traffic


def _per_contact(up: IntArray, down: IntArray) -> IntArray:
    """Return the counts that one contact of each algorithm adds, (A, 7)."""
    counts: IntArray = np.stack(Traffic.of_floats(np.ones_like(up), up, down), axis=-1)
    return counts


def _copied(record: _Record) -> _Record:
    """Return the record with copies of its arrays."""
    return type(record)(*(a.copy() if isinstance(a, np.ndarray) else a for a in record))


class ThreadPool:
    """Threads that share the blocks of one run.

    Each thread has the same contiguous part each time.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._executor = ThreadPoolExecutor(threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()

    def each(self, work: Callable[[int, int], None], blocks: int) -> None:
        """Call work(begin, end) for the part of every thread, and wait for all of them."""
        cuts = [blocks * i // self._threads for i in range(self._threads + 1)]
        list(self._executor.map(work, cuts[:-1], cuts[1:]))
