"""Points that stand for what clients see, where moments in closed form are not enough."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.features import FourierMap
from paofed.errors import TraceError
from paofed.world.streams import INPUTS, ClientLaws, target
from paofed.world.trace import Trace


class SamplePoints(NamedTuple):
    """P points for each of K clients; a weighted sum over them is an expectation over samples."""

    z: FloatArray  # (K, P, D), mapped inputs
    y: FloatArray  # (K, P), targets
    weights: FloatArray  # (K, P), which sum to 1 for each client
    # (K,), variance of the noise that is added to targets, independently of all else.
    noise: FloatArray


# Takes clients and a number, returns at most that many points of each of these clients.
SampleSource = Callable[[IntArray, int], SamplePoints]


def points_of(fourier_map: FourierMap, laws: ClientLaws, drifts: int = 0) -> SampleSource:
    """Return points of the paper's stream, evenly spread under the law of each client.

    The points differ from client to client. Targets are those after `drifts` drifts.
    """

    def points(clients: IntArray, most: int) -> SamplePoints:
        from scipy.stats import norm, qmc  # importing these takes a second

        number = 1 << (most.bit_length() - 1)  # only powers of two are spread evenly
        even = qmc.Sobol(INPUTS, rng=0).random(number)
        shifts = np.random.default_rng(0).random((laws.spread.size, 1, INPUTS))[clients]
        normal = norm.ppf((even + shifts) % 1.0)
        mean, spread = laws.stationary_mean[clients], laws.spread[clients]
        x = mean[:, None, None] + spread[:, None, None] * normal
        z = fourier_map(x.reshape(-1, INPUTS)).reshape(clients.size, number, -1)
        weights = np.full((clients.size, number), 1.0 / number)
        return SamplePoints(z, target(x, drifts), weights, laws.noise[clients] ** 2)

    return points


def points_in(trace: Trace) -> SampleSource:
    """Return samples that each client of a trace saw, evenly over the run; they include noise."""

    def points(clients: IntArray, most: int) -> SamplePoints:
        seen = [np.flatnonzero(trace.has_data[:, k]) for k in clients.tolist()]
        for k, ticks in zip(clients.tolist(), seen, strict=True):
            if ticks.size == 0:
                raise TraceError(
                    f"client {k} of the trace has no samples: expected at least one, from which "
                    f"theory can tell how far models spread; leave the client out, or simulate"
                )
        number = min(most, *(ticks.size for ticks in seen))
        taken = np.stack([ticks[np.arange(number) * ticks.size // number] for ticks in seen])
        x, y = trace.x[taken, clients[:, None]], trace.y[taken, clients[:, None]]
        z = trace.fourier_map(x.reshape(-1, x.shape[-1])).reshape(*taken.shape, -1)
        weights = np.full(taken.shape, 1.0 / number)
        return SamplePoints(z, y, weights, np.zeros(clients.size))

    return points


def sum_of_squares(z: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the sum of weights[i] z[i] z[i]^T over points z (P, D); weights are not below 0.

    The product of a matrix with its own transpose takes half the work of another product.
    """
    scaled = z * np.sqrt(np.maximum(weights, 0))[:, None]  # rounding may leave a weight below 0
    total: FloatArray = scaled.T @ scaled
    return total
