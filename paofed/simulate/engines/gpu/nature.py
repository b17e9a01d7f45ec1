"""Kernels that draw worlds and runs from counters, as paofed.world.realize does.

What a client meets at a tick is one row of numbers, its sample, and one whole number, its event:
flags and, above them, the delay of the message that it sends.
"""

import math
from typing import Any

import numpy as np
from numba import cuda, float64, int64, uint32

from paofed.simulate.engines.gpu.counters import drifted, laws, normals, philox, uniform
from paofed.simulate.engines.gpu.lanes import APART, LANES, bounded, votes
from paofed.world.realize import PHASE_BITS, Purpose

HAS_DATA, AVAILABLE, LOST_UP, LOST_DOWN = 1, 2, 4, 8  # bits of an event
CHOSEN = 16  # the bit by which a server that picks among the available clients marks one
DELAY_SHIFT = 5
LONGEST_DELAY = 1 << 25  # a message with a longer delay never arrives in any run

_FOR_TEST = int(Purpose.TEST)
_FOR_EVENTS, _FOR_SAMPLE = int(Purpose.EVENTS), int(Purpose.SAMPLE)
_FOR_PHASE, _FOR_CONTACT = int(Purpose.PHASE), int(Purpose.CONTACT)
_FOR_HIT = int(Purpose.HIT)
_FREQUENCIES, _PHASES = 0, 1  # as in paofed.core.features
_ON, _BEGUN, _HIT = 1, 2, 4  # bits of what nature remembers of a client


_one_normal, _five_normals = normals(1), normals(5)


@cuda.jit(device=True)
def _one_of(words: Any, which: Any) -> Any:
    word = words[0]
    if which == 1:
        word = words[1]
    elif which == 2:
        word = words[2]
    elif which == 3:
        word = words[3]
    return word


