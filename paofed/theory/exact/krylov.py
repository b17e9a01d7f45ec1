"""Eigenvalues and fixed points of a linear map that is known by what it does to an array.

Arnoldi's method: the map on the space spanned by an array and its images is a small matrix, whose
largest eigenvalue and whose solutions soon are those of the map.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.errors import InputError

Map = Callable[[FloatArray], FloatArray]

SIZE = 30  # directions of a space
_ROUNDS = 100  # spaces that are tried
_NOTHING = 1e-13  # of a direction's length: what is left of it is rounding
_EIGENVALUE, _FIXED = 1e-9, 1e-12  # accuracy, relative


class _Space(NamedTuple):
    """The map on a space: map(V) = V H + rest e^T, rest being beyond the space."""

    V: list[FloatArray]  # orthonormal directions
    H: FloatArray  # (directions + 1, directions); the last row is the length of the rest


def radius(linear: Map, start: FloatArray) -> float:
    """The largest absolute eigenvalue that shows in the images of `start`."""
    for _ in range(_ROUNDS):
        if not start.any():
            return 0.0
        space = _space(linear, start)
        values, vectors = np.linalg.eig(space.H[:-1])
        largest = int(np.abs(values).argmax())
        found = float(np.abs(values[largest]))
        if abs(space.H[-1, -1] * vectors[-1, largest]) <= _EIGENVALUE * found or found == 0:
            return found
        for _ in space.V:  # what matters least vanishes
            start = linear(start)
            start = start / np.linalg.norm(start)
    raise InputError(
        "how fast the square of deviations grows did not come out to nine digits: many modes are "
        "about equally slow; change the step size, or simulate"
    )


def fixed_point(linear: Map, start: FloatArray) -> FloatArray:
    """The array to which images of `start` go, if they stay bounded, by minimal residuals."""
    for _ in range(_ROUNDS):
        image = linear(start)
        rest = image - start
        length = np.linalg.norm(rest)
        if length <= _FIXED * np.linalg.norm(image):
            return image
        space = _space(linear, rest)
        size = len(space.V)
        wanted = np.zeros(size + 1)
        wanted[0] = length
        steps = np.linalg.lstsq(np.eye(size + 1, size) - space.H, wanted, rcond=None)[0]
        start = start + np.tensordot(steps, np.stack(space.V), 1)
    raise InputError(
        "the steady state did not come out: models still move after very many ticks; ask for a "
        "curve instead, or take a larger step size"
    )


def _space(linear: Map, start: FloatArray) -> _Space:
    """Up to SIZE directions, fewer where the images of `start` span less."""
    directions = [start / np.linalg.norm(start)]
    H = np.zeros((SIZE + 1, SIZE))
    for j in range(SIZE):
        image = linear(directions[j])
        length = float(np.linalg.norm(image))
        for _ in range(2):  # twice: rounding leaves something of the known directions in it
            for i, known in enumerate(directions):
                along = float(np.vdot(known, image))
                H[i, j] += along
                image = image - along * known
        rest = float(np.linalg.norm(image))
        if rest <= _NOTHING * max(length, 1e-300):
            return _Space(directions, H[: j + 2, : j + 1])
        H[j + 1, j] = rest
        directions.append(image / rest)
    return _Space(directions[:SIZE], H)
