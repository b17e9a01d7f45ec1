"""Random numbers and the paper's target, as functions of one thread.

The same as `philox` and `normal` in paofed.core.random, and as paofed.world.streams.
"""

import math
from typing import Any

import numpy as np
from numba import cuda

from paofed.core import random
from paofed.simulate.engines.fast import kernels
from paofed.simulate.engines.gpu.lanes import inlined
from paofed.world.realize import Purpose

_FOR_LAWS = int(Purpose.LAWS)
_SINE = kernels.SINE
_HALF = 2.0**-33 - 0.5

# The same function as in the compiled engine.
philox = cuda.jit(device=True)(kernels.philox.py_func)


@inlined
def horner(x: Any, coefficients: Any) -> Any:
    """Return a polynomial of x; its coefficients begin with the constant."""
    value = coefficients[-1]
    for i in range(len(coefficients) - 2, -1, -1):
        value = value * x + coefficients[i]
    return value


@inlined
def uniform(word: Any) -> Any:
    """Return a multiple of 2^-32 in [0, 1)."""
    return np.float64(word) * 2.0**-32


@inlined
def normal(word: Any) -> Any:
    """Return the normal quantile of (word + 1/2) 2^-32, without a branch: lanes stay together."""
    q = np.float64(word) * 2.0**-32 + _HALF
    r = 0.180625 - q * q
    middle = q * horner(r, random.CENTRAL_NUMERATOR) / horner(r, random.CENTRAL_DENOMINATOR)
    t = math.sqrt(-math.log(0.5 - abs(q))) - 1.6
    tail = horner(t, random.TAIL_NUMERATOR) / horner(t, random.TAIL_DENOMINATOR)
    outer = tail if q > 0.0 else -tail
    return middle if abs(q) <= 0.425 else outer


@cuda.jit(device=True)
def laws(key: Any, k: Any, ranges: Any) -> Any:
    """Return the laws of client k: memory, centre, spread, noise (world.streams.ClientLaws)."""
    w0, w1, w2, w3 = philox(key, k, 0, 0, _FOR_LAWS)
    memory = ranges[0, 0] + (ranges[0, 1] - ranges[0, 0]) * uniform(w0)
    centre = ranges[1, 0] + (ranges[1, 1] - ranges[1, 0]) * uniform(w1)
    variance = ranges[2, 0] + (ranges[2, 1] - ranges[2, 0]) * uniform(w2)
    noise = ranges[3, 0] + (ranges[3, 1] - ranges[3, 0]) * uniform(w3)
    return memory, centre, math.sqrt(variance), math.sqrt(noise)


@cuda.jit(device=True)
def target(x1: Any, x2: Any, x3: Any, x4: Any) -> Any:
    """Return the paper's function of an input."""
    turns = 0.5 * x4
    away = 0.25 - abs(turns - math.floor(turns + 0.5))
    cosine = away * horner(away * away, _SINE)
    wave = 1.0 - cosine * cosine
    return math.sqrt(x1 * x1 + wave) + (0.8 - 0.5 * math.exp(-x2 * x2)) * x3


@cuda.jit(device=True)
def drifted(x1: Any, x2: Any, x3: Any, x4: Any, drifts: Any) -> Any:
    """Return the target after some drifts, each of which moves the inputs' roles on by one."""
    turn = drifts % 4
    if turn == 1:
        return target(x2, x3, x4, x1)
    if turn == 2:
        return target(x3, x4, x1, x2)
    if turn == 3:
        return target(x4, x1, x2, x3)
    return target(x1, x2, x3, x4)
