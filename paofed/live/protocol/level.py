"""How well a device predicts, in one byte of each update.

The level is the device's recent root mean squared error, in steps of 0.75 dB of the target's scale:
128 is an error as large as the scale, 1 is -95.25 dB, 254 is +94.5 dB. Two values are words: a
device that has learned nothing yet, and one whose samples are outside the plausible ranges time and
again: two of its last thirty or so. A single one is not worth a word.
"""

import math

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray

UNKNOWN, IMPLAUSIBLE = 0, 255
_STEP, _MIDDLE = 0.75, 128
_FORGET = 1 / 32  # weight of the newest sample, once there are so many
_AGAIN = 1 / 24  # share of implausible samples above which a device says so


class Recent:
    """What a device remembers of its own samples to say its level."""

    def __init__(self, samples: float = 0.0, square: float = 0.0, implausible: float = 0.0) -> None:
        self.samples = samples  # learned from, up to as many as are remembered
        self.square = square  # running mean of squared errors, before learning, in scales
        self.implausible = implausible  # running share of samples that were not learned from

    def learned(self, error: float) -> None:
        """A sample was learned from; `error` is that of the prediction before, in scales."""
        self.samples = min(self.samples + 1.0, 1 / _FORGET)
        self.square += (min(error * error, 1e30) - self.square) / self.samples
        self.implausible -= _FORGET * self.implausible

    def passed_over(self) -> None:
        """A sample was not plausible."""
        self.implausible += _FORGET * (1.0 - self.implausible)

    @property
    def level(self) -> int:
        """The byte that travels."""
        if self.implausible > _AGAIN:
            return IMPLAUSIBLE
        if not self.samples:
            return UNKNOWN
        decibels = 10.0 * math.log10(max(self.square, 1e-30))
        return min(max(round(_MIDDLE + decibels / _STEP), UNKNOWN + 1), IMPLAUSIBLE - 1)


def decibels(level: int) -> float | None:
    """The error that a level says, in dB of the target's scale squared; None for the two words."""
    return None if level in (UNKNOWN, IMPLAUSIBLE) else (level - _MIDDLE) * _STEP


def in_decibels(levels: NDArray[np.uint8]) -> FloatArray:
    """The same for many; the two words among them mean nothing here."""
    return (levels.astype(np.float64) - _MIDDLE) * _STEP
