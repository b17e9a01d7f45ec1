"""Whole runs with all local models in a multiprocessor's own memory: a block for each.

A block takes one algorithm through all ticks of one run. Its warps share the clients: in the first
half of a tick each lets its own learn, in the second the threads, one for each coordinate, gather
what was sent and move the server's model. Sums are made in the same order every time.
"""

from functools import cache
from typing import Any

from numba import cuda, float64, int32, int64

from paofed.simulate.engines.fast.kernels import LIVE, PAPER, SINGLE
from paofed.simulate.engines.gpu.lanes import LANES, from_lane, votes
from paofed.simulate.engines.gpu.nature import (
    AVAILABLE,
    DELAY_SHIFT,
    HAS_DATA,
    LOST_DOWN,
    LOST_UP,
)
from paofed.simulate.engines.gpu.steps import Shape, holds, start_of, steps_of

_TAKES_PART = 16  # the free bit of an event
_WORD = 0xFFFFFFFF


def words_of(clients: int, threads: int) -> int:
    """How many words it takes to say which clients have a contact."""
    warps = threads // LANES
    return -(-clients // threads) * warps


def memory_of(shape: Shape, clients: int, threads: int) -> tuple[int, int, int, int]:
    """Where things stand in a block's memory, and its size, in bytes.

    The server's model twice in float64, then all models, then events and contacts.
    """
    size = 4 if shape.precision == "float32" else 8
    server = 16 * shape.features
    local = server + size * shape.features
    event = -(-(local + size * shape.features * clients) // 8) * 8
    contact = event + 4 * clients
    return server // size, local // size, event // 4, contact + 4 * words_of(clients, threads)


@cache
def resident(shape: Shape) -> Any:
    """Make the kernel of a shape."""
    features, inputs, each, real = shape.features, shape.inputs, shape.each, shape.real
    steps = steps_of(shape)
    take_map, mapped, lms, load, store = steps

    @cuda.jit
    def play(
        sample: Any, event: Any, picked: Any, frequencies: Any, phases: Any, low: Any, high: Any,
        start: Any, down: Any, heard: Any, up: Any, learns_away: Any, picks: Any, mu: Any,
        max_age: Any, by_coverage: Any, exchange: Any, weight: Any, age_index: Any, base: Any,
        period: Any, sums: Any, holders: Any, counts: Any, answers: Any, every: Any,
        models: Any, contacts: Any, final: Any, server_at: Any, local_at: Any, event_at: Any,
    ) -> None:  # fmt: skip
        """Play all ticks of one run with one algorithm; the models of every curve point are kept."""
        wide = cuda.shared.array(0, float64)
        near = cuda.shared.array(0, real)
        whole = cuda.shared.array(0, int32)
        mine = cuda.local.array((inputs + 1) * each, real)
        w = cuda.local.array(each, real)
        z = cuda.local.array(each, real)
        here = cuda.local.array(inputs + 1, real)
        ahead = cuda.local.array(inputs + 1, real)

        algorithms = mu.size
        block = cuda.blockIdx.x
        r, a = block // algorithms, block % algorithms
        ticks, clients = event.shape[1], event.shape[2]
        tid, threads = cuda.threadIdx.x, cuda.blockDim.x
        warp, lane, warps = tid // LANES, tid % LANES, threads // LANES
        rounds = (clients + threads - 1) // threads
        contact_at, words = event_at + clients, rounds * warps
        ages, ring = base.size, answers.shape[1]
        way, step, limit, row = exchange[a], mu[a], max_age[a], picks[a]
        learns, coverage = learns_away[a] != 0, by_coverage[a] != 0

        for j in range(tid, features, threads):
            wide[j] = start[r, j]
            near[server_at + j] = start[r, j]
            for cell in range(sums.shape[1]):
                sums[block, cell, j] = 0.0
                holders[block, cell, j] = 0
        for cell in range(tid, sums.shape[1], threads):
            counts[block, cell] = 0
        for i in range(tid, clients * features, threads):
            near[local_at + i] = start[r, i % features]
        if way == LIVE:
            for slot in range(ring):
                for q in range(tid, words, threads):
                    answers[block, slot, q] = 0
        take_map(r, lane, frequencies, phases, mine)
        k = warp + warps * lane
        now = 0
        if k < clients:
            now = event[r, 0, k]
            for i in range(inputs + 1):
                ahead[i] = sample[r, 0, i, k]
            if row >= 0 and not picked[row, r, 0, k]:
                now = now & ~AVAILABLE
        point, met = 0, 0
        cuda.syncthreads()

        for n in range(ticks):
            # What was late is complete by now: all of it was sent before this tick.
            for j in range(tid, features, threads):
                old = wide[j]
                settled = False
                wide[features + j] = old
                for i in range(1, ages):
                    cell = base[i] + n % period[i]
                    count = counts[block, cell]
                    if count:
                        held = holders[block, cell, j]
                        if held:
                            if not settled:
                                settled = True
                                divisor = held if coverage else count
                                pull = sums[block, cell, j] - held * old
                                wide[features + j] = old + weight[a, i] / divisor * pull
                            sums[block, cell, j] = 0.0
                            holders[block, cell, j] = 0
            if way == LIVE:
                for q in range(tid, words, threads):  # what was answered at the tick before
                    answers[block, (n + ring - 1) % ring, q] = 0

            for c in range(rounds):
                k = warp + warps * (lane + LANES * c)
                what = now
                for i in range(inputs + 1):
                    here[i] = ahead[i]
                then, k_then = (n, c + 1) if c + 1 < rounds else (n + 1, 0)
                k_then = warp + warps * (lane + LANES * k_then)
                now = 0
                if then < ticks and k_then < clients:
                    now = event[r, then, k_then]
                    for i in range(inputs + 1):
                        ahead[i] = sample[r, then, i, k_then]
                    if row >= 0 and not picked[row, r, then, k_then]:
                        now = now & ~AVAILABLE
                takes_part = what & AVAILABLE != 0
                word = votes(takes_part)
                if takes_part:
                    whole[event_at + k] = what
                    what = what | _TAKES_PART
                if lane == 0:
                    whole[contact_at + c * warps + warp] = word
                bits = votes(what & HAS_DATA != 0)
                while bits:
                    b = cuda.ffs(bits) - 1
                    bits = bits & (bits - 1)
                    k = warp + warps * (b + LANES * c)
                    what_b = from_lane(what, b)
                    contact = what_b & _TAKES_PART != 0
                    if not contact and not learns:
                        continue
                    begin = local_at + k * features
                    load(near, begin, lane, w)
                    if contact and way == PAPER and what_b & LOST_DOWN == 0:
                        first = start_of(down, a, k, n, features)
                        for e in range(each):
                            j = lane + LANES * e
                            if j < heard and holds(j, first, down[a, 0], features):
                                w[e] = near[server_at + j]
                    mapped(here, lane, b, mine, r, low, high, z)
                    lms(w, z, from_lane(here[inputs], b), step)
                    store(near, begin, lane, w)
            cuda.syncthreads()

            for j in range(tid, features, threads):
                old, got = wide[j], near[server_at + j]
                total, held, count = 0.0, 0, 0
                for q in range(words):
                    bits = int64(whole[contact_at + q]) & _WORD
                    while bits:
                        b = cuda.ffs(bits) - 1
                        bits = bits & (bits - 1)
                        k = q % warps + warps * (b + LANES * (q // warps))
                        what = whole[event_at + k]
                        delay, here_k = what >> DELAY_SHIFT, local_at + k * features + j
                        answered = way == SINGLE
                        if what & LOST_UP == 0 and delay <= limit:
                            own = holds(j, start_of(up, a, k, n, features), up[a, 0], features)
                            if delay == 0:
                                count += 1
                                if own:
                                    total += near[here_k]
                                    held += 1
                                answered = answered or way == LIVE
                            else:
                                i = age_index[delay]
                                cell = base[i] + (n + delay) % period[i]
                                if own:
                                    sums[block, cell, j] += near[here_k]
                                    holders[block, cell, j] += 1
                                if j == 0:
                                    counts[block, cell] += 1
                                    if way == LIVE and what & LOST_DOWN == 0:
                                        slot = (n + delay) % ring
                                        answers[block, slot, q] |= 1 << b
                        if answered and what & LOST_DOWN == 0:
                            first = start_of(down, a, k, n, features)
                            if j < heard and holds(j, first, down[a, 0], features):
                                near[here_k] = got
                if way == LIVE:
                    for q in range(words):
                        bits = int64(answers[block, n % ring, q]) & _WORD
                        while bits:
                            b = cuda.ffs(bits) - 1
                            bits = bits & (bits - 1)
                            k = q % warps + warps * (b + LANES * (q // warps))
                            first = start_of(down, a, k, n, features)
                            if j < heard and holds(j, first, down[a, 0], features):
                                near[local_at + k * features + j] = got
                fresh = wide[features + j]
                if held:
                    divisor = held if coverage else count
                    fresh = old + weight[a, 0] / divisor * (total - held * old)
                wide[j] = fresh
                near[server_at + j] = fresh
                if j == 0:
                    for i in range(1, ages):
                        counts[block, base[i] + n % period[i]] = 0
                    for q in range(words):
                        met += cuda.popc(whole[contact_at + q])
                if (n + 1) % every == 0 or n == ticks - 1:
                    models[block, point, j] = fresh
                    if j == 0:
                        contacts[block, point] = met
            if (n + 1) % every == 0:
                point += 1
            cuda.syncthreads()
        for j in range(tid, features, threads):
            final[block, j] = wide[j]

    return play
