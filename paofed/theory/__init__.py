"""Calculators: safe step sizes, the mean model, learning curves, traffic.

`foresee(scenario)` is the door for users; the calculators behind it are in the modules of this
package.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paofed.theory.foresight import Foresight, Outlook, foresee
    from paofed.theory.second.curve import LearningCurve
    from paofed.theory.second.horizon import BestStep
    from paofed.theory.second.stability import StableStep

# Imported on first use: who needs a bound alone need not wait for the rest.
_HOMES = {
    "BestStep": "paofed.theory.second.horizon",
    "Foresight": "paofed.theory.foresight",
    "LearningCurve": "paofed.theory.second.curve",
    "Outlook": "paofed.theory.foresight",
    "StableStep": "paofed.theory.second.stability",
    "foresee": "paofed.theory.foresight",
}

__all__ = ["BestStep", "Foresight", "LearningCurve", "Outlook", "StableStep", "foresee"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'paofed.theory' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
