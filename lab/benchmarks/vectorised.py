"""What one would write first: NumPy over all clients at once, one tick after another.

This module is here only to be measured against. It does what paofed.simulate.engines.reference
does, for the exchange "paper" and windows, in float32.
"""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from paofed.algorithms import Algorithm
from paofed.core.rules import Newest
from paofed.core.selection import Windows
from paofed.errors import AlgorithmError, TraceError
from paofed.world.trace import Trace

Single = NDArray[np.float32]


def replay(
    trace: Trace, method: Algorithm, step_size: float, max_age: int, every: int = 1
) -> tuple[Single, list[float]]:
    """Return the server's model after the last tick, and its error each `every` ticks."""
    down, up, rule = method.require_paper_parts("this baseline")
    if method.exchange != "paper":
        raise AlgorithmError(f"{method.name} is not one of the rows this baseline knows")
    if any(lost.any() for lost in trace.losses):
        raise TraceError("messages are lost in this trace: this baseline knows no lost messages")
    features, mu = trace.features, np.float32(step_size)
    frequencies = trace.frequencies.astype(np.float32)
    phases = trace.phases.astype(np.float32)
    scale = np.float32(np.sqrt(2 / features))
    server = np.zeros(features, np.float32)
    local = np.zeros((trace.clients, features), np.float32)
    z_test = scale * np.cos(trace.x_test.astype(np.float32) @ frequencies + phases)
    targets = trace.test_targets
    curve = []
    in_flight: defaultdict[int, list[tuple[int, NDArray[np.int64], Single]]] = defaultdict(list)
    for n in range(trace.ticks):
        k = np.flatnonzero(trace.has_data[n] & (trace.available[n] | method.learns_while_away))
        there = k[trace.available[n, k]]
        rows = there[:, None]
        window = _windows(down, there, n, features)
        local[rows, window] = server[window]
        z = scale * np.cos(trace.x[n, k].astype(np.float32) @ frequencies + phases)
        w = local[k]
        e = trace.y[n, k].astype(np.float32) - np.einsum("kd,kd->k", w, z)
        local[k] = w + (mu * e)[:, None] * z
        window = _windows(up, there, n, features)
        values, delay = local[rows, window], trace.delay[n, there]
        for age in np.unique(delay[delay <= max_age]).tolist():
            in_flight[n + age].append((age, window[delay == age], values[delay == age]))
        server = _apply(server, in_flight.pop(n, []), rule)
        if (n + 1) % every == 0:
            y_test = targets.at(n).astype(np.float32)
            curve.append(float(np.mean((y_test - z_test @ server) ** 2)))
    return server, curve


def _windows(windows: Windows, k: NDArray[np.int64], n: int, features: int) -> NDArray[np.int64]:
    width = windows.size(features)
    steps = n + windows.ahead + (0 if windows.coordinated else k)
    start = np.broadcast_to(width * steps % features, k.shape)
    window: NDArray[np.int64] = (start[:, None] + np.arange(width)) % features
    return window


def _apply(
    server: Single, arrived: list[tuple[int, NDArray[np.int64], Single]], rule: Newest
) -> Single:
    settled = np.zeros(server.size, dtype=bool)
    moved = server.copy()
    for age, window, values in sorted(arrived, key=lambda group: group[0]):
        total = np.zeros(server.size, np.float32)
        held = np.zeros(server.size, dtype=np.int64)
        np.add.at(total, window.ravel(), values.ravel())
        np.add.at(held, window.ravel(), 1)
        newest = (held > 0) & ~settled
        gain = np.float32(rule.staleness(age) / len(window))
        moved[newest] += gain * (total[newest] - held[newest] * server[newest])
        settled |= newest
    return moved
