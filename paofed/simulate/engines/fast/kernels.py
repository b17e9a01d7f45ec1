"""The compiled rules: numba kernels over plain arrays. Twin of paofed.simulate.engines.reference.

Algorithms are rows of numbers, so one kernel runs the whole family. Nature is drawn from counters,
equal to paofed.world.realize, or read from a trace. Clients are handled in fixed blocks whose sums
are added in order, so results do not depend on threads. The arrays: `records`.

One file on purpose: what numba keeps on disk is renewed only when the file of the entry point
changes, so an inner function elsewhere could go stale unnoticed.
"""

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.polynomial import Chebyshev, Polynomial

from paofed.core import random
from paofed.core.arrays import FloatArray
from paofed.simulate.engines.fast.compiling import kept
from paofed.world.realize import Purpose


def sine_series(terms: int) -> tuple[float, ...]:
    """Return c in sin(2 pi s) = s (c0 + c1 s^2 + c2 s^4 + ...) for |s| <= 1/4, nearly best."""

    def ratio(square: FloatArray) -> FloatArray:
        return np.sin(math.tau * np.sqrt(square)) / np.sqrt(square)

    fit = Chebyshev.interpolate(ratio, terms - 1, domain=[0, 1 / 16])
    return tuple(fit.convert(kind=Polynomial).coef.tolist())


# No "nnan" or "ninf": a model may blow up, and the curve must say so.
_FAST = {"reassoc", "contract", "arcp", "nsz"}
# Without `_nrt`, no reference to an array is counted; the kernels allocate nothing.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": _FAST, "error_model": "numpy", "_nrt": False}
_NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_entry = kept(**_OPTIONS)
_inner = njit(**_OPTIONS, **_NO_WRAPPERS)  # never called from Python: compiles in half the time
# These are inlined: a call would push every array of every tuple onto the stack, for each client.
_pasted = njit(inline="always", **_OPTIONS)

_WORD = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_M0, _M1 = (np.uint64(m) for m in random.MULTIPLIERS)
_W0, _W1 = (np.uint64(w) for w in random.INCREMENTS)
_FOR_EVENTS, _FOR_SAMPLE = int(Purpose.EVENTS), int(Purpose.SAMPLE)
_FOR_CONTACT, _FOR_HIT = int(Purpose.CONTACT), int(Purpose.HIT)
PAPER, SINGLE, LIVE = 0, 1, 2  # Family.exchange
EVENTS, PICK, LEARN, SERVE = 1, 2, 4, 8  # phases of a tick
JOINED, UNASKED = -1, 2**62  # values of FamilyModels.joins that are no ticks
SINE = sine_series(8)  # exact to rounding in float64
STRETCH = 64  # ticks after which no client has samples left to learn: the bits of `pending`
# Inputs, samples or test samples in one pass over a row, since loading the row takes the time.
GROUP = 4


@_inner
def philox(key: Any, c0: Any, c1: Any, c2: Any, c3: Any) -> Any:
    """Four random words of a counter (paofed.core.random.philox); the key is two uint64."""
    x0, x1, x2, x3 = np.uint64(c0), np.uint64(c1), np.uint64(c2), np.uint64(c3)
    k0, k1 = key[0], key[1]
    for _ in range(random.ROUNDS):
        p0, p1 = x0 * _M0, x2 * _M1
        x0, x2 = (p1 >> _SHIFT) ^ x1 ^ k0, (p0 >> _SHIFT) ^ x3 ^ k1
        x1, x3 = p1 & _WORD, p0 & _WORD
        k0, k1 = (k0 + _W0) & _WORD, (k1 + _W1) & _WORD
    return x0, x1, x2, x3


@_inner
def horner(x: Any, coefficients: Any) -> Any:
    """Return a polynomial of x; its coefficients begin with the constant."""
    value = coefficients[-1]
    for i in range(len(coefficients) - 2, -1, -1):
        value = value * x + coefficients[i]
    return value


@_inner
def _normals(words: Any, g: Any, rows: Any, count: Any) -> None:
    """Normal quantiles of words (paofed.core.random.normal): the middle at once, then the tails."""
    for row in range(rows):
        for i in range(count):
            q = np.float64(words[row, i]) * 2.0**-32 + (2.0**-33 - 0.5)
            r = 0.180625 - q * q
            middle = q * horner(r, random.CENTRAL_NUMERATOR)
            g[row, i] = middle / horner(r, random.CENTRAL_DENOMINATOR)
        for i in range(count):
            q = np.float64(words[row, i]) * 2.0**-32 + (2.0**-33 - 0.5)
            if abs(q) > 0.425:
                t = math.sqrt(-math.log(0.5 - abs(q))) - 1.6
                tail = horner(t, random.TAIL_NUMERATOR) / horner(t, random.TAIL_DENOMINATOR)
                g[row, i] = tail if q > 0.0 else -tail


