"""How well a device predicts, in one byte of each update.

The level is the device's recent root mean squared error, in steps of 0.75 dB of the target's scale:
128 is an error as large as the scale, 1 is -95.25 dB, 254 is +94.5 dB. Two values are no errors:
one says that a device has learned nothing yet, the other that its samples are outside the plausible
ranges time and again (two of its last thirty or so; a single one is not told).
"""

import math

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray

UNKNOWN, IMPLAUSIBLE = 0, 255
_STEP, _MIDDLE = 0.75, 128
_FORGET = 1 / 32  # weight of the newest sample, once there are that many
_AGAIN = 1 / 24  # the share of implausible samples above which a device says so


class Recent:
    """What a device remembers of its own samples to compute its level."""

    def __init__(self, samples: float = 0.0, square: float = 0.0, implausible: float = 0.0) -> None:
        self.samples = samples  # samples learned from, at most as many as are remembered
        self.square = square  # running mean of squared errors, before learning, in scales
        self.implausible = implausible  # running share of samples that were not learned from

    def learned(self, error: float) -> None:
        """Note a sample that was learned from; `error` is that of its prediction, in scales."""
        self.samples = min(self.samples + 1.0, 1 / _FORGET)
        self.square += (min(error * error, 1e30) - self.square) / self.samples
        self.implausible -= _FORGET * self.implausible

    def passed_over(self) -> None:
        """Note a sample that was not plausible."""
        self.implausible += _FORGET * (1.0 - self.implausible)

    @property
    def level(self) -> int:
        """Return the byte that travels."""
        if self.implausible > _AGAIN:
            return IMPLAUSIBLE
        if not self.samples:
            return UNKNOWN
        decibels = 10.0 * math.log10(max(self.square, 1e-30))
        return min(max(round(_MIDDLE + decibels / _STEP), UNKNOWN + 1), IMPLAUSIBLE - 1)


def decibels(level: int) -> float | None:
    """Return the error of a level, in dB of the target's scale squared; None if it is no error."""
    return None if level in (UNKNOWN, IMPLAUSIBLE) else (level - _MIDDLE) * _STEP


def in_words(decibels: float, target: str, scale: float | None) -> str:
    """Return an error for people: in the target's unit, or in dB where it has no scale."""
    if scale is None:
        return f"{decibels:.1f} dB"
    return f"{scale * 10 ** (decibels / 20):.3g} {target}"


def in_decibels(levels: NDArray[np.uint8]) -> FloatArray:
    """Return the errors of many levels.

    The two levels that are no errors give meaningless numbers.
    """
    return (levels.astype(np.float64) - _MIDDLE) * _STEP
