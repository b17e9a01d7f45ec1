"""Which step size is best for a given number of ticks, and where a learning curve ends."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm, Settled
from paofed.errors import InputError
from paofed.theory.fleet import FleetInTheory
from paofed.theory.gap import Gap
from paofed.theory.modes import Modes
from paofed.theory.second.curve import LearningCurve, learning_curve
from paofed.theory.second.groups import Detail
from paofed.theory.second.stability import stable_step

# For comparing step sizes; its numbers are not shown.
_QUICK = Detail(classes=1, stride=25, points=16)
_LONG = Detail(classes=2, stride=50, points=32)  # for tens of thousands of ticks
_LEAST = 1 / 64  # the smallest step size that is tried, relative to the largest stable one
_GOLDEN = (math.sqrt(5) - 1) / 2
_CLOSE = 0.05  # the relative accuracy of the search for a step size
_STILL = 0.02  # an error that changes by less than this, in dB, while the time doubles is settled
FOLLOWED = 16  # the end of a curve is looked for after so many times the ticks that are given


class BestStep(NamedTuple):
    """The step size with the least predicted error after some ticks."""

    step: float
    curve: LearningCurve  # the learning curve with that step size
    # By how much runs with this step end above the better of those with half and twice of it, as a
    # gap: positive where it is not the best. None where theory made no runs.
    lost: Gap | None = None

    def refusal(self) -> str | None:
        """Say why this step is not to be trusted, or return None."""
        if (gap := self.curve.gap) is not None and gap.refused:
            return gap.refusal(f"its best step {self.step:.2f}")
        if self.lost is not None and self.lost.refused:
            return (
                f"its best step {self.step:.2f} is refused: runs with half or twice of it end "
                f"{self.lost} dB lower; compare step sizes by simulation"
            )
        return None


def best_step(
    fleet: FleetInTheory,
    method: Algorithm,
    settings: Settled,
    horizon: int,
    report: Callable[[float], None] = lambda _: None,
) -> BestStep:
    """Search between a small step size and the largest stable one, by golden sections of its log.

    Step sizes are compared coarsely; the curve of the best one is then followed in detail.
    """
    modes = Modes.of(fleet.moments.R)
    limit = stable_step(fleet, method, settings).step
    low, high = math.log(_LEAST * limit), math.log(limit)
    rounds = math.ceil(math.log(_CLOSE / (high - low)) / math.log(_GOLDEN))
    done, every = 0, np.array([horizon - 1])

    def error(log: float) -> float:
        nonlocal done
        tried = replace(method, step_size=math.exp(log))
        curve = learning_curve(fleet, tried, settings, every, detail=_QUICK, modes=modes)
        done += 1
        report(done / (rounds + 4))
        return float(np.nan_to_num(curve.mse[0], nan=np.inf))

    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    errors = [error(log) for log in inner]
    for _ in range(rounds):
        if errors[0] <= errors[1]:
            high, inner[1], errors[1] = inner[1], inner[0], errors[0]
            inner[0] = high - _GOLDEN * (high - low)
            errors[0] = error(inner[0])
        else:
            low, inner[0], errors[0] = inner[0], inner[1], errors[1]
            inner[1] = low + _GOLDEN * (high - low)
            errors[1] = error(inner[1])
    step = math.exp(inner[int(np.argmin(errors))])
    tried = replace(method, step_size=step)
    curve = learning_curve(fleet, tried, settings, every, modes=modes)
    report(1.0)
    return BestStep(step, curve)


def steady_state(
    fleet: FleetInTheory,
    method: Algorithm,
    settings: Settled,
    begin: int,
    report: Callable[[float], None] = lambda _: None,
) -> LearningCurve:
    """Return the point where a learning curve ends, after 16 times `begin` ticks.

    The means are solved for where that fits into memory and does not take longer, so that the
    spread alone has to be followed; elsewhere both are. Refused if the error still changes in the
    last half of the time. The step size must be stable.
    """
    times = begin * np.array([FOLLOWED // 2, FOLLOWED]) - 1
    curve = learning_curve(
        fleet, method, settings, times, detail=_LONG, from_end=True, report=report
    )
    change = abs(float(curve.db[1] - curve.db[0]))
    if not change <= _STILL:
        raise InputError(
            f"{method.name} is not at its end after {times[-1] + 1} ticks: during the last "
            f"{times[-1] - times[-2]} its error changed by {change:.2f} dB, expected at most "
            f"{_STILL:g}; begin later than at tick {begin}, or take the error after a time you need"
        )
    parts = ("ticks", "residual", "of_mean", "of_spread")
    return replace(curve, **{part: getattr(curve, part)[1:] for part in parts})