@_inner
def _arrived(nature: Any, k: Any, n: Any) -> Any:
    """Count the samples of client k before tick n, where arrivals are even."""
    unit = nature.ticks << nature.phase_bits
    count = -(
        (nature.phase[k] * nature.ticks - (n * nature.samples[k] << nature.phase_bits)) // unit
    )
    return max(count, 0)


@_inner
def _place(values: Any, begin: Any, end: Any, wanted: Any) -> Any:
    """Return the first index from `begin` up to `end` of a (rising) value not below `wanted`."""
    while begin < end:
        middle = (begin + end) // 2
        if values[middle] < wanted:
            begin = middle + 1
        else:
            end = middle
    return begin


@_inner
def _visits(nature: Any, turn: Any, k0: Any, k1: Any) -> Any:
    """Return where, in nature.client, the clients k0 to k1 stand that are to be visited now."""
    if not nature.traced:
        return k0, k1
    begin, end = nature.begin[turn], nature.begin[turn + 1]
    begin = _place(nature.client, begin, end, k0)
    return begin, _place(nature.client, begin, end, k1)


@_inner
def _read_events(nature: Any, moment: Any, visits: Any) -> None:
    """Take from a trace who has a sample, who is there, how late, and what is lost."""
    for i in range(visits[0], visits[1]):
        k, sample = nature.client[i], nature.sample[i]
        moment.has_data[k] = sample >= 0
        moment.available[k] = 0
        if sample >= 0:
            moment.newest[k] = sample
            moment.available[k] = nature.available[sample]
            moment.delay[k] = nature.delay[sample]
            moment.lottery[k] = nature.lottery[sample]
            moment.lost_up[k] = nature.lost_up[sample]
            moment.lost_down[k] = nature.lost_down[sample]


@_inner
def _draw_events(nature: Any, moment: Any, n: Any, k0: Any, k1: Any) -> None:
    """Draw who has a sample, who is there, how late and with which lottery number."""
    words = moment.words
    for k in range(k0, k1):  # alone in its loop, the generator runs on several clients at once
        words[0, k], words[1, k], words[2, k], words[3, k] = philox(
            nature.key, k, n, 0, _FOR_EVENTS
        )
    for k in range(k0, k1):
        if nature.even:
            has_data = _arrived(nature, k, n + 1) > _arrived(nature, k, n)
        else:
            has_data = words[0, k] < nature.data[k]
        if nature.presence.size:
            on = nature.presence[n, k] != 0
        else:
            limit = nature.stay[k] if moment.on[k] else nature.start[k]
            on = words[1, k] < (nature.first[k] if n == 0 else limit)
        moment.on[k] = on
        moment.has_data[k] = has_data
        moment.available[k] = has_data and on
        moment.lottery[k] = np.float64(words[3, k]) * 2.0**-32
        if nature.lateness.size:
            moment.delay[k] = nature.lateness[n, k]
        elif moment.available[k]:
            rung, group = 0, k % nature.step.size
            while rung < nature.ladder.shape[1] and words[2, k] < nature.ladder[group, rung]:
                rung += 1
            moment.delay[k] = rung * nature.step[group]


@_inner
def _leave_out(use: Any, moment: Any, k0: Any, k1: Any) -> None:
    """Take away the contacts that clients do not use."""
    for k in range(k0, k1):
        moment.available[k] = moment.available[k] and moment.words[3, k] < use[k]


@_inner
def _take_away(key: Any, hazards: Any, moment: Any, n: Any, k0: Any, k1: Any) -> None:
    """Take away what outages, unused contacts, batteries and losses take (paofed.world.realize)."""
    words, available = moment.words, moment.available
    if hazards.began.size and hazards.began[n] >= 0:
        if hazards.began[n] == n:
            for k in range(k0, k1):
                moment.hit[k] = philox(key, k, n, 0, _FOR_HIT)[0] < hazards.share[k]
        for k in range(k0, k1):
            available[k] = available[k] and not moment.hit[k]
    if hazards.use.size or hazards.capacity.size or hazards.up.size:
        for k in range(k0, k1):
            words[0, k], words[1, k], words[2, k], words[3, k] = philox(key, k, n, 0, _FOR_CONTACT)
    if hazards.use.size:
        _leave_out(hazards.use, moment, k0, k1)
    if hazards.capacity.size:
        for k in range(k0, k1):
            level = hazards.start[k] if n == 0 else moment.level[k]
            level = min(level + (words[2, k] < hazards.fill[k]), hazards.capacity[k])
            available[k] = available[k] and level > 0
            moment.level[k] = level - available[k]
    if hazards.up.size:
        for k in range(k0, k1):
            moment.lost_up[k] = words[0, k] < hazards.up[k]
            moment.lost_down[k] = words[1, k] < hazards.down[k]


