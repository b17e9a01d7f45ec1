"""Random Fourier features: a nonlinear function of x as a linear one of z(x).

z(x) = sqrt(2/D) cos(x V + b) with V ~ N(0, 1/sigma^2) and b ~ U[0, 2 pi), so that
E[z(x).z(x')] = exp(-|x - x'|^2 / (2 sigma^2)), the Gaussian kernel of width sigma.
"""

from typing import NamedTuple

import numpy as np

from paofed.core import random
from paofed.core.arrays import FloatArray


class FourierMap(NamedTuple):
    """The one map of a fleet: V of shape (d, D) and b of shape (D,)."""

    frequencies: FloatArray
    phases: FloatArray

    def __call__(self, x: FloatArray) -> FloatArray:
        """Map inputs of shape (..., d) to features of shape (..., D)."""
        features = self.phases.size
        z: FloatArray = np.sqrt(2.0 / features) * np.cos(x @ self.frequencies + self.phases)
        return z


_FREQUENCIES, _PHASES = 0, 1  # what the numbers under a map's key are for


def draw_map(key: random.Key, *, inputs: int, features: int, width: float) -> FourierMap:
    """Draw the map for d inputs, D features and a Gaussian kernel of the given width (sigma)."""
    frequencies = random.normals(key, inputs * features, _FREQUENCIES) / width
    phases = 2.0 * np.pi * random.uniforms(key, features, _PHASES)
    return FourierMap(frequencies.reshape(inputs, features), phases)


def median_distance(x: FloatArray, most: int = 1000) -> float:
    """The median distance between two of the inputs (T, d): a usual choice of kernel width.

    Of many inputs some are compared. Around their mean, for the products to keep their digits.
    """
    chosen = x[random.some_of(len(x), most)]
    chosen = chosen - chosen.mean(axis=0)
    squares = (chosen**2).sum(axis=1)
    between = squares[:, None] + squares - 2.0 * chosen @ chosen.T
    upper = between[np.triu_indices(len(chosen), k=1)]
    return float(np.sqrt(max(np.median(upper), 0.0))) if upper.size else 0.0
