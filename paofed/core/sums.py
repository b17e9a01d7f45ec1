"""Sums over labelled samples, from which a ridge fit and the error of any linear model follow.

A device that has seen n samples with features u and targets y keeps n and the sums of y^2, y u and
u u'. Sums of devices add up to those of all their samples, which models do not.

The numbers are packed so that the first of them are the sums of fewer features: a place that is
left free, n, the sum of y^2, and then for each feature f the sums of y u_f, u_0 u_f, ..., u_f u_f.
All loops are plain, so that numba compiles them in short time.
"""

import numpy as np

from paofed.core.arrays import FloatArray

FREE, COUNT, SQUARES, FIRST = range(4)  # where the free place, n, y^2 and the first feature are
_SINGULAR = 1e-10  # of what others leave of a feature's square: less is rounding in float64
_ROUNDING = 1e-4  # of a square: much more than float32 takes from it on the way


def size_of(features: int) -> int:
    """Return how many numbers the sums of so many features are.

    >>> size_of(1), size_of(40)
    (5, 863)
    """
    return FIRST + features * (features + 3) // 2


def features_of(size: int) -> int:
    """Return of how many features so many numbers are the sums.

    >>> features_of(863)
    40
    """
    features = 0
    while size_of(features + 1) <= size:
        features += 1
    return features


def add(sums: FloatArray, u: FloatArray, y: float) -> None:
    """Add a sample with features u and target y to the sums, in place."""
    sums[COUNT] += 1.0
    sums[SQUARES] += y * y
    place = FIRST
    for f in range(u.size):
        feature = u[f]  # read once, and indices from 0 on: so the loop is quick
        sums[place] += y * feature
        products = sums[place + 1 : place + 2 + f]
        for g in range(products.size):
            products[g] += feature * u[g]
        place += f + 2


def add_all(sums: FloatArray, u: FloatArray, y: FloatArray) -> None:
    """Add samples with features u (C, F) and targets y (C,) to the sums, in place."""
    products, moments, place = u.T @ u, u.T @ y, FIRST
    sums[COUNT] += y.size
    sums[SQUARES] += y @ y
    for f in range(len(products)):
        sums[place] += moments[f]
        sums[place + 1 : place + 2 + f] += products[f, : f + 1]
        place += f + 2


def add_sums(total: FloatArray, weight: float, sums: FloatArray) -> None:
    """Add weighted sums of as many features as `total` has to `total`, in place."""
    for i in range(total.size):
        total[i] += weight * sums[i]


def leave_first_out(sums: FloatArray) -> None:
    """Take the first feature out of the sums, in place: a fit then has no coefficient for it."""
    place, block = FIRST, 2
    sums[place] = 0.0
    while place < sums.size:
        sums[place + 1] = 0.0
        place, block = place + block, block + 1


def missed(sums: FloatArray, model: FloatArray) -> float:
    """Return the sum of squared errors of a linear model over the samples of the sums."""
    errors, place = sums[SQUARES], FIRST
    for f in range(model.size):
        inner = 0.0
        for g in range(f):
            inner += sums[place + 1 + g] * model[g]
        errors += model[f] * (model[f] * sums[place + 1 + f] + 2.0 * (inner - sums[place]))
        place += f + 2
    return float(errors)


def fitted(sums: FloatArray, ridge: float, prior: FloatArray) -> FloatArray:
    """Return the ridge fit to the sums, which is `prior` where the samples say nothing.

    The ridge is worth so many samples: it is relative to each feature's mean square, and fades as
    samples come.
    """
    features = prior.size
    lower, right = np.zeros((features, features)), np.zeros(features)
    worth = ridge / max(sums[COUNT], 1.0)
    place = FIRST
    for f in range(features):
        held = right[f] + sums[place]
        for g in range(f):
            product = sums[place + 1 + g]
            lower[f, g] = product
            held -= product * prior[g]
            right[g] -= product * prior[f]
        square = sums[place + 1 + f]
        right[f] = held - square * prior[f]
        lower[f, f] = square + worth * square
        place += f + 2
    return prior + _solved(lower, right)


def _solved(lower: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a symmetric system, given and overwritten up to its diagonal.

    The coefficient of a feature that others explain to rounding is 0.
    """
    n, x = right.size, right.copy()
    _factored(lower)
    for f in range(n):
        held = x[f]
        for g in range(f):
            held -= lower[f, g] * x[g]
        x[f] = held / lower[f, f] if lower[f, f] > 0.0 else 0.0
    for f in range(n - 1, -1, -1):
        held = x[f]
        for g in range(f + 1, n):
            held -= lower[g, f] * x[g]
        x[f] = held / lower[f, f] if lower[f, f] > 0.0 else 0.0
    return x


def _factored(lower: FloatArray) -> bool:
    """Put Cholesky's factor in the place of a matrix, given and overwritten up to its diagonal.

    What is left of a square, if no more than rounding, counts as 0, and so does what is left of its
    products. Returns whether that was the case for features alone of which nothing was there.
    """
    definite, least, column = True, np.diag(lower).copy(), np.zeros(len(lower))
    least *= _SINGULAR
    for g in range(len(lower)):
        square = lower[g, g]
        if square < least[g]:
            definite = False
        pivot = np.sqrt(square) if square > least[g] else 0.0
        lower[g, g] = pivot
        for f in range(g + 1, len(lower)):
            held = lower[f, g]
            if pivot == 0.0 and held != 0.0:
                definite = False
            column[f] = held / pivot if pivot > 0.0 else 0.0
            lower[f, g] = column[f]
        # What a column explains is taken from all that is right of it, row by row: nothing waits
        # for the one before it, as it would in a sum over columns.
        for f in range(g + 1, len(lower)):
            part, left, along = column[f], lower[f, g + 1 : f + 1], column[g + 1 : f + 1]
            for h in range(left.size):
                left[h] -= part * along[h]
    return definite


def is_possible(sums: FloatArray, features: int, most: float, predicted: float = np.inf) -> bool:
    """Whether sums can be those of at least one and at most so many samples.

    The matrix of features and target must be positive semidefinite. Since float32 has rounded it,
    each square is first taken larger by more than that: what was semidefinite is then surely
    definite. The first feature is a prediction, whose mean square is at most `predicted`; the mean
    squares of all others together are at most 2.
    """
    n = sums[COUNT]
    if not 1.0 <= n <= most:
        return False
    for i in range(SQUARES, size_of(features)):
        if not abs(sums[i]) < np.inf:  # also where a number is NaN
            return False
    lower, place, squares = np.zeros((features + 1, features + 1)), FIRST, 0.0
    for f in range(features):
        lower[features, f] = sums[place]
        for g in range(f + 1):
            lower[f, g] = sums[place + 1 + g]
        squares += lower[f, f] if f > 0 else 0.0
        place += f + 2
    lower[features, features] = sums[SQUARES]
    larger = n * (1.0 + _ROUNDING)
    if squares > 2.0 * larger or lower[0, 0] > predicted * larger:
        return False
    for f in range(features + 1):
        lower[f, f] *= 1.0 + _ROUNDING
    return _factored(lower)