@_inner
def _events(nature: Any, moment: Any, n: Any, k0: Any, k1: Any) -> None:
    """Step 1 of a tick for some clients of a world that is drawn."""
    _draw_events(nature, moment, n, k0, k1)
    if nature.hazards.any:
        _take_away(nature.key, nature.hazards, moment, n, k0, k1)


@_inner
def _pick(nature: Any, family: Any, moment: Any, visits: Any) -> None:
    """Let the server choose among the available clients (paofed.core.selection.pick)."""
    who = nature.client[visits[0] : visits[1]]
    for a in range(family.mu.size):
        subset = family.subset[a]
        if not family.picks[a]:
            continue
        if subset < 1.0:
            for k in who:
                moment.picked[a, k] = moment.available[k] and moment.lottery[k] < subset
        else:
            _pick_count(moment, who, a, int(subset))


@_pasted
def _pick_count(moment: Any, who: Any, a: Any, count: Any) -> None:
    available, lottery, picked = moment.available, moment.lottery, moment.picked
    there = 0
    for k in who:
        if available[k]:
            moment.scratch[there] = lottery[k]
            there += 1
    limit = _smallest(moment.scratch, there, count) if there > count else 1.0
    ties = count  # left for the clients exactly at the limit, lower indices first
    for k in who:
        ties -= available[k] and lottery[k] < limit
    for k in who:
        tied = lottery[k] == limit and ties > 0
        picked[a, k] = available[k] and (lottery[k] < limit or tied)
        ties -= available[k] and tied


@_inner
def _smallest(values: Any, size: Any, rank: Any) -> Any:
    """The rank-th smallest of the first `size` values, which are reordered (Hoare's selection)."""
    low, high = 0, size - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank - 1 <= j:
            high = j
        elif rank - 1 >= i:
            low = i
        else:
            break
    return values[rank - 1]


@_pasted
def _samples(nature: Any, moment: Any, block: Any, k: Any, count: Any, kept: Any) -> None:
    """Let the series of client k move on at the ticks to do, and observe its targets."""
    todo, words, g = moment.todo[block], moment.draws[block], moment.normals[block]
    x, y = moment.x[block], moment.y[block]
    for i in range(count):
        words[0, i], words[1, i], words[2, i], words[3, i] = philox(
            nature.key, k, todo[i], 0, _FOR_SAMPLE
        )
    for i in range(count):
        words[4, i], _, _, _ = philox(nature.key, k, todo[i], 1, _FOR_SAMPLE)
    _normals(words, g, 5, count)
    # The first sample is u itself: no memory of a past that was not there.
    old, new = (nature.memory[k], nature.fresh[k]) if moment.begun[k] else (0.0, 1.0)
    for i in range(count):
        past = x[i - 1] if i else moment.now[k]
        c, s = new * nature.centre[k], new * nature.spread[k]
        for d in range(4):
            x[i, d] = old * past[d] + c + s * g[d, i]
        old, new = nature.memory[k], nature.fresh[k]
    if kept and count:
        moment.begun[k] = 1
        for d in range(4):
            moment.now[k, d] = x[count - 1, d]
    if nature.drifts.size:
        _take_roles(nature.drifts, todo, x, moment.roles[block], count, 0)
        _targets(moment.roles[block], g, nature.noise[k], y, count)
        if nature.takes.size:
            _take_roles(nature.drifts, todo, x, moment.roles[block], count, 1)
            _targets(moment.roles[block], g, nature.noise[k], moment.past[block], count)
            _blend(nature, todo, moment.past[block], y, count)
    else:
        _targets(x, g, nature.noise[k], y, count)


@_inner
def _targets(x: Any, g: Any, noise: Any, y: Any, count: Any) -> None:
    """Observe what x makes of the paper's function (paofed.world.streams.target)."""
    for i in range(count):
        turns = 0.5 * x[i, 3]
        away = 0.25 - abs(turns - math.floor(turns + 0.5))
        cosine = away * horner(away * away, SINE)
        wave = 1.0 - cosine * cosine
        y[i] = math.sqrt(x[i, 0] * x[i, 0] + wave) + noise * g[4, i]
    for i in range(count):
        y[i] += (0.8 - 0.5 * math.exp(-x[i, 1] * x[i, 1])) * x[i, 2]


