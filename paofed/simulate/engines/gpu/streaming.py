"""Fleets whose local models lie in the card's memory: every tick is a few launches.

Each run of each algorithm has some warps, and each of these a fixed part of the clients. A warp
lets its clients learn one after the other and sums what they send; the sums of all warps are then
added in order. So the same bits come out every time.
"""

from functools import cache
from typing import Any

from numba import cuda, uint64

from paofed.simulate.engines.fast.kernels import LIVE, PAPER, SINGLE
from paofed.simulate.engines.gpu.lanes import LANES, SIMULATED, bounded, from_lane, votes
from paofed.simulate.engines.gpu.nature import (
    AVAILABLE,
    DELAY_SHIFT,
    HAS_DATA,
    LOST_DOWN,
    LOST_UP,
)
from paofed.simulate.engines.gpu.steps import Shape, holds, start_of, steps_of

# Of a block that learns, and of these on a multiprocessor: many loads must be under way at a time.
THREADS, _BLOCKS = (2 if SIMULATED else 256), 3
WARPS = _BLOCKS * THREADS // LANES
_ANSWERED, _TAKES_PART = AVAILABLE, 16  # bits of an event as the lanes hand it on


@cache
def streaming(shape: Shape) -> Any:
    """Make the kernel of a shape with which clients learn and send."""
    features, inputs, each, real = shape.features, shape.inputs, shape.each, shape.real
    numbers, mapping = inputs + 1, (inputs + 1) * each  # of a sample, of a lane's part of the map
    take_map, mapped, lms, load, store = steps_of(shape)

    @bounded(THREADS, _BLOCKS)
    def learn(
        n: Any, turn: Any, part: Any, sample: Any, event: Any, picked: Any, frequencies: Any,
        phases: Any, low: Any, high: Any, down: Any, heard: Any, up: Any, learns_away: Any,
        picks: Any, mu: Any, max_age: Any, exchange: Any, age_index: Any, base: Any, arriving: Any,
        shared: Any, local: Any, sums: Any, holders: Any, counts: Any, answers: Any, contacts: Any,
    ) -> None:  # fmt: skip
        """Let the clients of a warp learn and send at tick n, the turn-th that was drawn."""
        mine = cuda.local.array(mapping, real)
        w = cuda.local.array(each, real)
        following = cuda.local.array(each, real)
        z = cuda.local.array(each, real)
        here = cuda.local.array(numbers, real)

        lane, g = cuda.threadIdx.x % LANES, cuda.grid(1) // LANES
        algorithms, groups, clients = mu.size, sums.shape[1], event.shape[2]
        block, g = g // groups, g % groups
        if block >= sums.shape[0]:
            return
        r, a = block // algorithms, block % algorithms
        ring = answers.shape[1]
        way, step, limit, row = exchange[a], mu[a], max_age[a], picks[a]
        learns, hears, sends = learns_away[a] != 0, down[a, 0], up[a, 0]
        ur, turn_u = uint64(r), uint64(turn)
        take_map(r, lane, frequencies, phases, mine)
        met = 0
        for k0 in range(g * part, min((g + 1) * part, clients), LANES):
            k, what, first, sent = k0 + lane, 0, 0, 0
            if k < clients:
                ku = uint64(k)
                what = event[ur, turn_u, ku]
                takes_part = what & AVAILABLE != 0
                if takes_part and row >= 0:
                    takes_part = picked[row, r, turn, k] != 0
                if what & HAS_DATA:
                    for i in range(numbers):
                        here[i] = sample[ur, turn_u, uint64(i), ku]
                what = what & ~_ANSWERED | (_TAKES_PART if takes_part else 0)
                if way == LIVE and answers[block, n % ring, k]:
                    answers[block, n % ring, k] = 0
                    what = what | _ANSWERED
                if what & (_TAKES_PART | _ANSWERED):
                    first = start_of(down, a, k, n, features)
                    sent = start_of(up, a, k, n, features)
            busy = what & (_TAKES_PART | _ANSWERED) != 0 or (learns and what & HAS_DATA != 0)
            bits = votes(busy)
            rows = block * clients + k0
            if bits:
                load(local, (rows + cuda.ffs(bits) - 1) * features, lane, following)
            while bits:
                b = cuda.ffs(bits) - 1
                bits = bits & (bits - 1)
                for e in range(each):
                    w[e] = following[e]
                if bits:  # on its way while this client learns
                    load(local, (rows + cuda.ffs(bits) - 1) * features, lane, following)
                what_b = from_lane(what, b)
                contact, heard_now = what_b & _TAKES_PART != 0, what_b & LOST_DOWN == 0
                first_b, sent_b, answered = 0, 0, what_b & _ANSWERED != 0
                if contact or answered:
                    first_b, sent_b = from_lane(first, b), from_lane(sent, b)
                if contact and way == PAPER and heard_now:
                    for e in range(each):
                        j = lane + LANES * e
                        if j < heard and holds(j, first_b, hears, features):
                            w[e] = shared[block, j]
                if contact or (learns and what_b & HAS_DATA != 0):
                    mapped(here, lane, b, mine, r, low, high, z)
                    lms(w, z, from_lane(here[inputs], b), step)
                if contact:
                    met += 1
                    delay = what_b >> DELAY_SHIFT
                    if what_b & LOST_UP == 0 and delay <= limit:
                        i = age_index[delay]
                        cell = arriving[i] - 1  # the place whose turn is just over
                        if delay == 0 or cell < base[i]:
                            cell = base[i] + delay
                        if lane == 0:
                            counts[block, g, cell] += 1
                        for e in range(each):
                            j = lane + LANES * e
                            if j < features and holds(j, sent_b, sends, features):
                                sums[block, g, cell, j] += w[e]
                                holders[block, g, cell, j] += 1
                        if way == LIVE and heard_now:
                            if delay == 0:
                                answered = True
                            elif lane == 0:
                                answers[block, (n + delay) % ring, k0 + b] = 1
                    answered = answered or (way == SINGLE and heard_now)
                if answered:
                    for e in range(each):
                        j = lane + LANES * e
                        if j < heard and holds(j, first_b, hears, features):
                            w[e] = shared[block, j]
                store(local, (rows + b) * features, lane, w)
        if lane == 0:
            contacts[block, g] += met

    return learn


