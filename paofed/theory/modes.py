"""The correlation matrices taken apart: R_k = Q_k diag(rates of k) Q_k^T.

In modes (x = Q_k v) a product with R_k takes D multiplications instead of D^2, and a window of m
coordinates takes m D: a tick of a fleet that shares little costs little. Q_k is orthogonal, so
nothing is lost by going there and back, and lengths stay the same.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Self

import numpy as np

from paofed.algebra import one_thread_algebra
from paofed.core.arrays import FloatArray, IntArray

THREADS = 2  # rows of Q come from memory, so that more threads would gain little
_BLOCK = 2**18  # numbers gathered at once: two megabytes, which stay near the processor


class Modes(NamedTuple):
    """Eigenvalues and eigenvectors by client; models "in modes" are the vectors v above."""

    rates: FloatArray  # (K, D), rising
    Q: FloatArray  # (K, D, D): Q[k, j] is coordinate j of every mode of client k

    @classmethod
    def of(cls, R: FloatArray, report: Callable[[float], None] = lambda _: None) -> Self:
        """Take symmetric matrices (K, D, D) apart."""
        modes = cls(np.empty(R.shape[:2]), np.empty(R.shape))

        def take_apart(k: int) -> None:
            modes.rates[k], modes.Q[k] = np.linalg.eigh(R[k])

        with one_thread_algebra(), ThreadPoolExecutor(THREADS) as pool:
            for k, _ in enumerate(pool.map(take_apart, range(len(R)))):
                report((k + 1) / len(R))
        return modes

    def of_models(self, models: FloatArray) -> FloatArray:
        """Bring models (K, D) into modes."""
        v: FloatArray = np.matmul(models[:, None, :], self.Q)[:, 0]
        return v

    def seen(self, v: FloatArray, coordinates: IntArray) -> FloatArray:
        """Return the coordinates (K, m), which must be in order, of models in modes (K, D)."""
        if coordinates.shape[1] == v.shape[1]:
            return _times(self.Q, v)
        seen = np.empty(coordinates.shape)
        for part, rows in self._rows(coordinates):
            seen[part] = _times(rows, v[part])
        return seen

    def overwritten(self, v: FloatArray, coordinates: IntArray, values: FloatArray) -> FloatArray:
        """Return models in modes (K, D) after their coordinates (K, m) were set to values (K, m).

        The coordinates must be in order.
        """
        if coordinates.shape[1] == v.shape[1]:
            return self.of_models(values)
        overwritten = np.empty_like(v)
        for part, rows in self._rows(coordinates):
            change = values[part] - _times(rows, v[part])
            np.matmul(change[:, None, :], rows, out=overwritten[part, None])
        overwritten += v
        return overwritten

    def _rows(self, coordinates: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the rows of Q at the coordinates (K, m) by blocks of clients: (part of K, m, D)."""
        (K, m), D = coordinates.shape, self.rates.shape[1]
        size = max(_BLOCK // (m * D), 1)
        clients = np.arange(K)[:, None]
        for begin in range(0, K, size):
            part = slice(begin, begin + size)
            yield part, self.Q[clients[part], coordinates[part]]


def _times(rows: FloatArray, v: FloatArray) -> FloatArray:
    product: FloatArray = np.matmul(rows, v[:, :, None])[:, :, 0]
    return product
