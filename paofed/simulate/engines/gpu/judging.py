"""Kernels for the error curves: test sets mapped, and the servers' models judged on them."""

import math
from functools import cache
from typing import Any

from numba import cuda, float32, float64

from paofed.simulate.engines.gpu.lanes import SIMULATED

JUDGES = 4 if SIMULATED else 256  # threads of a block that judges
TOGETHER = 4  # points of a curve that a block judges in one pass over the test set


@cuda.jit
def map_tests(x: Any, frequencies: Any, phases: Any, z: Any) -> None:
    """Map test sets; a thread maps one sample to one feature. z has shape (worlds, D, T)."""
    i = cuda.grid(1)
    worlds, features, samples = z.shape
    if i >= worlds * features * samples:
        return
    t, j, r = i % samples, i // samples % features, i // samples // features
    angle = phases[r, j]
    for d in range(frequencies.shape[1]):
        angle += x[r, t, d] * frequencies[r, d, j]
    z[r, j, t] = math.sqrt(2.0 / features) * math.cos(angle)


@cache
def judge_of(precision: str) -> Any:
    """Make the kernel that judges models of a precision."""
    real = float32 if precision == "float32" else float64

    @cuda.jit
    def judge(models: Any, z: Any, y: Any, seen: Any, algorithms: Any, mse: Any) -> None:
        """Write some points of one algorithm's curve in one run: a block judges them together.

        `seen` says which row of y holds at a point.
        """
        parts = cuda.shared.array((JUDGES, TOGETHER), float64)
        points = mse.shape[1]
        passes = (points + TOGETHER - 1) // TOGETHER
        block, first = cuda.blockIdx.x // passes, cuda.blockIdx.x % passes * TOGETHER
        r, tid, last = block // algorithms, cuda.threadIdx.x, points - 1
        p0, p1 = first, min(first + 1, last)
        p2, p3 = min(first + 2, last), min(first + 3, last)
        s0 = s1 = s2 = s3 = 0.0
        for t in range(tid, z.shape[2], cuda.blockDim.x):
            d0 = d1 = d2 = d3 = real(0.0)
            for j in range(z.shape[1]):
                feature = z[r, j, t]
                d0 += models[block, p0, j] * feature
                d1 += models[block, p1, j] * feature
                d2 += models[block, p2, j] * feature
                d3 += models[block, p3, j] * feature
            e0, e1 = float64(y[r, seen[p0], t] - d0), float64(y[r, seen[p1], t] - d1)
            e2, e3 = float64(y[r, seen[p2], t] - d2), float64(y[r, seen[p3], t] - d3)
            s0 += e0 * e0
            s1 += e1 * e1
            s2 += e2 * e2
            s3 += e3 * e3
        parts[tid, 0], parts[tid, 1], parts[tid, 2], parts[tid, 3] = s0, s1, s2, s3
        cuda.syncthreads()
        if tid < TOGETHER and first + tid < points:
            total = 0.0
            for other in range(cuda.blockDim.x):
                total += parts[other, tid]
            mse[block, first + tid] = total / z.shape[2]

    return judge