@_inner
def _take_roles(drifts: Any, todo: Any, x: Any, roles: Any, count: Any, but: Any) -> None:
    """Move the inputs' roles on by one for every drift before a sample but the latest `but`."""
    seen = 0
    for i in range(count):
        while seen < drifts.size and drifts[seen] <= todo[i]:
            seen += 1
        for d in range(4):
            roles[i, d] = x[i, (d + max(seen - but, 0)) % 4]


@_inner
def _blend(nature: Any, todo: Any, past: Any, y: Any, count: Any) -> None:
    """Go from the target before a drift to that after it (paofed.world.trace.Targets)."""
    seen = 0
    for i in range(count):
        while seen < nature.drifts.size and nature.drifts[seen] <= todo[i]:
            seen += 1
        if seen and todo[i] + 1 - nature.drifts[seen - 1] < nature.takes[seen - 1]:
            done = (todo[i] + 1 - nature.drifts[seen - 1]) / nature.takes[seen - 1]
            y[i] = (1.0 - done) * past[i] + done * y[i]


@_inner
def _features(x: Any, frequencies: Any, phases: Any, cosine: Any, ranges: Any, z: Any) -> None:
    """z(x), with the cosine as a polynomial: cos(2 pi t) = sin(2 pi (1/4 - |t - round(t)|))."""
    quarter = z.dtype.type(0.25)
    _project(x, frequencies, 0, phases, z)
    for i in range(GROUP, frequencies.shape[0], GROUP):
        _project(x, frequencies, i, z, z)
    for j in range(phases.size):
        s = quarter - abs(z[j] - np.rint(z[j]))
        z[j] = s * horner(s * s, cosine)
    if ranges.shape[1]:
        _linear(x, ranges, z[phases.size :])


@_inner
def _linear(x: Any, ranges: Any, z: Any) -> None:
    """The linear terms of z(x): inputs within their ranges, and a constant."""
    inputs, real = ranges.shape[1], z.dtype.type
    scale = 1.0 / math.sqrt(inputs + 1.0)
    for i in range(inputs):
        low, high = ranges[0, i], ranges[1, i]
        inside = min(max(x[i], low), high)
        z[i] = real(scale * (2.0 * inside - low - high) / (high - low))
    z[inputs] = real(scale)


@_pasted
def _project(x: Any, frequencies: Any, i: Any, base: Any, z: Any) -> None:
    """Add the products of a group of inputs, from the i-th on, to a base."""
    real = z.dtype.type
    x0, x1, x2, x3 = real(x[i]), real(x[i + 1]), real(x[i + 2]), real(x[i + 3])
    for j in range(frequencies.shape[1]):
        low = base[j] + x0 * frequencies[i, j] + x1 * frequencies[i + 1, j]
        z[j] = low + (x2 * frequencies[i + 2, j] + x3 * frequencies[i + 3, j])


@_inner
def _lms_step(w: Any, z: Any, y: Any, mu: Any) -> None:
    real = z.dtype.type
    prediction = real(0.0)
    for j in range(z.size):
        prediction += w[j] * z[j]
    gain = real(mu) * (real(y) - prediction)
    for j in range(z.size):
        w[j] += gain * z[j]


@_inner
def _dots(w: Any, z0: Any, z1: Any, z2: Any, z3: Any) -> Any:
    """Products of one vector with a group of others, in one pass."""
    p0 = p1 = p2 = p3 = w.dtype.type(0.0)
    for j in range(w.size):
        p0 += w[j] * z0[j]
        p1 += w[j] * z1[j]
        p2 += w[j] * z2[j]
        p3 += w[j] * z3[j]
    return p0, p1, p2, p3


@_inner
def _lms_steps(w: Any, z: Any, gram: Any, y: Any, i: Any, mu: Any) -> None:
    """Take a group of LMS steps in two passes over the model.

    Within a group, an earlier step changes a later prediction by its gain times the product of both
    features.
    """
    real = w.dtype.type
    z0, z1, z2, z3 = z[0], z[1], z[2], z[3]
    p0, p1, p2, p3 = _dots(w, z0, z1, z2, z3)
    mu = real(mu)
    g0 = mu * (real(y[i]) - p0)
    g1 = mu * (real(y[i + 1]) - p1 - g0 * gram[0])
    g2 = mu * (real(y[i + 2]) - p2 - g0 * gram[1] - g1 * gram[3])
    g3 = mu * (real(y[i + 3]) - p3 - g0 * gram[2] - g1 * gram[4] - g2 * gram[5])
    for j in range(w.size):
        w[j] += g0 * z0[j] + g1 * z1[j] + g2 * z2[j] + g3 * z3[j]


