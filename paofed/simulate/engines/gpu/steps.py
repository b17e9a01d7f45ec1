"""What the lanes of a client do with its model: map a sample, take an LMS step, find windows.

Some lanes of a warp hold a row of D numbers in registers: of L lanes, lane i has the coordinates i,
i + L, and so on. The other lanes of the warp hold rows of other clients at the same time.
Registers need unrolled loops, so the number of features is known when a kernel is compiled. Where
time counts, indices are unsigned: a signed index might count from the end, which costs a test.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float32, float64, int32, uint32, uint64

from paofed.simulate.engines.gpu.lanes import LANES, cosine32, inlined, sum_over

# The most coordinates that a lane can have in registers, with its part of the map.
_MOST_EACH = {"float32": 13, "float64": 7}


class ModelShape(NamedTuple):
    """What the kernels are compiled for."""

    features: int  # D
    waves: int  # how many of the features are Fourier features; the others are linear terms
    inputs: int  # d
    precision: str  # precision of the local models

    @property
    def real(self) -> Any:
        """The type of the local models."""
        return float32 if self.precision == "float32" else float64

    @property
    def size(self) -> int:
        """The bytes of one number of a local model."""
        return 4 if self.precision == "float32" else 8

    @property
    def scale(self) -> float:
        """The factor of cosines (paofed.core.features.FourierMap.fourier_scale)."""
        return math.sqrt((1.0 if self.waves < self.features else 2.0) / self.waves)

    @property
    def lanes(self) -> int:
        """How many lanes of a warp hold one client's model: as few as have registers for it.

        The fewer lanes, the fewer steps has a sum over them, and the more clients are under way.
        """
        lanes = 1
        while lanes < LANES and lanes * _MOST_EACH[self.precision] < self.features:
            lanes *= 2
        return lanes

    @property
    def at_once(self) -> int:
        """How many clients a warp has under way at a time."""
        return LANES // self.lanes

    @property
    def each(self) -> int:
        """How many coordinates a lane has."""
        return -(-self.features // self.lanes)

    @property
    def padded(self) -> int:
        """How many numbers a row has if every lane has as many as the others."""
        return self.lanes * self.each


class WarpSteps(NamedTuple):
    """The functions of a client's lanes, compiled for one shape."""

    # reads a lane's part of the map; the numbers of coordinate e then begin at first + apart * e
    take_map: Any
    mapped: Any  # finds z(x) of the sample at a place of a block's memory, not yet scaled
    lms: Any  # takes one LMS step
    load: Any  # reads a lane's part of a row from memory
    store: Any


@inlined
def start_of(width: Any, apart: Any, ahead: Any, k: Any, n: Any, features: Any) -> Any:
    """Return the first coordinate of a window (paofed.core.selection.Windows).

    Words of 32 bits, which are much cheaper to divide than longer ones, are enough for fewer than
    2^16 features and for ticks and clients of fewer than 2^32 together: `apart` is 0 or 1.
    """
    steps = uint32(n + ahead + apart * k) % uint32(features)
    return int32(uint32(steps * width) % uint32(features))


@inlined
def holds(j: Any, start: Any, width: Any, features: Any) -> Any:
    """Whether the window from `start` on holds coordinate j."""
    offset = int32(j - start)
    if offset < 0:
        offset = int32(offset + features)
    return offset < width


@inlined
def hear(
    local: Any, row: Any, shared: Any, model: Any, first: Any, width: Any, heard: Any,
    features: Any, lane: Any, lanes: Any,
) -> None:  # fmt: skip
    """Overwrite a window of a client's row with the server's values."""
    i = int32(lane)
    while i < width:
        j = int32(first + i)
        j = int32(j - features if j >= features else j)
        if j < heard:
            local[uint64(row + j)] = shared[uint64(model + j)]
        i = int32(i + lanes)


@cache
def steps_of(shape: ModelShape, padded: bool) -> WarpSteps:  # noqa: FBT001
    """Make the functions of a shape, for rows of D numbers or, `padded`, of `shape.padded`."""
    features, waves, inputs = shape.features, shape.waves, shape.inputs
    lanes, each = shape.lanes, shape.each
    single, linear, real = shape.precision == "float32", waves < features, shape.real
    scale = (np.float32 if single else np.float64)(shape.scale)

    @inlined
    def take_map(
        r: Any, lane: Any, frequencies: Any, phases: Any, mine: Any, first: Any, apart: Any
    ) -> None:
        for e in range(each):
            j = lane + lanes * e
            for i in range(inputs):
                number = frequencies[r, i, j] if j < features else real(0.0)
                mine[first + apart * e + i] = number
            mine[first + apart * e + inputs] = phases[r, j] if j < features else real(0.0)

    @inlined
    def mapped(
        samples: Any, place: Any, lane: Any, mine: Any, first: Any, apart: Any, r: Any, low: Any,
        high: Any, z: Any,
    ) -> None:  # fmt: skip
        x = cuda.local.array(inputs, real)
        for i in range(inputs):
            x[i] = samples[uint64(place + i)]
        for e in range(each):
            wave = not linear or lane + lanes * e < waves
            value = mine[uint64(first + apart * e + inputs)]
            for i in range(inputs):
                slope = mine[uint64(first + apart * e + i)]
                value += (x[i] if wave else min(max(x[i], low[r, i]), high[r, i])) * slope
            if wave:
                value = cosine32(value) if single else math.cos(value)
            # Numbers after the last coordinate stay 0.
            z[e] = value if not padded or lane + lanes * e < features else real(0.0)

    @inlined
    def lms(w: Any, z: Any, y: Any, mu: Any) -> None:
        # Two sums, of which each is added to while the other waits.
        prediction, other = real(0.0), real(0.0)
        for e in range(0, each - 1, 2):
            prediction += w[e] * z[e]
            other += w[e + 1] * z[e + 1]
        if each % 2:
            prediction += w[each - 1] * z[each - 1]
        gain = mu * scale * (y - scale * sum_over(prediction + other, lanes))
        for e in range(each):
            w[e] += gain * z[e]

    @inlined
    def load(row: Any, begin: Any, lane: Any, w: Any) -> None:
        for e in range(each):
            w[e] = real(0.0)
            if padded or lane + lanes * e < features:
                w[e] = row[uint64(begin + lane + lanes * e)]

    @inlined
    def store(row: Any, begin: Any, lane: Any, w: Any) -> None:
        for e in range(each):
            if padded or lane + lanes * e < features:
                row[uint64(begin + lane + lanes * e)] = w[e]

    return WarpSteps(take_map, mapped, lms, load, store)
