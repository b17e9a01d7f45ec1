"""Random Fourier features: a nonlinear function of x as a linear one of z(x).

z(x) = sqrt(2/D) cos(x V + b) with V ~ N(0, 1/sigma^2) and b ~ U[0, 2 pi), so that
E[z(x).z(x')] = exp(-|x - x'|^2 / (2 sigma^2)), the Gaussian kernel of width sigma.

A map may have linear terms as well: the last d + 1 of its D features are then the inputs and a
constant. Either part has a square of at most 1, so |z|^2 is at most 2 with linear terms as without,
and a step size that is stable without them is stable with them.
"""

from typing import NamedTuple

import numpy as np

from paofed.core import random
from paofed.core.arrays import FloatArray
from paofed.errors import InputError

_FEWEST = 2  # the fewest Fourier features: a sine and a cosine, so that a wave may begin anywhere
# The widths that fleets and estimators may have: with narrower kernels, the map's numbers overflow.
KERNEL_WIDTHS = (1e-6, 1e6)
_OUTERMOST = 0.005  # the share of known inputs that lies outside the range, on either side


class Ranges(NamedTuple):
    """The range in which each of d inputs usually lies; beyond it a linear term stays constant."""

    low: FloatArray  # (d,)
    high: FloatArray  # (d,), above `low`

    @classmethod
    def of(cls, x: FloatArray) -> "Ranges":
        """Return the range of each column of known inputs (C, d).

        Ranges are quantiles, so that one broken reading cannot stretch a range a thousandfold. An
        input that is nearly always the same has its extremes as range, and an input that never
        changed has one unit on either side.
        """
        low, high = np.quantile(x, [_OUTERMOST, 1 - _OUTERMOST], axis=0)
        same = low >= high
        low, high = np.where(same, x.min(axis=0), low), np.where(same, x.max(axis=0), high)
        never = np.where(low >= high, 1.0, 0.0)
        return cls(low - never, high + never)


NO_RANGES = Ranges(np.zeros(0), np.zeros(0))


class FourierMap(NamedTuple):
    """The one map of a fleet: V of shape (d, F), b of shape (F,), and the ranges of linear terms.

    Without ranges the map has D = F features, with ranges D = F + d + 1.
    """

    frequencies: FloatArray
    phases: FloatArray
    ranges: Ranges = NO_RANGES

    @property
    def features(self) -> int:
        """Count the features (D)."""
        return self.phases.size + linear_terms(self.ranges)

    @property
    def fourier_scale(self) -> float:
        """The factor of the cosines; it is smaller with linear terms, which make half of |z|^2."""
        square = 1.0 if linear_terms(self.ranges) else 2.0
        return float(np.sqrt(square / self.phases.size))

    def __call__(self, x: FloatArray) -> FloatArray:
        """Map inputs of shape (..., d) to features of shape (..., D)."""
        terms = linear_terms(self.ranges)
        z: FloatArray = self.fourier_scale * np.cos(x @ self.frequencies + self.phases)
        if not terms:
            return z
        low, high = self.ranges
        linear = (2.0 * np.clip(x, low, high) - low - high) / (high - low)
        constant = np.ones((*x.shape[:-1], 1))
        return np.concatenate([z, linear / np.sqrt(terms), constant / np.sqrt(terms)], axis=-1)


def linear_terms(ranges: Ranges) -> int:
    """Count the features that are linear terms: d inputs and a constant, or none without ranges."""
    return ranges.low.size + 1 if ranges.low.size else 0


def require_features(features: int, ranges: Ranges) -> None:
    """Refuse a map whose linear terms leave no room for Fourier features."""
    terms = linear_terms(ranges)
    if terms and features < terms + _FEWEST:
        raise InputError(
            f"features is {features}: expected at least {terms + _FEWEST}, since the linear terms "
            f"of {terms - 1} inputs and a constant take {terms} of them; or leave out `linear`",
            key="features",
        )


_FREQUENCIES, _PHASES = 0, 1  # what the numbers drawn under a map's key are for


def draw_map(
    key: random.Key, *, inputs: int, features: int, width: float, ranges: Ranges = NO_RANGES
) -> FourierMap:
    """Draw the map for d inputs, D features and a Gaussian kernel of the given width (sigma).

    With ranges, d + 1 of the D features are linear terms.
    """
    require_features(features, ranges)
    waves = features - linear_terms(ranges)
    frequencies = random.normals(key, inputs * waves, _FREQUENCIES) / width
    phases = 2.0 * np.pi * random.uniforms(key, waves, _PHASES)
    return FourierMap(frequencies.reshape(inputs, waves), phases, ranges)


def median_distance(x: FloatArray, most: int = 1000) -> float:
    """Return the median distance between two of the inputs (T, d): a usual kernel width.

    Of more than `most` inputs only some are compared. The mean is taken off first, so that the
    products keep their digits.
    """
    chosen = x[random.some_of(len(x), most)]
    chosen = chosen - chosen.mean(axis=0)
    squares = (chosen**2).sum(axis=1)
    between = squares[:, None] + squares - 2.0 * chosen @ chosen.T
    upper = between[np.triu_indices(len(chosen), k=1)]
    return float(np.sqrt(max(np.median(upper), 0.0))) if upper.size else 0.0