@_inner
def _gram(z: Any, gram: Any) -> None:
    """Products of every two rows of a group, the same for all models."""
    g01 = g02 = g03 = g12 = g13 = g23 = z.dtype.type(0.0)
    for j in range(z.shape[1]):
        g01 += z[0, j] * z[1, j]
        g02 += z[0, j] * z[2, j]
        g03 += z[0, j] * z[3, j]
        g12 += z[1, j] * z[2, j]
        g13 += z[1, j] * z[3, j]
        g23 += z[2, j] * z[3, j]
    gram[0], gram[1], gram[2], gram[3], gram[4], gram[5] = g01, g02, g03, g12, g13, g23


@_inner
def _window(windows: Any, a: Any, k: Any, n: Any, features: Any) -> Any:
    """Return both slices of a window: up to the end of the model, then from its first number.

    Slices rather than indices (paofed.core.selection.Windows): an index that might be negative is
    checked at every step.
    """
    start = windows[a, 0] * (n + windows[a, 2] + windows[a, 1] * k) % features
    wrapped = max(start + windows[a, 0] - features, 0)
    return (start, start + windows[a, 0] - wrapped), (0, wrapped)


@_inner
def _merge(here: Any, there: Any, family: Any, k: Any, a: Any, n: Any) -> None:
    """Overwrite the downlink window of (k, n), as far as it is heard, with the server's values."""
    for begin, full in _window(family.down, a, k, n, there.size):
        end = max(begin, min(full, family.heard[a]))
        old, new = here[begin:end], there[begin:end]
        for j in range(new.size):
            old[j] = new[j]


@_inner
def _hear(family: Any, model: Any, k: Any, a: Any, n: Any) -> None:
    """Let client k take the server's values: a newcomer all of them, others those of a window."""
    if model.joins[a, k] == JOINED:
        _merge(model.local[k, a], model.shared[a], family, k, a, n)
        return
    here, there = model.local[k, a], model.shared[a]
    for j in range(there.size):
        here[j] = there[j]
    model.joins[a, k] = JOINED


@_inner
def _learn(
    nature: Any, moment: Any, family: Any, model: Any, n: Any, block: Any, visits: Any
) -> None:
    """Steps 2 to 4 of a tick for one block of clients: share, learn, send.

    Between contacts a client depends on nobody, so its samples wait and are learned together, while
    its models are in the nearest cache: at its next contact, or after STRETCH ticks. An answer
    makes the live algorithms alone catch up: when the others learn must not depend on which
    algorithms run beside them. Where models are judged on the samples to come, nothing waits, since
    the server's model moves on with every tick.
    """
    has_data, available, pending = moment.has_data, moment.available, moment.pending
    answers, slot = model.answers, n % model.answers.shape[0]
    last = n % STRETCH == STRETCH - 1
    for k in nature.client[visits[0] : visits[1]]:
        pending[k] |= np.uint64(has_data[k]) << np.uint64(n % STRETCH)
        everyone = available[k] or last or (has_data[k] and model.judged.size > 0)
        answered = False
        for a in range(answers.shape[1]):
            answered = answered or answers[slot, a, k] or model.joins[a, k] == n
        if everyone or answered:
            _catch_up(nature, moment, family, model, n, block, k, everyone)
            _hear_answers(family, model, k, n)


@_pasted
def _catch_up(
    nature: Any, moment: Any, family: Any, model: Any, n: Any, block: Any, k: Any, everyone: Any
) -> None:
    """Let client k learn what it has seen, oldest first, up to its contact at tick n, if any."""
    x, y, z, gram = moment.x[block], moment.y[block], model.mapped[block], model.gram[block]
    count = _observe(nature, moment, n, block, k, everyone)
    for first in range(0, count, GROUP):
        beyond = min(first + GROUP, count)
        for i in range(first, beyond):
            _features(
                x[i], model.frequencies, model.phases, model.cosine, model.ranges, z[i - first]
            )
            if model.judged.size and everyone:
                sample = moment.newest[k] + 1 - count + i
                _judge(model, z[i - first], nature.truth[sample], k, nature.place[sample])
        contact = moment.available[k] and moment.todo[block, beyond - 1] == n
        together = everyone and beyond - first == GROUP and not contact
        if together:
            _gram(z, gram)
        for a in range(family.mu.size):
            live = family.exchange[a] == LIVE
            if together and not live:
                if family.learns_away[a]:
                    _lms_steps(model.local[k, a], z, gram, y, first, family.mu[a])
            elif everyone or live:
                for i in range(max(first, moment.ahead[k]) if live else first, beyond):
                    _take(moment, family, model, n, block, k, a, i)
    moment.ahead[k] = 0 if everyone else count
    if everyone:
        moment.pending[k] = np.uint64(0)


