"""Ridge regression over past samples; those samples also decide how large the ridge is."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap

Basis = FourierMap | Callable[[FloatArray], FloatArray]  # maps inputs (C, d) to features (C, D)

# In units of each column's square; of equally good ridges the first is taken.
_RIDGES = 10.0 ** np.arange(1, -7, -1)
_GROWTH = 1.1  # ridges are compared anew when the past has grown by this factor
_PARTS = 10  # parts of a past that is given at once: each part is predicted from those before it
_MOST = 1 << 22  # the most features in memory at a time


class Ridge:
    """Fits all samples that were added, in the order in which they were added.

    The samples also choose the ridge. Now and then the samples so far are fitted with each of
    `_RIDGES`, and these trials predict the samples that are added next. The ridge whose trials have
    predicted best until now is used. A trial that had seen more samples counts for more, since few
    samples want a larger ridge than many.
    """

    def __init__(self, features: int) -> None:
        self._gram, self._moment, self._seen = np.zeros((features, features)), np.zeros(features), 0
        self._trials, self._tried = np.zeros((features, _RIDGES.size)), 0
        self._misses = np.zeros(_RIDGES.size)
        self.foretold = np.zeros(0)  # errors of predictions on the past that `over` was given

    @classmethod
    def over(cls, basis: Basis, x: FloatArray, y: FloatArray) -> "Ridge":
        """Make a Ridge of a past, in order of time.

        The attribute `foretold` of the result holds the errors out of sample on that past. Each
        part of the past is predicted from the parts before it, with the chosen ridge; the first
        part is not predicted.
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
        """The coefficients (D,) of the fit to all samples with the ridge that predicted best."""
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
        # The ridge is relative to each column, so that a column of large numbers does not hold the
        # others down.
        held = np.diag(ridge * self._gram.diagonal() + np.finfo(np.float64).tiny)
        return np.linalg.solve(self._gram + held, self._moment)
