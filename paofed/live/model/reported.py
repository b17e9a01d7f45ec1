"""Intervals around a fleet's predictions, by the errors that its devices report.

A device reports the mean square of its recent errors (paofed.live.protocol.level). Taken as normal
with that mean square, the error of device k stays within h with probability erf(h / (s_k sqrt(2))).
Half the width of the interval is the h for which the mean of these probabilities over the devices
is COVERAGE.

Devices report errors of their own models, which follow what they measure. The server's model does
not follow it, so an interval around its prediction may hold less often: docs/predictions.md tells
how often it did.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.live.protocol.level import IMPLAUSIBLE, UNKNOWN, decibels

COVERAGE = 0.9
NONE_REPORTED: NDArray[np.int64] = np.zeros(IMPLAUSIBLE + 1, dtype=np.int64)
_WIDEST = 1.7  # standard deviations: a little more than COVERAGE needs
_HALVINGS = 60


class ReportedInterval(NamedTuple):
    """A prediction, plus and minus half the width, as the model sees the target."""

    coverage: float  # nominal: the share of targets that are to be inside
    half_width: float  # in scales of the target
    devices: int  # the number of devices that report errors

    @classmethod
    def of(cls, levels: NDArray[Any]) -> "ReportedInterval | None":
        """Return the interval by the number of devices at each level; None without any error."""
        told = {level: int(levels[level]) for level in np.flatnonzero(levels).tolist()}
        devices = {level: n for level, n in told.items() if level not in (UNKNOWN, IMPLAUSIBLE)}
        if not devices:
            return None
        sizes = [(10 ** ((decibels(level) or 0.0) / 20), n) for level, n in devices.items()]
        return cls(COVERAGE, _half_width(sizes), sum(devices.values()))


def _half_width(sizes: list[tuple[float, int]]) -> float:
    """Find the half width by bisection; `sizes` are root mean squares, each of so many devices."""
    devices = sum(n for _, n in sizes)
    low, high = 0.0, _WIDEST * max(size for size, _ in sizes)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = sum(n * math.erf(middle / (size * math.sqrt(2))) for size, n in sizes) / devices
        low, high = (middle, high) if inside < COVERAGE else (low, middle)
    return high