@_inner
def _judge(model: Any, z: Any, y: Any, k: Any, place: Any) -> None:
    """Keep the errors with which the models of client k and the server predict a sample."""
    local, shared, judged = model.local, model.shared, model.judged
    for a in range(shared.shape[0]):
        mine = theirs = z.dtype.type(0.0)
        for j in range(shared.shape[1]):
            mine += local[k, a, j] * z[j]
            theirs += shared[a, j] * z[j]
        judged[a, 0, place] = y - np.float64(mine)
        judged[a, 1, place] = y - np.float64(theirs)


@_pasted
def _observe(nature: Any, moment: Any, n: Any, block: Any, k: Any, everyone: Any) -> Any:
    """Draw or read the samples that client k has not learned yet; return how many."""
    x, y, todo = moment.x[block], moment.y[block], moment.todo[block]
    begin, count = n - n % STRETCH, 0
    for tick in range(begin, n + 1):
        todo[count] = tick  # kept only if its bit is set: no branch to mispredict
        count += int((moment.pending[k] >> np.uint64(tick - begin)) & np.uint64(1))
    if nature.traced:
        oldest = moment.newest[k] + 1 - count
        for i in range(count):
            for d in range(nature.x.shape[1]):
                x[i, d] = nature.x[oldest + i, d]
            y[i] = nature.y[oldest + i]
    else:
        _samples(nature, moment, block, k, count, everyone)
        if nature.wrong.who.size and nature.wrong.who[k] >= 0:
            wrong_x, wrong_y = (
                nature.wrong.x[nature.wrong.who[k]],
                nature.wrong.y[nature.wrong.who[k]],
            )
            for i in range(count):
                for d in range(4):
                    x[i, d] = wrong_x[todo[i], d]
                y[i] = wrong_y[todo[i]]
    return count


@_pasted
def _take(moment: Any, family: Any, model: Any, n: Any, block: Any, k: Any, a: Any, i: Any) -> None:
    """Let algorithm a learn sample i of client k, and exchange if this is a contact."""
    z, y = model.mapped[block, i % GROUP], moment.y[block, i]
    takes_part = moment.todo[block, i] == n and _takes_part(moment, family, k, a)
    if takes_part:
        _begin_contact(moment, family, model, n, block, k, a)
    if takes_part or family.learns_away[a]:
        _lms_step(model.local[k, a], z, y, family.mu[a])
    if takes_part:
        _end_contact(moment, family, model, n, block, k, a)


@_pasted
def _takes_part(moment: Any, family: Any, k: Any, a: Any) -> Any:
    """Whether client k has a contact now, and the server of algorithm a picks the client."""
    return moment.available[k] and (not family.picks[a] or moment.picked[a, k])


@_pasted
def _begin_contact(
    moment: Any, family: Any, model: Any, n: Any, block: Any, k: Any, a: Any
) -> None:
    """Count a contact of client k, and let it hear the server where it hears before it learns."""
    model.contacts[block, a] += 1
    model.wholes[block, a] += model.joins[a, k] != JOINED
    if family.exchange[a] == PAPER and not moment.lost_down[k]:
        _hear(family, model, k, a, n)


@_pasted
def _end_contact(moment: Any, family: Any, model: Any, n: Any, block: Any, k: Any, a: Any) -> None:
    """Let client k send, or greet the server where answers wait for the message."""
    if family.exchange[a] == LIVE and model.joins[a, k] != JOINED:
        _greet(moment, model, n, k, a)
    else:
        _send(moment, family, model, n, block, k, a)


@_inner
def _learn_due(
    nature: Any, moment: Any, family: Any, model: Any, n: Any, block: Any, visits: Any
) -> None:
    """Steps 2 to 4 of a tick where labels are rare or late, for one block of clients.

    No sample waits: a client learns from what is labelled by now at each of its samples.
    """
    z = model.mapped[block, 0]
    for k in nature.client[visits[0] : visits[1]]:
        if moment.has_data[k]:
            sample = moment.newest[k]
            if model.judged.size:
                _map(nature, moment, model, block, sample, z)
                _judge(model, z, nature.truth[sample], k, nature.place[sample])
            for a in range(family.mu.size):
                if _takes_part(moment, family, k, a):
                    _begin_contact(moment, family, model, n, block, k, a)
            for j in nature.due.sample[nature.due.begin[sample] : nature.due.begin[sample + 1]]:
                _map(nature, moment, model, block, j, z)
                for a in range(family.mu.size):
                    if _takes_part(moment, family, k, a) or family.learns_away[a]:
                        _lms_step(model.local[k, a], z, nature.y[j], family.mu[a])
            for a in range(family.mu.size):
                if _takes_part(moment, family, k, a):
                    _end_contact(moment, family, model, n, block, k, a)
        _hear_answers(family, model, k, n)


