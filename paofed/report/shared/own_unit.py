"""Who predicts best on devices in the target's own unit, and whether decibels say the same.

Decibels are of the target as models see it. Where that is a logarithm, an error at small values
counts as much as a far larger one at large values, and another learner may be the best in the unit
of the target itself.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

from paofed.report.shared.captions import rank
from paofed.simulate.results.estimates import TIE, Estimate, pooled_gain
from paofed.simulate.results.lives import Lives, OwnUnit
from paofed.simulate.results.progressive import Whose
from paofed.simulate.results.result import Result
from paofed.simulate.table.baselines import ALONE
from paofed.simulate.table.learners_alone import kind_of
from paofed.world.table.columns import column

# The numbers of OwnUnit by which learners are compared; True where the most is the best.
COMPARED: Mapping[str, bool] = {"rmse": False, "mae": False, "r2": True}


class InOwnUnit(NamedTuple):
    """The learners on devices, judged in the target's own unit over all samples that count."""

    target: str  # the column
    judged: str  # what decibels are of: the column, or its logarithm
    errors: Mapping[str, OwnUnit]  # of models on devices and ways of being alone, the best first
    advised: str  # whom decibels advise
    gain: Estimate  # dB of squared errors by which the best is better than `advised`, over devices

    @property
    def best(self) -> str:
        """The learner with the least RMSE."""
        return next(iter(self.errors))

    @property
    def disagrees(self) -> bool:
        """Whether a learner that decibels do not advise is better by more than a tie."""
        return self.gain.mean > TIE


def in_own_unit(result: Result, lives: Lives, advised: str | None = None) -> InOwnUnit:
    """Judge a run over a table in the target's own unit.

    `advised` is whom decibels advise; None: the learner on devices with the least error in dB.
    """
    learners = _on_devices(lives)
    errors = {name: lives.own_unit(name, whose) for name, whose in learners.items()}
    order = sorted(errors, key=lambda name: rank(errors[name].rmse))
    if advised is None:
        squared = {name: lives.by_device(name, whose).sum() for name, whose in learners.items()}
        advised = min(squared, key=lambda name: rank(float(squared[name])))
    theirs, best = (lives.by_device(n, learners[n], own=True) for n in (advised, order[0]))
    target = column(result.provenance["scenario"]["stream"]["target"])
    return InOwnUnit(
        target=target.name,
        judged=f"log1p({target.name})" if target.transform == "log1p" else target.name,
        errors={name: errors[name] for name in order},
        advised=advised,
        gain=pooled_gain(theirs, best),
    )


def _on_devices(lives: Lives) -> dict[str, Whose]:
    """Return the models on devices and the ways of being alone."""
    return {
        name: whose
        for name, whose in lives.learners.tolist()
        if whose == "device" or (whose == "baseline" and kind_of(name) in ALONE)
    }


def own_unit_words(found: InOwnUnit, method: str = "") -> str:
    """Say who is best in the target's own unit, beside taking part with `method`.

    The words of this module are plain ASCII, for a terminal of any kind.
    """
    best, told = found.best, dict.fromkeys([found.best, method or found.advised, found.advised])
    others = [name for name in told if name != best] or list(found.errors)[1:2]
    beside = ", ".join(f"{name} has {_pair(found.errors[name])}" for name in others)
    return (
        f"In the unit of {found.target}, {best} has the least error on devices"
        f"{', too' if best == found.advised else ''}: RMSE {_pair(found.errors[best], 'R2 ')}"
        f"{'; ' if beside else ''}{beside}."
    )


def why_otherwise(found: InOwnUnit) -> str:
    """Say why decibels say otherwise, where they do."""
    return (
        f"dB say otherwise: they are of {found.judged}, where errors at small values count as much "
        f"as larger ones at large values. Go by the unit in which errors cost you."
    )


def _pair(own: OwnUnit, r2: str = "") -> str:
    """Write an RMSE, and R2 in brackets where it is known."""
    if not math.isfinite(own.rmse):
        return "diverged"
    return f"{own.rmse:.4g}" + (f" ({r2}{own.r2:.3f})" if math.isfinite(own.r2) else "")
