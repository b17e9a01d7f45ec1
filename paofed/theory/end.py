"""Where the mean models of an algorithm end, solved for instead of followed.

The features of smooth data are nearly dependent, so some modes are learned within ticks and others
within millions of them. All that the mean models do in a period of the windows is one affine map of
a vector: the models, and what is on its way. Its fixed point is where the means end, however slowly
they would get there. Its matrix takes a period of ticks for each entry of the vector: the fixed
point is solved for where that is worth its time and memory.
"""

from collections.abc import Callable

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.memory import has_memory
from paofed.theory.models import MeanModels
from paofed.theory.reach import Reach

_MOST = 6000  # entries of the vector; the matrix and its factors then take 0.6 GB
# Ticks of the means alone for each tick of means and spread. A tick of the means takes a quarter of
# the time or so (in six fleets of 4 to 32 clients: 5 % of it to all of it).
_WORTH = 4
_CLOSE = 1e-6  # a solution that a period moves by more than this, relative to it, is not one


def begin_at_end(models: MeanModels, reach: Reach, ticks: int) -> None:
    """Set mean models to where they end, as they are before the first tick of a period.

    Nothing is done where the matrix does not fit into memory, takes longer than to follow means and
    spread for `ticks` ticks, or has no fixed point, and for "live" answers, whose state is more
    than `models.state`. The target must not change.
    """
    begin = reach.period * -(-reach.longest // reach.period)  # messages of all ages may arrive
    zeros = np.zeros_like(models.state(begin))
    size = zeros.size
    fits = size <= _MOST and has_memory(2 * 8.0 * size**2)
    if not fits or size * reach.period > _WORTH * ticks or reach.live:
        return
    end = _fixed_point(_over(models, begin, reach.period), size)
    models.restore(0, zeros if end is None else end)


def _fixed_point(affine: Callable[[FloatArray], FloatArray], size: int) -> FloatArray | None:
    """Return the vector that a map leaves as it is; None where there is none."""
    constant = affine(np.zeros(size))
    moves, unit = np.empty((size, size)), np.zeros(size)  # the identity less the map's matrix
    for i in range(size):
        unit[i] = 1.0
        moves[:, i] = unit - (affine(unit) - constant)
        unit[i] = 0.0
    try:
        found: FloatArray = np.linalg.solve(moves, constant).astype(np.float64)
    except np.linalg.LinAlgError:
        return None
    moved = float(np.linalg.norm(affine(found) - found))
    return found if moved <= _CLOSE * float(np.linalg.norm(found)) else None


def _over(models: MeanModels, begin: int, period: int) -> Callable[[FloatArray], FloatArray]:
    """Return what a period of ticks does to the state of mean models."""

    def ticks(state: FloatArray) -> FloatArray:
        models.restore(begin, state)
        for n in range(begin, begin + period):
            models.tick(n)
        return models.state(begin + period)

    return ticks
