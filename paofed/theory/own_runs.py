"""The few runs that theory makes itself, to estimate how far its predictions are off.

What a prediction leaves out (docs/theory.md) has no sign and no size that theory could work out: in
some fleets a prediction is 2 dB too low, in others 3 dB too high. Runs of the same fleet show it,
with all that theory does not see, such as inputs with memory.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm, Settled
from paofed.core.arrays import FloatArray, IntArray
from paofed.memory import require_memory
from paofed.simulate.stopping import Report, part_of
from paofed.theory.gap import Gap
from paofed.theory.second.curve import LearningCurve
from paofed.theory.second.horizon import BestStep
from paofed.words import counted
from paofed.world.scenario import Scenario
from paofed.world.trace import Trace
from paofed.world.worlds import Setting, Worlds

_FIRST, _MOST = 16, 256  # runs at first, and doubled up to so many while they leave it open
_TURNED = ("x", "y", "has_data", "available", "delay", "lottery")  # what a trace has at each tick


class OwnRuns(NamedTuple):
    """Where theory makes its runs: in one world of a scenario, or over a trace turned in time."""

    source: Scenario | Trace
    seed: int = 0
    world: int = 0

    def require_room(self, ticks: int) -> None:
        """Refuse runs over a trace, turned for so many ticks, that this machine cannot hold."""
        if not isinstance(trace := self.source, Trace):
            return  # the engine makes the samples of a scenario as it goes
        at_a_time = min(_FIRST, os.cpu_count() or 1)
        of_a_tick = sum(getattr(trace, name)[0].nbytes for name in _TURNED)
        require_memory(
            float(at_a_time) * ticks * of_a_tick,
            f"{counted(at_a_time, 'run')} at a time over the trace, each {ticks:,} ticks long,",
            "take fewer ticks, or check='none', which makes no runs",
        )

    def of_curve(
        self, method: Algorithm, settings: Settled, curve: LearningCurve, report: Report
    ) -> LearningCurve:
        """Return a learning curve with its gap to runs."""

        def gaps(errors: FloatArray) -> list[Gap]:
            return [Gap.largest(curve.ticks, curve.mse, errors[0])]

        (gap,) = self._until_clear([method], settings, curve.ticks, gaps, report)
        return replace(curve, gap=gap)

    def of_step(
        self, method: Algorithm, settings: Settled, best: BestStep, limit: float, report: Report
    ) -> BestStep:
        """Return a best step with its gap to runs, and to runs with half and twice the step.

        `limit` is the largest stable step: twice the step is at most halfway to it.
        """
        steps = best.step, best.step / 2, min(2 * best.step, math.sqrt(best.step * limit))
        ticks, mse = best.curve.ticks, best.curve.mse

        def gaps(errors: FloatArray) -> list[Gap]:
            chosen, *others = errors[:, :, -1]
            lost = Gap.lost(int(ticks[-1]), chosen, np.array(others))
            return [Gap.largest(ticks, mse, errors[0]), lost]

        tried = [replace(method, step_size=step) for step in steps]
        gap, lost = self._until_clear(tried, settings, ticks, gaps, report)
        return BestStep(best.step, replace(best.curve, gap=gap), lost)

    def _until_clear(
        self,
        methods: Sequence[Algorithm],
        settings: Settled,
        points: IntArray,
        gaps: Callable[[FloatArray], list[Gap]],
        report: Report,
    ) -> list[Gap]:
        """Run algorithms over the same worlds until all `gaps` are clear, at most 256 times.

        `gaps` is given the errors of all runs at the ticks `points`, (A, R, P). Nobody knows how
        many runs it takes: each round of runs is reported as half of what was left.
        """
        from paofed.simulate.average import errors_of_runs  # and the engine, which takes a second

        setting = self._over(int(points[-1]) + 1)
        settled = [replace(m, **m.settled(**settings._asdict())._asdict()) for m in methods]
        every = math.gcd(*(points + 1).tolist())
        errors, done = np.empty((len(methods), 0, points.size)), 0.0
        while True:
            runs = range(errors.shape[1], max(_FIRST, 2 * errors.shape[1]))
            curves = errors_of_runs(
                setting, settled, runs, seed=self.seed, world=self.world, every=every,
                report=part_of(report, done, (1 + done) / 2),
            )  # fmt: skip
            done = (1 + done) / 2
            errors = np.concatenate([errors, curves[:, :, (points + 1) // every - 1]], axis=1)
            found = gaps(errors)
            if errors.shape[1] >= _MOST or all(gap.clear for gap in found):
                report(1.0)
                return found

    def _over(self, ticks: int) -> Setting:
        """Return what is run over at least so many ticks."""
        if isinstance(self.source, Trace):
            return Worlds("the trace", turning(self.source, ticks)).sized()
        scenario, stream = self.source, self.source.synthetic
        times = -(-ticks // scenario.ticks)  # whole, so that samples are as frequent as before
        samples = tuple(times * count for count in stream.samples)
        longer = stream.model_copy(update={"samples": samples})
        return scenario.model_copy(update={"ticks": times * scenario.ticks, "stream": longer})


def turning(trace: Trace, ticks: int) -> Callable[[int, int], Trace]:
    """Return runs made of a trace: each client's time begins at a random tick and goes round.

    So samples, contacts and delays follow each other as they did, and who is where is chance.
    """

    def turned(_: int, run: int) -> Trace:
        begins = np.random.default_rng(run).integers(trace.ticks, size=trace.clients)
        then = (np.arange(ticks)[:, None] + begins) % trace.ticks, np.arange(trace.clients)
        return replace(trace, **{name: getattr(trace, name)[then] for name in _TURNED})

    return turned
