"""What a warp does with one client's model: map a sample, take an LMS step, find windows.

A warp holds a row of D numbers in registers: lane i has the coordinates i, i + LANES, and so on.
Registers need unrolled loops, so the number of features is known when a kernel is compiled. Where
time counts, indices are unsigned: a signed index might count from the end, which costs a test.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import float32, float64, uint64

from paofed.simulate.engines.gpu.lanes import LANES, cosine32, from_lane, inlined, lane_sums


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
    def scale(self) -> float:
        """The factor of cosines (paofed.core.features.FourierMap.fourier_scale)."""
        return math.sqrt((1.0 if self.waves < self.features else 2.0) / self.waves)

    @property
    def each(self) -> int:
        """How many coordinates a lane has."""
        return -(-self.features // LANES)


class WarpSteps(NamedTuple):
    """The functions of a warp, compiled for one shape."""

    take_map: Any  # reads a lane's part of the map from memory
    mapped: Any  # returns z(x) of the sample that a lane has, not yet scaled
    lms_pair: Any  # takes one LMS step of each of two clients
    load: Any  # reads a lane's part of a row from memory
    store: Any


@inlined
def start_of(windows: Any, a: Any, k: Any, n: Any, features: Any) -> Any:
    """Return the first coordinate of a window (paofed.core.selection.Windows)."""
    return windows[a, 0] * (n + windows[a, 2] + windows[a, 1] * k) % features


@inlined
def holds(j: Any, start: Any, width: Any, features: Any) -> Any:
    """Whether the window from `start` on holds coordinate j."""
    offset = j - start
    if offset < 0:
        offset += features
    return offset < width


@cache
def steps_of(shape: ModelShape) -> WarpSteps:
    """Make the functions of a shape."""
    features, waves, inputs, each = shape.features, shape.waves, shape.inputs, shape.each
    single, linear, real = shape.precision == "float32", waves < features, shape.real
    scale = (np.float32 if single else np.float64)(shape.scale)

    @inlined
    def take_map(r: Any, lane: Any, frequencies: Any, phases: Any, mine: Any) -> None:
        for e in range(each):
            j = lane + LANES * e
            for i in range(inputs):
                mine[i * each + e] = frequencies[r, i, j] if j < features else real(0.0)
            mine[inputs * each + e] = phases[r, j] if j < features else real(0.0)

    @inlined
    def mapped(
        sample: Any, lane: Any, whose: Any, mine: Any, r: Any, low: Any, high: Any, z: Any
    ) -> None:
        for e in range(each):
            z[e] = mine[inputs * each + e]
        for i in range(inputs):
            x = from_lane(sample[i], whose)
            if linear:
                inside = min(max(x, low[r, i]), high[r, i])
                for e in range(each):
                    z[e] += (x if lane + LANES * e < waves else inside) * mine[i * each + e]
            else:
                for e in range(each):
                    z[e] += x * mine[i * each + e]
        for e in range(each):
            if not linear or lane + LANES * e < waves:
                if single:
                    z[e] = cosine32(z[e])
                else:
                    z[e] = math.cos(z[e])

    @inlined
    def lms_pair(w: Any, z: Any, y: Any, w2: Any, z2: Any, y2: Any, mu: Any) -> None:
        prediction, prediction2 = real(0.0), real(0.0)
        for e in range(each):
            prediction += w[e] * z[e]
            prediction2 += w2[e] * z2[e]
        prediction, prediction2 = lane_sums(prediction, prediction2)
        gain = mu * scale * (y - scale * prediction)
        gain2 = mu * scale * (y2 - scale * prediction2)
        for e in range(each):
            w[e] += gain * z[e]
            w2[e] += gain2 * z2[e]

    @inlined
    def load(row: Any, begin: Any, lane: Any, w: Any) -> None:
        for e in range(each):
            w[e] = real(0.0)
            if (e + 1) * LANES <= features or lane + LANES * e < features:
                w[e] = row[uint64(begin + lane + LANES * e)]

    @inlined
    def store(row: Any, begin: Any, lane: Any, w: Any) -> None:
        for e in range(each):
            if (e + 1) * LANES <= features or lane + LANES * e < features:
                row[uint64(begin + lane + LANES * e)] = w[e]

    return WarpSteps(take_map, mapped, lms_pair, load, store)
