"""Eigenvalues and fixed points of a linear map that is known by what it does to an array.

Arnoldi's method: on the space spanned by an array and its images, the map is a small matrix. The
largest eigenvalue of that matrix, and its solutions, soon are those of the map.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.errors import InputError

Map = Callable[[FloatArray], FloatArray]

SIZE = 30  # how many directions a space has
_ROUNDS = 100  # how many spaces are tried
_NOTHING = 1e-13  # relative to a direction's length: a smaller rest is rounding
_EIGENVALUE, _FIXED = 1e-9, 1e-12  # accuracy, relative


class _Space(NamedTuple):
    """The map on a space: map(V) = V H + rest e^T, where the rest is beyond the space."""

    V: FloatArray  # (directions, ...), orthonormal
    H: FloatArray  # (directions + 1, directions); the last row is the length of the rest


def radius(linear: Map, start: FloatArray) -> float:
    """Return the largest absolute eigenvalue that shows in the images of `start`."""
    for _ in range(_ROUNDS):
        if not start.any():
            return 0.0
        space = _space(linear, start)
        values, vectors = np.linalg.eig(space.H[:-1])
        largest = int(np.abs(values).argmax())
        found = float(np.abs(values[largest]))
        if abs(space.H[-1, -1] * vectors[-1, largest]) <= _EIGENVALUE * found:
            return found
        for _ in range(SIZE):  # the parts with small eigenvalues vanish
            start = linear(start)
            start = start / np.linalg.norm(start)
    raise InputError(
        "the growth of squared deviations could not be computed to nine digits: many modes are "
        "about equally slow; change the step size, or simulate"
    )


def fixed_point(linear: Map, start: FloatArray, free: FloatArray) -> FloatArray:
    """Return the array to which images of `start` go, if they stay bounded, by minimal residuals.

    `free` is 1 where the images still change, and 0 where `start` has its final value already.
    """
    for _ in range(_ROUNDS):
        rest = free * (linear(start) - start)
        length = np.linalg.norm(rest)
        if length <= _FIXED * np.linalg.norm(start):
            return start
        space = _space(lambda x: free * linear(x), rest)
        size = len(space.V)
        wanted = np.zeros(size + 1)
        wanted[0] = length
        steps = np.linalg.lstsq(np.eye(size + 1, size) - space.H, wanted, rcond=None)[0]
        start = start + np.tensordot(steps, space.V, 1)
    raise InputError(
        "the steady state could not be computed: models still move after very many ticks; "
        "ask for a curve instead, or take a larger step size"
    )


def _space(linear: Map, start: FloatArray) -> _Space:
    """Return up to SIZE directions, fewer where the images of `start` span less."""
    V = np.zeros((SIZE + 1, start.size))
    V[0] = start.ravel() / np.linalg.norm(start)
    H = np.zeros((SIZE + 1, SIZE))
    size = 0
    while size < SIZE:
        image = linear(V[size].reshape(start.shape)).ravel()
        length = float(np.linalg.norm(image))
        known = V[: size + 1]
        # Twice, since rounding leaves something of the known directions in the new one.
        for _ in range(2):
            along = known @ image
            H[: size + 1, size] += along
            image = image - along @ known
        rest, size = float(np.linalg.norm(image)), size + 1
        if rest <= _NOTHING * length:
            break
        H[size, size - 1] = rest
        V[size] = image / rest
    return _Space(V[:size].reshape(size, *start.shape), H[: size + 1, :size])