@cuda.jit
def fill(start: Any, local: Any, rows: Any, begin: Any, end: Any) -> None:
    """Let local models begin with their world's start; a world has so many `rows`."""
    features = start.shape[1]
    for i in range(begin + cuda.grid(1), end, cuda.gridsize(1)):
        local[i] = start[i // features // rows, i % features]


@cuda.jit
def gather(arriving: Any, sums: Any, holders: Any, counts: Any, arrived: Any, held: Any,
           number: Any) -> None:  # fmt: skip
    """Add what arrives now over some warps; a block adds one share of the messages of one age."""
    ages, shares = arrived.shape[1], arrived.shape[2]
    share, i = cuda.blockIdx.x % shares, cuda.blockIdx.x // shares % ages
    block, cell = cuda.blockIdx.x // shares // ages, arriving[i]
    begin, end = sums.shape[1] * share // shares, sums.shape[1] * (share + 1) // shares
    count = 0
    for g in range(begin, end):
        count += counts[block, g, cell]
    for j in range(cuda.threadIdx.x, sums.shape[3], cuda.blockDim.x):
        total, holding = 0.0, 0
        if count:
            for g in range(begin, end):
                total += sums[block, g, cell, j]
                holding += holders[block, g, cell, j]
                sums[block, g, cell, j] = 0.0
                holders[block, g, cell, j] = 0
        arrived[block, i, share, j], held[block, i, share, j] = total, holding
    cuda.syncthreads()
    for g in range(begin + cuda.threadIdx.x, end, cuda.blockDim.x):
        counts[block, g, cell] = 0
    if cuda.threadIdx.x == 0:
        number[block, i, share] = count


@cuda.jit
def serve(arrived: Any, held: Any, number: Any, by_coverage: Any, weight: Any, server: Any,
          shared: Any, models: Any, point: Any) -> None:  # fmt: skip
    """Move the servers' models: a coordinate by the newest messages that hold it."""
    block, a = cuda.blockIdx.x, cuda.blockIdx.x % by_coverage.size
    for j in range(cuda.threadIdx.x, server.shape[1], cuda.blockDim.x):
        for i in range(number.shape[1]):
            total, holding, count = 0.0, 0, 0
            for share in range(number.shape[2]):
                total += arrived[block, i, share, j]
                holding += held[block, i, share, j]
                count += number[block, i, share]
            if holding:
                divisor = holding if by_coverage[a] else count
                old = server[block, j]
                server[block, j] = old + weight[a, i] / divisor * (total - holding * old)
                shared[block, j] = server[block, j]
                break
        if point >= 0:
            models[block, point, j] = shared[block, j]


@cuda.jit
def turn_over(base: Any, period: Any, arriving: Any) -> None:
    """Let the next place of every age have its turn."""
    for i in range(cuda.threadIdx.x, base.size, cuda.blockDim.x):
        turn = arriving[i] + 1
        arriving[i] = turn if turn < base[i] + period[i] else base[i]
