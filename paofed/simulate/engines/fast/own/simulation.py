"""Several methods of one's own over one run of a world or a trace, in float64.

The same as paofed.simulate.engines.reference, and for the paper's rows as `family`, compiled.
"""

from collections.abc import Sequence
from copy import copy
from typing import Self, Unpack

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.features import FourierMap
from paofed.core.parts import Calibration, Keys, keys_of
from paofed.simulate.engines import Precision
from paofed.simulate.engines.fast.curves import over_setting
from paofed.simulate.engines.fast.family import settle
from paofed.simulate.engines.fast.own.compiler import kernel_of
from paofed.simulate.engines.fast.own.method_run import MethodRun
from paofed.simulate.engines.fast.own.samples import Drawn, Listed, SampleSource
from paofed.simulate.engines.fast.records import Nature
from paofed.simulate.engines.task import Place
from paofed.simulate.results.outcome import RunRecord
from paofed.simulate.stopping import Report
from paofed.world.realize import World
from paofed.world.scenario import Scenario
from paofed.world.trace import SparseTrace
from paofed.world.worlds import Setting


def run(
    scenario: Setting,
    methods: Sequence[Algorithm],
    *,
    precision: Precision,
    report: Report,
    **place: Unpack[Place],
) -> RunRecord:
    """Run methods of one's own over one run of one world, as `family.run` does.

    Samples are mapped in the given precision; the methods' own rules compute in float64.
    """
    settled = [settle(m, scenario.step_size, scenario.max_age) for m in methods]
    keys = keys_of(place["seed"], place["world"], place["run"])

    def listed(samples: SparseTrace, *, judged: bool) -> General:
        return General.over(samples, settled, keys, precision, judged=judged)

    def drawn(law: Scenario, made: World, nature: Nature) -> General:
        source = Drawn(nature, made.fourier_map, law.clients, precision)
        whole = law.newcomers == "whole"
        return General(settled, source, law.clients, law.features, keys, newcomers_whole=whole)

    return over_setting(scenario, place, listed, drawn, report)


class General:
    """Several methods over one run, ready to advance."""

    def __init__(
        self,
        methods: Sequence[Algorithm],
        source: SampleSource,
        clients: int,
        features: int,
        keys: Keys,
        *,
        judged: int = 0,
        start: FloatArray | None = None,
        calibration: Calibration | None = None,
        fourier_map: FourierMap | None = None,
        newcomers_whole: bool = False,
        heard: int | None = None,
    ) -> None:
        self._source = source
        self._runs = [
            MethodRun(
                kernel_of(method), method, clients, features, keys,
                method.step_size or 0.0, method.max_age or 0, judged=judged,
                start=start, calibration=calibration, fourier_map=fourier_map,
                newcomers_whole=newcomers_whole, heard=heard,
            )
            for method in methods
        ]  # fmt: skip

    @classmethod
    def over(
        cls,
        trace: SparseTrace,
        methods: Sequence[Algorithm],
        keys: Keys,
        precision: Precision = "float64",
        *,
        judged: bool = False,
    ) -> Self:
        """Make a simulation of a trace."""
        source = Listed(trace, precision)
        return cls(
            methods, source, trace.clients, trace.features, keys,
            judged=trace.y.size if judged else 0,
            start=trace.start, calibration=trace.calibration, fourier_map=trace.fourier_map,
            newcomers_whole=trace.newcomers_whole, heard=trace.heard,
        )  # fmt: skip

    def branch(self, trace: SparseTrace, precision: Precision) -> Self:
        """Copy this simulation with the samples of another trace from now on.

        The copy is judged on these samples.
        """
        other = copy(self)
        other._source = Listed(trace, precision)
        other._runs = [run.branch(judged=trace.y.size) for run in self._runs]
        return other

    def join(self, client: int, *, whole: bool) -> None:
        """Let a client join now: with all that the server tells, or as the fleet began."""
        for run in self._runs:
            run.join(client, whole=whole)

    @property
    def server(self) -> FloatArray:
        """The server's models, (A, D)."""
        return np.stack([run.model for run in self._runs])

    @property
    def shared(self) -> FloatArray:
        """The server's models as clients receive them: not rounded here."""
        return self.server

    @property
    def errors(self) -> FloatArray:
        """Errors of the devices' and the server's models on every sample, (A, 2, M)."""
        return np.stack([run.tally.judged for run in self._runs])

    def traffic(self) -> IntArray:
        """Return the counts of traffic until now, (A, 7)."""
        return np.stack([run.tally.traffic for run in self._runs])

    def advance(self, begin: int, end: int, pool: object = None) -> None:  # noqa: ARG002
        """Run the ticks from `begin` up to `end`, on this thread."""
        while begin < end:
            stop = self._source.reach(begin, end)
            samples, lottery = self._source.samples(begin, stop)
            for run in self._runs:
                run.advance(samples, lottery)
            begin = stop