@cuda.jit
def draw_maps(
    keys: Any, width: Any, frequencies: Any, phases: Any, rounded: Any, rounded_phases: Any
) -> None:
    """Draw the Fourier maps of worlds (paofed.core.features.draw_map); a thread draws a number.

    The maps are written in float64, for the test sets, and in the precision of the local models.
    """
    i = cuda.grid(1)
    worlds, inputs, waves = frequencies.shape
    each = (inputs + 1) * waves
    if i >= worlds * each:
        return
    r, e = i // each, i % each
    if e < inputs * waves:
        word = cuda.local.array(1, uint32)
        found = cuda.local.array(1, float64)
        word[0] = _one_of(philox(keys[r], e // 4, 0, 0, _FREQUENCIES), e % 4)
        _one_normal(word, found)
        frequencies[r, e // waves, e % waves] = found[0] / width
        rounded[r, e // waves, e % waves] = found[0] / width
    else:
        j = e - inputs * waves
        word = _one_of(philox(keys[r], j // 4, 0, 0, _PHASES), j % 4)
        phases[r, j] = 2.0 * math.pi * uniform(word)
        rounded_phases[r, j] = 2.0 * math.pi * uniform(word)


@cuda.jit
def draw_tests(keys: Any, clients: Any, ranges: Any, x: Any, y: Any) -> None:
    """Draw the test sets of worlds, with the targets after each number of drifts."""
    i = cuda.grid(1)
    worlds, samples, _ = x.shape
    if i >= worlds * samples:
        return
    r, t = i // samples, i % samples
    key = keys[r]
    word, _, _, _ = philox(key, t, 0, 0, _FOR_TEST)
    memory, centre, spread, noise = laws(key, int(uniform(word) * clients), ranges)
    mean = centre * math.sqrt(1.0 - memory * memory) / (1.0 - memory)
    words = cuda.local.array(5, uint32)
    g = cuda.local.array(5, float64)
    words[0], words[1], words[2], words[3] = philox(key, t, 1, 0, _FOR_TEST)
    words[4], _, _, _ = philox(key, t, 1, 1, _FOR_TEST)
    _five_normals(words, g)
    x0, x1, x2, x3 = (
        mean + spread * g[0],
        mean + spread * g[1],
        mean + spread * g[2],
        mean + spread * g[3],
    )
    x[r, t, 0], x[r, t, 1], x[r, t, 2], x[r, t, 3] = x0, x1, x2, x3
    for seen in range(y.shape[1]):
        y[r, seen, t] = drifted(x0, x1, x2, x3, seen) + noise * g[4]


@cuda.jit(device=True)
def _arrived(phase: Any, ticks: Any, samples: Any, n: Any) -> Any:
    """Count the samples of a client before tick n, where arrivals are even."""
    due = (n * samples << PHASE_BITS) - phase * ticks
    unit = ticks << PHASE_BITS
    return 0 if due <= 0 else (due + unit - 1) // unit


@bounded(APART, 5)
def draw(
    world_keys: Any, run_keys: Any, ranges: Any, ticks: Any, even: Any, samples: Any, data: Any,
    first: Any, start: Any, stay: Any, presence: Any, ladder: Any, step: Any, lateness: Any,
    began: Any, share: Any, use: Any, capacity: Any, charge: Any, fill: Any, up: Any, down: Any,
    drifts: Any, takes: Any, now: Any, memory_of: Any, level_of: Any,
    n0: Any, n1: Any, sample: Any, event: Any, lottery: Any,
) -> None:  # fmt: skip
    """Draw the ticks n0 to n1; a thread follows one client of one run.

    Everything that a client remembers from tick to tick is in `now`, `memory_of` and `level_of`.
    """
    i = cuda.grid(1)
    clients = event.shape[2]
    if i >= event.shape[0] * clients:
        return
    r, k = i // clients, i % clients
    words = cuda.local.array(5, uint32)
    g = cuda.local.array(5, float64)
    key = run_keys[r]
    memory, centre, spread, noise = laws(world_keys[r], k, ranges)
    fresh = math.sqrt(1.0 - memory * memory)
    remembered = memory_of[r, k]
    on, begun, hit = remembered & _ON, remembered & _BEGUN, remembered & _HIT
    level = level_of[r, k] if capacity.size else 0
    x0, x1, x2, x3 = now[r, 0, k], now[r, 1, k], now[r, 2, k], now[r, 3, k]
    phase = np.int64(0)
    if even:
        word, _, _, _ = philox(key, k, 0, 0, _FOR_PHASE)
        phase = np.int64(word) >> (32 - PHASE_BITS)
    for n in range(n0, n1):
        w0, w1, w2, w3 = philox(key, k, n, 0, _FOR_EVENTS)
        if even:
            had = _arrived(phase, ticks, samples[k], n)
            has_data = _arrived(phase, ticks, samples[k], n + 1) > had
        else:
            has_data = w0 < data[k]
        if presence.size:
            is_on = presence[n, k] != 0
        else:
            limit = stay[k] if on else start[k]
            is_on = w1 < (first[k] if n == 0 else limit)
        on = _ON if is_on else 0
        available = has_data and is_on
        delay = 0
        if lateness.size:
            delay = min(lateness[n, k], LONGEST_DELAY)
        elif available:
            group = k % step.size
            while delay < ladder.shape[1] and w2 < ladder[group, delay]:
                delay += 1
            delay = min(delay * step[group], LONGEST_DELAY)
        if lottery.size:
            lottery[r, n - n0, k] = uniform(w3)
        if began.size and began[r, n] >= 0:
            if began[r, n] == n:
                word, _, _, _ = philox(key, k, n, 0, _FOR_HIT)
                hit = _HIT if word < share[k] else 0
            available = available and hit == 0
        lost = 0
        if use.size or capacity.size or up.size:
            w0, w1, w2, w3 = philox(key, k, n, 0, _FOR_CONTACT)
            if use.size:
                available = available and w3 < use[k]
            if capacity.size:
                level = charge[k] if n == 0 else level
                level = min(level + (1 if w2 < fill[k] else 0), capacity[k])
                available = available and level > 0
                level -= 1 if available else 0
            if up.size:
                lost = (LOST_UP if w0 < up[k] else 0) | (LOST_DOWN if w1 < down[k] else 0)
        flags = (HAS_DATA if has_data else 0) | (AVAILABLE if available else 0)
        event[r, n - n0, k] = flags | lost | delay << DELAY_SHIFT
        if has_data:
            words[0], words[1], words[2], words[3] = philox(key, k, n, 0, _FOR_SAMPLE)
            words[4], _, _, _ = philox(key, k, n, 1, _FOR_SAMPLE)
            _five_normals(words, g)
            # The first sample is u itself, since there is no earlier one to remember.
            old, new = (memory, fresh) if begun else (0.0, 1.0)
            begun = _BEGUN
            c, s = new * centre, new * spread
            x0, x1 = old * x0 + c + s * g[0], old * x1 + c + s * g[1]
            x2, x3 = old * x2 + c + s * g[2], old * x3 + c + s * g[3]
            y = 0.0
            if drifts.size:
                seen = 0
                while seen < drifts.size and drifts[seen] <= n:
                    seen += 1
                y = drifted(x0, x1, x2, x3, seen)
                if takes.size and seen and n + 1 - drifts[seen - 1] < takes[seen - 1]:
                    done = (n + 1 - drifts[seen - 1]) / takes[seen - 1]
                    y = (1.0 - done) * drifted(x0, x1, x2, x3, seen - 1) + done * y
            else:
                y = drifted(x0, x1, x2, x3, 0)
            sample[r, n - n0, 0, k], sample[r, n - n0, 1, k] = x0, x1
            sample[r, n - n0, 2, k], sample[r, n - n0, 3, k] = x2, x3
            sample[r, n - n0, 4, k] = y + noise * g[4]
    now[r, 0, k], now[r, 1, k], now[r, 2, k], now[r, 3, k] = x0, x1, x2, x3
    memory_of[r, k] = on | begun | hit
    if capacity.size:
        level_of[r, k] = level


@cuda.jit
def line_up(
    sample: Any, event: Any, picked: Any, listed: Any, sample_to: Any, event_to: Any,
    picked_to: Any,
) -> None:  # fmt: skip
    """List the clients of every tick: the available ones, then those that only have a sample.

    A warp makes the list of one tick of one run. A place of the list has the client's sample, its
    event, which client it is, and who has picked it. Places after the last client have an event of
    0. `listed` is how many are available.
    """
    lane, i = cuda.threadIdx.x % LANES, cuda.grid(1) // LANES
    runs, ticks, clients = event.shape
    if i >= runs * ticks:
        return
    r, n = i // ticks, i % ticks
    met, below = 0, (1 << lane) - 1
    for k0 in range(0, clients, LANES):
        k = k0 + lane
        met += cuda.popc(votes(k < clients and event[r, n, min(k, clients - 1)] & AVAILABLE != 0))
    first, after = 0, met
    for k0 in range(0, clients, LANES):
        k = k0 + lane
        what = event[r, n, k] if k < clients else 0
        contact = what & AVAILABLE != 0
        alone = what & HAS_DATA != 0 and not contact
        contacts, samples = votes(contact), votes(alone)
        if contact or alone:
            before = cuda.popc(int64(contacts if contact else samples) & below)
            place = before + (first if contact else after)
            event_to[r, n, place, 0], event_to[r, n, place, 1] = what, k
            for e in range(sample.shape[2]):
                sample_to[r, n, place, e] = sample[r, n, e, k]
            for a in range(picked.shape[0]):
                picked_to[a, r, n, place] = picked[a, r, n, k]
        first += cuda.popc(contacts)
        after += cuda.popc(samples)
    for place in range(after + lane, clients, LANES):
        event_to[r, n, place, 0], event_to[r, n, place, 1] = 0, 0
        for a in range(picked.shape[0]):
            picked_to[a, r, n, place] = 0
    if lane == 0:
        listed[r, n] = met


@cuda.jit
def pick(event: Any, lottery: Any, subset: Any, picked: Any) -> None:
    """Let the servers choose among the available clients (paofed.core.selection.pick).

    Written are CHOSEN and 0: bits to be added to the events.
    """
    i = cuda.grid(1)
    methods, runs, ticks, clients = picked.shape
    if i >= methods * runs * ticks * clients:
        return
    k, n = i % clients, i // clients % ticks
    r, a = i // (clients * ticks) % runs, i // (clients * ticks * runs)
    chosen = event[r, n, k] & AVAILABLE != 0
    if chosen and subset[a] < 1.0:
        chosen = lottery[r, n, k] < subset[a]
    elif chosen:
        before, mine = 0, lottery[r, n, k]
        for other in range(clients):
            if event[r, n, other] & AVAILABLE:
                theirs = lottery[r, n, other]
                if theirs < mine or (theirs == mine and other < k):
                    before += 1
        chosen = before < subset[a]
    picked[a, r, n, k] = CHOSEN if chosen else 0