@_pasted
def _map(nature: Any, moment: Any, model: Any, block: Any, sample: Any, z: Any) -> None:
    """Map the inputs of one sample of a trace to its features."""
    x = moment.x[block, 0]
    for d in range(nature.x.shape[1]):
        x[d] = nature.x[sample, d]
    _features(x, model.frequencies, model.phases, model.cosine, model.ranges, z)


@_pasted
def _hear_answers(family: Any, model: Any, k: Any, n: Any) -> None:
    """Let client k hear the answers that come at tick n."""
    answers, slot = model.answers, n % model.answers.shape[0]
    for a in range(answers.shape[1]):
        if answers[slot, a, k] or model.joins[a, k] == n:
            answers[slot, a, k] = 0
            _hear(family, model, k, a, n)


@_pasted
def _greet(moment: Any, model: Any, n: Any, k: Any, a: Any) -> None:
    """Let a newcomer ask for the server's whole model; the first answer that comes is taken."""
    if not moment.lost_up[k] and not moment.lost_down[k]:
        model.joins[a, k] = min(model.joins[a, k], n + moment.delay[k])


@_pasted
def _send(moment: Any, family: Any, model: Any, n: Any, block: Any, k: Any, a: Any) -> None:
    """Put a client's uplink window on its way, as part of a sum; maybe answer at once."""
    delay, heard = moment.delay[k], not moment.lost_down[k]
    if delay <= family.max_age[a] and not moment.lost_up[k]:
        cell = _cell(model, model.age_index[delay], n + delay)
        model.counts[block, cell, a] += 1
        for begin, end in _window(family.up, a, k, n, model.shared.shape[1]):
            w, sums = model.local[k, a, begin:end], model.sums[block, cell, a, begin:end]
            holders = model.holders[block, cell, a, begin:end]
            for j in range(w.size):
                sums[j] += w[j]
            for j in range(w.size):
                holders[j] += 1
        if family.exchange[a] == LIVE and heard:
            model.answers[(n + delay) % model.answers.shape[0], a, k] = 1
    if family.exchange[a] == SINGLE and heard:
        _hear(family, model, k, a, n)


@_pasted
def _cell(model: Any, i: Any, arrival: Any) -> Any:
    """Where messages of the i-th age that arrive at a tick are summed."""
    return model.base[i] + arrival % model.period[i]


@_inner
def _serve(family: Any, model: Any, n: Any) -> None:
    """Step 5: apply what arrives (paofed.core.rules.aggregate), newest only."""
    counts = model.counts
    for a in range(family.mu.size):
        model.settled[:] = 0
        for i in range(model.base.size):
            cell = _cell(model, i, n)
            for block in range(1, counts.shape[0]):  # in order: threads change no bit
                if counts[block, cell, a]:
                    _gather(model, block, cell, a)
            if counts[0, cell, a]:
                _apply(family, model, cell, a, i)


@_pasted
def _gather(model: Any, block: Any, cell: Any, a: Any) -> None:
    """Add what one block has on its way to the sums of the first block."""
    sums, holders, counts = model.sums, model.holders, model.counts
    counts[0, cell, a] += counts[block, cell, a]
    counts[block, cell, a] = 0
    for j in range(sums.shape[3]):
        sums[0, cell, a, j] += sums[block, cell, a, j]
        holders[0, cell, a, j] += holders[block, cell, a, j]
        sums[block, cell, a, j] = 0.0
        holders[block, cell, a, j] = 0


@_pasted
def _apply(family: Any, model: Any, cell: Any, a: Any, i: Any) -> None:
    """Move the coordinates that messages of one age hold and no newer one does."""
    sums, holders, settled = model.sums, model.holders, model.settled
    server, weight, count = model.server, family.weight[a, i], model.counts[0, cell, a]
    model.counts[0, cell, a] = 0
    for j in range(settled.size):
        held = holders[0, cell, a, j]
        if held:
            if not settled[j]:
                settled[j] = 1
                divisor = held if family.by_coverage[a] else count
                pull = sums[0, cell, a, j] - held * server[a, j]
                server[a, j] += weight / divisor * pull
                model.shared[a, j] = server[a, j]
            sums[0, cell, a, j] = 0.0
            holders[0, cell, a, j] = 0


