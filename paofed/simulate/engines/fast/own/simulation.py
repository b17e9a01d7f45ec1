"""Several methods of one's own over one run of a world or a trace, in float64.

Twin of paofed.simulate.engines.reference, and of the family for the paper's rows.
"""

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.features import FourierMap
from paofed.core.parts import Keys, keys_of
from paofed.simulate.engines.fast import kernels, layout
from paofed.simulate.engines.fast.compiling import entry_of
from paofed.simulate.engines.fast.curves import Judge, follow, judge_of, outcome, record
from paofed.simulate.engines.fast.family import settle
from paofed.simulate.engines.fast.own.compiler import kernel_of
from paofed.simulate.engines.fast.own.kernels import Samples
from paofed.simulate.engines.fast.own.method_run import MethodRun
from paofed.simulate.engines.fast.records import Nature, Observed
from paofed.simulate.engines.task import Precision
from paofed.simulate.results.result import Outcome, RunRecord
from paofed.simulate.stopping import Report
from paofed.world.realize import make_world, realize
from paofed.world.table.spec import Table
from paofed.world.trace import Trace
from paofed.world.worlds import Setting, SizedWorlds

_IN_CACHE = 1 << 19  # mapped numbers of samples that wait to be learned by all methods


def run(
    scenario: Setting,
    methods: Sequence[Algorithm],
    *,
    seed: int,
    world: int,
    run: int,
    every: int,
    precision: Precision,
    report: Report,
) -> RunRecord:
    """Run methods of one's own over one run of one world, as `family.run` does.

    Samples are mapped in the given precision; the methods' own rules compute in float64.
    """
    settled = [settle(m, scenario.step_size, scenario.max_age) for m in methods]
    keys = keys_of(seed, world, run)
    if isinstance(scenario, SizedWorlds):
        trace = scenario.trace(world, run)
        general = General.over(trace, settled, keys, precision)
        return record(general, trace.ticks, every, judge_of(trace), report)
    if isinstance(scenario.stream, Table):
        trace = realize(scenario, world, run, seed=seed)
        general = General.over(trace, settled, keys, precision, judged=True)
        return follow(general, trace, every, scenario.stream.read().scored, report)
    made = make_world(scenario, seed, world)
    nature = layout.drawn(scenario, made, run)
    general = General(settled, nature, made.fourier_map, scenario.clients, keys, precision)
    test = Judge(made.fourier_map, made.x_test, made.test_targets)
    return record(general, scenario.ticks, every, test, report)


def replay(trace: Trace, method: Algorithm, seed: int) -> Outcome:
    """Run a settled method over a trace."""
    return outcome(General.over(trace, [method], keys_of(seed)), trace)


class General:
    """Several methods over one run, ready to advance."""

    def __init__(
        self,
        methods: Sequence[Algorithm],
        nature: Nature,
        fourier_map: FourierMap,
        clients: int,
        keys: Keys,
        precision: Precision = "float64",
        *,
        judged: bool = False,
    ) -> None:
        inputs, features = fourier_map.frequencies.shape
        self._nature, self._moment = nature, layout.moment(1, clients, inputs, 1)
        self._map = layout.mapping(fourier_map, precision)
        self._observed = _observed(clients, features, precision)
        self._entry: Callable[..., int] | None = None
        self._runs = [
            MethodRun(
                kernel_of(method), method, clients, features, keys,
                method.step_size or 0.0, method.max_age or 0, judged=judged,
            )
            for method in methods
        ]  # fmt: skip
        self._ticks = len(self._observed.begin) - 1

    @classmethod
    def over(
        cls,
        trace: Trace,
        methods: Sequence[Algorithm],
        keys: Keys,
        precision: Precision = "float64",
        *,
        judged: bool = False,
    ) -> Self:
        """Make one over a trace."""
        nature = layout.traced(trace)
        return cls(
            methods, nature, trace.fourier_map, trace.clients, keys, precision, judged=judged
        )

    @property
    def server(self) -> FloatArray:
        """The server's models, (A, D)."""
        return np.stack([run.model for run in self._runs])

    @property
    def shared(self) -> FloatArray:
        """The same: what clients receive is not rounded here."""
        return self.server

    @property
    def judged(self) -> FloatArray:
        """Squared errors of the devices' and the servers' models until now, (A, 2, K)."""
        return np.stack([run.tally.judged for run in self._runs])

    def traffic(self) -> IntArray:
        """What was sent until now, (A, 7)."""
        return np.stack([run.tally.traffic for run in self._runs])

    def advance(self, begin: int, end: int, pool: object = None) -> None:  # noqa: ARG002
        """Run the ticks from `begin` up to `end`, on this thread."""
        while begin < end:
            stop = min(end, begin + self._ticks - begin % self._ticks)
            samples, lottery = self._observe(begin, stop)
            for run in self._runs:
                run.advance(samples, lottery)
            begin = stop

    def _observe(self, begin: int, end: int) -> tuple[Samples, FloatArray]:
        out = self._observed
        arguments = self._nature, self._moment, *self._map, begin, end, out
        if self._entry is None:
            self._entry = entry_of(kernels.observe, *arguments)
        count = self._entry(*arguments)
        samples = Samples(
            first=begin,
            begin=out.begin[: end - begin + 1],
            client=out.client[:count],
            z=out.z[:count],
            y=out.y[:count],
            joins=out.available[:count],
            age=out.delay[:count],
            lost_up=out.lost_up[:count],
            lost_down=out.lost_down[:count],
        )
        return samples, out.lottery[:count]


def _observed(clients: int, features: int, precision: Precision) -> Observed:
    """Room for the samples of a few ticks in a row: as many as stay in the cache."""
    ticks = next(t for t in (8, 4, 2, 1) if t == 1 or t * clients * features <= _IN_CACHE)
    most = ticks * clients
    return Observed(
        begin=np.zeros(ticks + 1, dtype=np.int64),
        place=np.zeros((ticks, clients), dtype=np.int64),
        client=np.zeros(most, dtype=np.int64),
        row=np.zeros(features, dtype=precision),
        z=np.zeros((most, features)),
        y=np.zeros(most),
        available=np.zeros(most, dtype=np.uint8),
        delay=np.zeros(most, dtype=np.int64),
        lottery=np.zeros(most),
        lost_up=np.zeros(most, dtype=np.uint8),
        lost_down=np.zeros(most, dtype=np.uint8),
    )
