"""Random numbers and the paper's target, as functions of one thread.

The same as `philox` and `normal` in paofed.core.random, and as paofed.world.streams.
"""

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float64, uint32, uint64

from paofed.core import random
from paofed.simulate.engines.fast import kernels
from paofed.simulate.engines.gpu.lanes import inlined
from paofed.world.realize import Purpose

_FOR_LAWS = int(Purpose.LAWS)
_SINE = kernels.SINE
_HALF = 2.0**-33 - 0.5

# The same function as in the compiled engine.
horner = inlined(kernels.horner.py_func)

_M0, _M1 = (np.uint64(number) for number in random.MULTIPLIERS)
_W0, _W1 = (np.uint64(number) for number in random.INCREMENTS)
_WORD, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)


@inlined
def philox(key: Any, c0: Any, c1: Any, c2: Any, c3: Any) -> Any:
    """Return four random words of a counter, by products of 32-bit words, which a card has."""
    x0, x1, x2, x3 = uint32(c0), uint32(c1), uint32(c2), uint32(c3)
    k0, k1 = uint32(key[0]), uint32(key[1])
    for _ in range(random.ROUNDS):
        p0, p1 = uint64(x0) * _M0, uint64(x2) * _M1
        x0 = uint32((p1 >> _SHIFT) ^ x1 ^ k0)
        x2 = uint32((p0 >> _SHIFT) ^ x3 ^ k1)
        x1, x3 = uint32(p1 & _WORD), uint32(p0 & _WORD)
        k0, k1 = uint32((k0 + _W0) & _WORD), uint32((k1 + _W1) & _WORD)
    return x0, x1, x2, x3


@inlined
def uniform(word: Any) -> Any:
    """Return a multiple of 2^-32 in [0, 1)."""
    return np.float64(word) * 2.0**-32


@cache
def normals(count: int) -> Any:
    """Make the function that turns `count` words into normal numbers (paofed.core.random.normal).

    A coefficient is loaded once for all of them. There is no branch, so that lanes stay together.
    """

    @inlined
    def polynomials(x: Any, coefficients: Any, values: Any) -> None:
        for i in range(count):
            values[i] = coefficients[-1]
        for c in range(len(coefficients) - 2, -1, -1):
            for i in range(count):
                values[i] = values[i] * x[i] + coefficients[c]

    @inlined
    def quantiles(words: Any, found: Any) -> None:
        """Write the normal quantiles of (word + 1/2) 2^-32."""
        q = cuda.local.array(count, float64)
        x = cuda.local.array(count, float64)
        above = cuda.local.array(count, float64)
        below = cuda.local.array(count, float64)
        tail = cuda.local.array(count, float64)
        for i in range(count):
            q[i] = uniform(words[i]) + _HALF
            x[i] = math.sqrt(-math.log(0.5 - abs(q[i]))) - 1.6
        polynomials(x, random.TAIL_NUMERATOR, tail)
        polynomials(x, random.TAIL_DENOMINATOR, found)
        for i in range(count):
            x[i] = 0.180625 - q[i] * q[i]
        polynomials(x, random.CENTRAL_NUMERATOR, above)
        polynomials(x, random.CENTRAL_DENOMINATOR, below)
        for i in range(count):
            outer = tail[i] if q[i] > 0.0 else -tail[i]
            central = abs(q[i]) <= 0.425
            found[i] = (q[i] * above[i] if central else outer) / (below[i] if central else found[i])

    return quantiles


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
