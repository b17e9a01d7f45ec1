"""Whole runs with all local models in a multiprocessor's own memory: a block for each.

A block takes one algorithm through all ticks of one run. Its warps share the clients: in the first
half of a tick each lets its own learn, in the second the threads, one for each coordinate, gather
what was sent and move the server's model. Sums are made in the same order every time.
"""

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, float64, int32, int64, uint64

from paofed.simulate.engines.fast.kernels import LIVE, PAPER, SINGLE
from paofed.simulate.engines.gpu.lanes import LANES, SIMULATED, bounded, from_lane, inlined, votes
from paofed.simulate.engines.gpu.nature import (
    AVAILABLE,
    DELAY_SHIFT,
    HAS_DATA,
    LOST_DOWN,
    LOST_UP,
)
from paofed.simulate.engines.gpu.steps import Shape, holds, start_of, steps_of

THREADS = 2 if SIMULATED else 512  # of a block
WARPS = THREADS // LANES
_RECORD = 4  # numbers: event, first coordinate of both windows, cell
_WORD = 0xFFFFFFFF


@inlined
def client_of(q: Any, b: Any) -> Any:
    """The client of bit b of word q."""
    return q % WARPS + WARPS * (b + LANES * (q // WARPS))


def words_of(clients: int) -> int:
    """How many words it takes to say which clients have a contact: one for each warp and round."""
    return -(-clients // THREADS) * (THREADS // LANES)


class Layout(NamedTuple):
    """Where things stand in a block's memory, each in units of its own size."""

    server: int  # D reals; before it, the server's model in float64, as it is and as it may be
    local: int  # K rows of D reals
    contact: int  # words, 32 bits each: who has a contact
    record: int  # K times what was sent, and the windows: see _RECORD
    arriving: int  # which cell of every age arrives now
    met: int  # contacts until now
    size: int  # in bytes


def layout_of(shape: Shape, clients: int, ages: int) -> Layout:
    """Lay out a block's memory."""
    real = 4 if shape.precision == "float32" else 8
    server = 16 * shape.features
    local = server + real * shape.features
    contact = (local + real * shape.features * clients) // 4
    record = contact + words_of(clients)
    arriving = record + _RECORD * clients
    met = arriving + ages
    return Layout(server // real, local // real, contact, record, arriving, met, 4 * (met + 1))


@cache
def resident(shape: Shape) -> Any:
    """Make the kernel of a shape."""
    features, inputs, each, real = shape.features, shape.inputs, shape.each, shape.real
    numbers, mapping = inputs + 1, (inputs + 1) * each  # of a sample, of a lane's part of the map
    take_map, mapped, lms, load, store = steps_of(shape)

    @bounded(THREADS)
    def play(
        sample: Any, event: Any, picked: Any, frequencies: Any, phases: Any, low: Any, high: Any,
        start: Any, down: Any, heard: Any, up: Any, learns_away: Any, picks: Any, mu: Any,
        max_age: Any, by_coverage: Any, exchange: Any, weight: Any, age_index: Any, base: Any,
        period: Any, sums: Any, holders: Any, counts: Any, answers: Any, every: Any, models: Any,
        contacts: Any, final: Any, server_at: Any, local_at: Any, contact_at: Any,
        record_at: Any, arriving_at: Any, met_at: Any,
    ) -> None:  # fmt: skip
        """Play all ticks of one run with one algorithm; keep the models of the curve's points."""
        wide = cuda.shared.array(0, float64)
        near = cuda.shared.array(0, real)
        whole = cuda.shared.array(0, int32)
        mine = cuda.local.array(mapping, real)
        w = cuda.local.array(each, real)
        z = cuda.local.array(each, real)
        here = cuda.local.array(numbers, real)
        ahead = cuda.local.array(numbers, real)

        block = cuda.blockIdx.x
        ublock = uint64(block)
        r, a = block // mu.size, block % mu.size
        ticks, clients = event.shape[1], event.shape[2]
        tid = cuda.threadIdx.x
        warp, lane = tid // LANES, tid % LANES
        rounds = (clients + THREADS - 1) // THREADS
        words, ages, ring = rounds * WARPS, base.size, answers.shape[1]
        way, step, limit, row = exchange[a], mu[a], max_age[a], picks[a]
        learns, coverage = learns_away[a] != 0, by_coverage[a] != 0
        hears, sends = down[a, 0], up[a, 0]

        for j in range(tid, features, THREADS):
            wide[j] = start[r, j]
            near[server_at + j] = start[r, j]
            for cell in range(sums.shape[1]):
                sums[block, cell, j] = 0.0
                holders[block, cell, j] = 0
        for cell in range(tid, sums.shape[1], THREADS):
            counts[block, cell] = 0
        for i in range(tid, clients * features, THREADS):
            near[local_at + i] = start[r, i % features]
        for i in range(tid, ages, THREADS):
            whole[arriving_at + i] = base[i]
        if tid == 0:
            whole[met_at] = 0
        if way == LIVE:
            for slot in range(ring):
                for q in range(tid, words, THREADS):
                    answers[block, slot, q] = 0
        take_map(r, lane, frequencies, phases, mine)
        k, now, point, until = warp + WARPS * lane, 0, 0, every
        if k < clients:
            now = event[r, 0, k]
            for i in range(numbers):
                ahead[i] = sample[r, 0, i, k]
            if row >= 0 and not picked[row, r, 0, k]:
                now = now & ~AVAILABLE
        cuda.syncthreads()

        for n in range(ticks):
            # What was late is complete by now: all of it was sent before this tick.
            for j0 in range(warp * LANES, features, THREADS):
                j = j0 + lane
                old = wide[uint64(j)] if j < features else 0.0
                moved, settled = old, False
                for i0 in range(1, ages, LANES):
                    cell, count = 0, 0
                    if i0 + lane < ages:
                        cell = whole[uint64(arriving_at + i0 + lane)]
                        count = counts[ublock, uint64(cell)]
                    busy = votes(count != 0)
                    while busy:
                        b = cuda.ffs(busy) - 1
                        busy = busy & (busy - 1)
                        cell_b, count_b = from_lane(cell, b), from_lane(count, b)
                        if j < features:
                            cell_u, ju = uint64(cell_b), uint64(j)
                            held, total = holders[ublock, cell_u, ju], sums[ublock, cell_u, ju]
                            if held:
                                if not settled:
                                    settled = True
                                    divisor = held if coverage else count_b
                                    moved = old + weight[a, i0 + b] / divisor * (total - held * old)
                                sums[ublock, cell_u, ju] = 0.0
                                holders[ublock, cell_u, ju] = 0
                if j < features:
                    wide[uint64(features + j)] = moved
            if way == LIVE:
                for q in range(tid, words, THREADS):  # what was answered at the tick before
                    answers[block, (n + ring - 1) % ring, q] = 0

            for c in range(rounds):
                k = warp + WARPS * (lane + LANES * c)
                what = now
                for i in range(numbers):
                    here[i] = ahead[i]
                then, c_then = (n, c + 1) if c + 1 < rounds else (n + 1, 0)
                k_then = warp + WARPS * (lane + LANES * c_then)
                now = 0
                if then < ticks and k_then < clients:
                    now = event[r, then, k_then]
                    for i in range(numbers):
                        ahead[i] = sample[r, then, i, k_then]
                    if row >= 0 and not picked[row, r, then, k_then]:
                        now = now & ~AVAILABLE
                first = 0
                word = votes(what & AVAILABLE != 0)
                if what & AVAILABLE:
                    first = start_of(down, a, k, n, features)
                    delay = what >> DELAY_SHIFT
                    record = record_at + _RECORD * k
                    whole[uint64(record)], whole[uint64(record + 2)] = what, first
                    whole[uint64(record + 1)] = start_of(up, a, k, n, features)
                    if 0 < delay <= limit:  # what is sent takes the place whose turn is just over
                        i = age_index[delay]
                        turn = whole[uint64(arriving_at + i)]
                        before = turn - 1 if turn > base[i] else base[i] + delay
                        whole[uint64(record + 3)] = before
                if lane == 0:
                    whole[uint64(contact_at + c * WARPS + warp)] = word
                    if word:
                        cuda.atomic.add(whole, met_at, cuda.popc(word))
                bits = votes(what & HAS_DATA != 0) if learns else word
                while bits:
                    b = cuda.ffs(bits) - 1
                    bits = bits & (bits - 1)
                    begin = local_at + (warp + WARPS * (b + LANES * c)) * features
                    load(near, begin, lane, w)
                    what_b = from_lane(what, b)
                    if way == PAPER and what_b & (AVAILABLE | LOST_DOWN) == AVAILABLE:
                        first_b = from_lane(first, b)
                        for e in range(each):
                            j = lane + LANES * e
                            if j < heard and holds(j, first_b, hears, features):
                                w[e] = near[uint64(server_at + j)]
                    mapped(here, lane, b, mine, r, low, high, z)
                    lms(w, z, from_lane(here[inputs], b), step)
                    store(near, begin, lane, w)
            cuda.syncthreads()

            until -= 1
            kept = until == 0 or n == ticks - 1
            for j0 in range(warp * LANES, features, THREADS):
                j = j0 + lane
                inside = j < features
                got, old = near[uint64(server_at)], 0.0
                if inside:
                    got, old = near[uint64(server_at + j)], wide[uint64(j)]
                total, held, count = 0.0, 0, 0
                for q0 in range(0, words, LANES):
                    word = whole[uint64(contact_at + q0 + lane)] if q0 + lane < words else 0
                    busy = votes(word != 0)
                    while busy:
                        q = cuda.ffs(busy) - 1
                        busy = busy & (busy - 1)
                        bits = int64(from_lane(word, q)) & _WORD
                        while bits:
                            b = cuda.ffs(bits) - 1
                            bits = bits & (bits - 1)
                            k = client_of(q0 + q, b)
                            record = record_at + _RECORD * k
                            what, sent = whole[uint64(record)], whole[uint64(record + 1)]
                            mine_of_k = local_at + k * features + j
                            delay, answered = what >> DELAY_SHIFT, way == SINGLE
                            if what & LOST_UP == 0 and delay <= limit:
                                own = inside and holds(j, sent, sends, features)
                                if delay == 0:
                                    count += 1
                                    if own:
                                        total += near[uint64(mine_of_k)]
                                        held += 1
                                    answered = answered or way == LIVE
                                else:
                                    cell = whole[uint64(record + 3)]
                                    if own:
                                        cell_u, ju = uint64(cell), uint64(j)
                                        sums[ublock, cell_u, ju] += near[uint64(mine_of_k)]
                                        holders[ublock, cell_u, ju] += 1
                                    if j == 0:
                                        counts[ublock, uint64(cell)] += 1
                                        if way == LIVE and what & LOST_DOWN == 0:
                                            slot = (n + delay) % ring
                                            answers[block, slot, q0 + q] |= 1 << b
                            if answered and inside and what & LOST_DOWN == 0:
                                first = whole[uint64(record + 2)]
                                if j < heard and holds(j, first, hears, features):
                                    near[uint64(mine_of_k)] = got
                if way == LIVE:
                    for q in range(words):
                        bits = int64(answers[block, n % ring, q]) & _WORD
                        while bits:
                            b = cuda.ffs(bits) - 1
                            bits = bits & (bits - 1)
                            k = client_of(q, b)
                            first = start_of(down, a, k, n, features)
                            if inside and j < heard and holds(j, first, hears, features):
                                near[uint64(local_at + k * features + j)] = got
                if inside:
                    fresh = wide[uint64(features + j)]
                    if held:
                        divisor = held if coverage else count
                        fresh = old + weight[a, 0] / divisor * (total - held * old)
                    wide[uint64(j)] = fresh
                    near[uint64(server_at + j)] = fresh
                    if kept:
                        models[block, point, j] = fresh
            for i in range(1 + tid, ages, THREADS):
                turn = whole[uint64(arriving_at + i)]
                counts[ublock, uint64(turn)] = 0
                beyond = base[i] + period[i]
                whole[uint64(arriving_at + i)] = turn + 1 if turn + 1 < beyond else base[i]
            if kept:
                if tid == 0:
                    contacts[block, point] = whole[uint64(met_at)]
                point += 1
                until = every
            cuda.syncthreads()
        for j in range(tid, features, THREADS):
            final[block, j] = wide[uint64(j)]

    return play