@_entry
def evaluate(shared: Any, z_test: Any, y_test: Any, mse: Any, point: Any) -> None:
    """Write one point of every algorithm's error curve."""
    last = y_test.size - 1
    for a in range(shared.shape[0]):
        mse[a, point] = 0.0
    for t in range(0, y_test.size, GROUP):
        z0, z1 = z_test[t], z_test[min(t + 1, last)]
        z2, z3 = z_test[min(t + 2, last)], z_test[min(t + 3, last)]
        for a in range(shared.shape[0]):
            predictions = _dots(shared[a], z0, z1, z2, z3)
            for i in range(min(GROUP, y_test.size - t)):
                e = np.float64(y_test[t + i] - predictions[i])
                mse[a, point] += e * e / y_test.size


@_entry
def mapped(x: Any, frequencies: Any, phases: Any, cosine: Any, ranges: Any, z: Any) -> None:
    """Map inputs, padded to whole groups, to their features."""
    for i in range(z.shape[0]):
        _features(x[i], frequencies, phases, cosine, ranges, z[i])


@_entry
def observe(nature: Any, moment: Any, n0: Any, n1: Any, out: Any) -> Any:
    """Draw the samples of the ticks n0 to n1, tick after tick; return how many.

    The ticks must not lie in two stretches. `out` has the fields of records.Observed.
    """
    clients, count = moment.has_data.size, 0
    for n in range(n0, n1):
        out.begin[n - n0] = count
        _events(nature, moment, n, 0, clients)
        for k in range(clients):
            if moment.has_data[k]:
                moment.pending[k] |= np.uint64(1) << np.uint64(n % STRETCH)
                out.place[n - n0, k] = count
                out.client[count], out.available[count] = k, moment.available[k]
                out.delay[count], out.lottery[count] = moment.delay[k], moment.lottery[k]
                out.lost_up[count], out.lost_down[count] = moment.lost_up[k], moment.lost_down[k]
                count += 1
    out.begin[n1 - n0] = count
    for k in range(clients):
        if moment.pending[k]:
            for i in range(_observe(nature, moment, n1 - 1, 0, k, 1)):
                place = out.place[moment.todo[0, i] - n0, k]
                for d in range(out.x.shape[1]):
                    out.x[place, d] = moment.x[0, i, d]
                out.y[place] = moment.y[0, i]
            moment.pending[k] = np.uint64(0)
    return count


@_pasted
def _take_turns(
    learn: Any,
    nature: Any,
    moment: Any,
    family: Any,
    model: Any,
    n0: Any,
    n1: Any,
    phases: Any,
    b0: Any,
    b1: Any,
) -> None:
    """Run phases of ticks, as `advance` says; `learn` does the steps 2 to 4 of a tick."""
    blocks, busy = model.blocks, nature.busy
    t0, t1 = n0, n1
    if nature.traced:
        t0, t1 = _place(busy, 0, busy.size, n0), _place(busy, 0, busy.size, n1)
    for turn in range(t0, t1):
        n = busy[turn] if nature.traced else turn
        if phases & EVENTS and nature.traced:
            _read_events(nature, moment, _visits(nature, turn, blocks[b0], blocks[b1]))
        elif phases & EVENTS:
            _events(nature, moment, n, blocks[b0], blocks[b1])
        if phases & PICK:
            _pick(nature, family, moment, _visits(nature, turn, 0, moment.available.size))
        if phases & LEARN:
            for block in range(b0, b1):
                visits = _visits(nature, turn, blocks[block], blocks[block + 1])
                learn(nature, moment, family, model, n, block, visits)
        if phases & SERVE:
            _serve(family, model, n)


@_entry
def advance(
    nature: Any,
    moment: Any,
    family: Any,
    model: Any,
    n0: Any,
    n1: Any,
    phases: Any,
    b0: Any,
    b1: Any,
) -> None:
    """Run phases of the ticks n0 to n1 for the blocks b0 to b1 of clients.

    One thread runs all phases of many ticks; several threads meet after each phase of one tick. A
    trace takes its turns at its busy ticks alone: at the others nothing can happen.
    """
    _take_turns(_learn, nature, moment, family, model, n0, n1, phases, b0, b1)


@_entry
def advance_due(
    nature: Any,
    moment: Any,
    family: Any,
    model: Any,
    n0: Any,
    n1: Any,
    phases: Any,
    b0: Any,
    b1: Any,
) -> None:
    """Do as `advance` where labels are rare or late; most programs never compile this form."""
    _take_turns(_learn_due, nature, moment, family, model, n0, n1, phases, b0, b1)
