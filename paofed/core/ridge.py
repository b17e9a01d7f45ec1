"""Least squares over a past, with coefficients held down as far as that past says (the ridge)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap

Basis = FourierMap | Callable[[FloatArray], FloatArray]  # inputs (C, d) to features (C, D)

_RIDGES = 10.0 ** np.arange(1, -7, -1)  # of each column's square; of equals the first is taken
_GROWTH = 1.1  # how much larger the past must be before ridges are compared anew
_PARTS = 10  # of a past that is there at once: each is predicted from those before it
_MOST = 1 << 22  # features held at a time


class Ridge:
    """Fits all samples that were added, in the order in which they were.

    The ridge is taken from these samples as well. Now and then they are fitted with each of
    `_RIDGES`, and these trials predict what is added next. The ridge that has done best until now
    is the one to use. A trial that had seen more counts the more, since few samples want a larger
    ridge than many.
    """

    def __init__(self, features: int) -> None:
        self._gram, self._moment, self._seen = np.zeros((features, features)), np.zeros(features), 0
        self._trials, self._tried = np.zeros((features, _RIDGES.size)), 0
        self._misses = np.zeros(_RIDGES.size)
        self.foretold = np.zeros(0)  # errors on a past that `over` was given: see there

    @classmethod
    def over(cls, basis: Basis, x: FloatArray, y: FloatArray) -> "Ridge":
        """Make one of a past, in order of time.

        Its `foretold` are the errors on that past out of sample: with the ridge that is chosen, all
        but the first part, each part predicted from those before it.
        """
        features = basis(x[:1]).shape[1]
        made, rows = cls(features), max(1, min(_MOST // features, -(-len(y) // _PARTS)))
        begins = range(0, len(y), rows)
        parts = [made.add(basis(x[b : b + rows]), y[b : b + rows]) for b in begins]
        nothing = np.zeros((0, _RIDGES.size))
        made.foretold = np.concatenate([nothing, *parts[1:]])[:, np.argmin(made._misses)]
        return made

    @property
    def ridge(self) -> float:
        """The ridge that has predicted the past best."""
        return float(_RIDGES[np.argmin(self._misses)])

    @property
    def model(self) -> FloatArray:
        """The coefficients (D,) that fit the past best, with that ridge."""
        return self._fit(self.ridge)

    def add(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Add features (C, D) and targets (C,) to the past.

        Returns the errors of the trials on these samples, one column for each of `_RIDGES`.
        """
        errors: FloatArray = y[:, None] - z @ self._trials
        self._misses += self._tried * (errors**2).sum(axis=0)
        self._gram += z.T @ z
        self._moment += z.T @ y
        self._seen += len(y)
        if self._seen > _GROWTH * self._tried:
            self._trials = np.stack([self._fit(ridge) for ridge in _RIDGES.tolist()], axis=1)
            self._tried = self._seen
        return errors

    def _fit(self, ridge: float) -> NDArray[Any]:
        # By column, so that one of large numbers does not hold the others down.
        held = np.diag(ridge * self._gram.diagonal() + np.finfo(np.float64).tiny)
        return np.linalg.solve(self._gram + held, self._moment)
