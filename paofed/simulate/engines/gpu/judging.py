"""Kernels for the error curves: test sets mapped, and the servers' models judged on them."""

import math
from functools import cache
from typing import Any

from numba import cuda, float32, float64, uint64

from paofed.simulate.engines.gpu.lanes import SIMULATED

JUDGES = 4 if SIMULATED else 256  # threads of a block that judges
# Points of a curve that a block judges in one pass over the test set.
TOGETHER = 2 if SIMULATED else 8
SUM_BYTES = 8 * JUDGES * TOGETHER  # bytes of a block's memory in which it sums squared errors


@cuda.jit
def map_tests(x: Any, frequencies: Any, phases: Any, z: Any) -> None:
    """Map test sets into z, (worlds, D, T); a thread maps one sample to one feature."""
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

        `seen` says which row of y holds the targets at a point. A block needs memory for TOGETHER
        models.
        """
        near = cuda.shared.array(0, real)
        parts = cuda.shared.array((JUDGES, TOGETHER), float64)
        found = cuda.local.array(TOGETHER, real)
        found2 = cuda.local.array(TOGETHER, real)
        errors = cuda.local.array(TOGETHER, float64)
        points, features = mse.shape[1], z.shape[1]
        passes = (points + TOGETHER - 1) // TOGETHER
        block, first = cuda.blockIdx.x // passes, cuda.blockIdx.x % passes * TOGETHER
        r, tid = block // algorithms, cuda.threadIdx.x
        for i in range(tid, TOGETHER * features, JUDGES):
            near[i] = models[block, min(first + i % TOGETHER, points - 1), i // TOGETHER]
        for p in range(TOGETHER):
            errors[p] = 0.0
        cuda.syncthreads()
        samples = z.shape[2]
        # Two samples share each number of a model that is loaded.
        for t in range(tid, samples, 2 * JUDGES):
            t2 = min(t + JUDGES, samples - 1)
            for p in range(TOGETHER):
                found[p], found2[p] = 0.0, 0.0
            for j in range(features):
                feature = z[uint64(r), uint64(j), uint64(t)]
                feature2 = z[uint64(r), uint64(j), uint64(t2)]
                for p in range(TOGETHER):
                    weight = near[uint64(TOGETHER * j + p)]
                    found[p] += weight * feature
                    found2[p] += weight * feature2
            for p in range(TOGETHER):
                row = seen[min(first + p, points - 1)]
                error = float64(y[r, row, t] - found[p])
                errors[p] += error * error
                if t + JUDGES < samples:
                    error = float64(y[r, row, t2] - found2[p])
                    errors[p] += error * error
        for p in range(TOGETHER):
            parts[tid, p] = errors[p]
        cuda.syncthreads()
        if tid < TOGETHER and first + tid < points:
            total = 0.0
            for other in range(JUDGES):
                total += parts[other, tid]
            mse[block, first + tid] = total / z.shape[2]

    return judge
