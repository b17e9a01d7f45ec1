"""Fleets whose local models lie in the card's memory: every tick is a few launches.

Each run of each algorithm has some warps, and each warp has its own clients. The clients of a warp
are spread in small parts, so that all warps work near each other in memory: they hear, learn and
send one after the other. What a warp's clients send is summed in order, and then the sums of all
warps are added. So the same bits come out every time.
"""

from functools import cache
from typing import Any

from numba import cuda, int32, uint64

from paofed.simulate.engines.fast.kernels import LIVE, PAPER, SINGLE
from paofed.simulate.engines.gpu.lanes import LANES, SIMULATED, bounded, from_lane, inlined, votes
from paofed.simulate.engines.gpu.nature import (
    AVAILABLE,
    DELAY_SHIFT,
    HAS_DATA,
    LOST_DOWN,
    LOST_UP,
)
from paofed.simulate.engines.gpu.steps import ModelShape, start_of, steps_of

# Threads of a block that learns, and such blocks on a multiprocessor: many loads must be under way
# at a time.
THREADS, _BLOCKS = (2 if SIMULATED else 128), 4
WARPS = _BLOCKS * THREADS // LANES


@inlined
def takes_part(event: Any, picked: Any, row: Any, r: Any, turn: Any, k: Any) -> Any:
    """Whether client k has a contact.

    `row` is the algorithm's index among those that pick, or -1.
    """
    there = event[r, turn, k] & AVAILABLE != 0
    if there and row >= 0:
        there = picked[row, r, turn, k] & AVAILABLE != 0
    return there


@cache
def learning(shape: ModelShape) -> Any:
    """Make the kernel of a shape in which clients learn: nearly all memory traffic is in it."""
    features, inputs, each, real = shape.features, shape.inputs, shape.each, shape.real
    # Numbers of a sample, and of a lane's part of the map.
    numbers, mapping = inputs + 1, (inputs + 1) * each
    take_map, mapped, lms_pair, load, store = steps_of(shape)

    @bounded(THREADS, _BLOCKS)
    def learn(
        turn: Any, groups: Any, sample: Any, event: Any, picked: Any, frequencies: Any,
        phases: Any, low: Any, high: Any, learns_away: Any, picks: Any, mu: Any, local: Any,
    ) -> None:  # fmt: skip
        """Let the clients of a warp learn at the turn-th tick that was drawn."""
        mine = cuda.local.array(mapping, real)
        w = cuda.local.array(each, real)
        w2 = cuda.local.array(each, real)
        following = cuda.local.array(each, real)
        following2 = cuda.local.array(each, real)
        z = cuda.local.array(each, real)
        z2 = cuda.local.array(each, real)
        here = cuda.local.array(numbers, real)
        ahead = cuda.local.array(numbers, real)

        lane, g = cuda.threadIdx.x % LANES, cuda.grid(1) // LANES
        clients, block, g = event.shape[2], g // groups, g % groups
        if block >= event.shape[0] * mu.size:
            return
        r, a = block // mu.size, block % mu.size
        step, learns = mu[a], learns_away[a] != 0
        take_map(r, lane, frequencies, phases, mine)
        k = min(g * LANES + lane, clients - 1)
        now = event[r, turn, k]
        for i in range(numbers):
            ahead[i] = sample[r, turn, i, k]
        for k0 in range(g * LANES, clients, groups * LANES):
            k = k0 + lane
            busy = k < clients and now & HAS_DATA != 0
            if busy and not learns:
                busy = takes_part(event, picked, picks[a], r, turn, k)
            for i in range(numbers):
                here[i] = ahead[i]
            # The next samples are loaded meanwhile, whether or not there is a next client: a branch
            # would have to wait.
            k = uint64(min(k0 + groups * LANES + lane, clients - 1))
            now = event[uint64(r), uint64(turn), k]
            for i in range(numbers):
                ahead[i] = sample[uint64(r), uint64(turn), uint64(i), k]
            bits, rows = votes(busy), block * clients + k0
            b = max(cuda.ffs(bits) - 1, 0)
            bits_then = int32(bits & (bits - 1))
            b2 = cuda.ffs(bits_then) - 1 if bits_then else b
            load(local, (rows + b) * features, lane, following)
            load(local, (rows + b2) * features, lane, following2)
            while bits:  # two clients at a time
                one, two = b, b2
                for e in range(each):
                    w[e], w2[e] = following[e], following2[e]
                bits = int32(bits_then & (bits_then - 1))
                bits_then = int32(bits & (bits - 1))
                b = cuda.ffs(bits) - 1 if bits else one
                b2 = cuda.ffs(bits_then) - 1 if bits_then else b
                load(local, (rows + b) * features, lane, following)
                load(local, (rows + b2) * features, lane, following2)
                mapped(here, lane, one, mine, r, low, high, z)
                mapped(here, lane, two, mine, r, low, high, z2)
                y, y2 = from_lane(here[inputs], one), from_lane(here[inputs], two)
                lms_pair(w, z, y, w2, z2, y2, step)
                store(local, (rows + one) * features, lane, w)
                if two != one:
                    store(local, (rows + two) * features, lane, w2)

    return learn


@inlined
def _hear(
    local: Any, row: Any, shared: Any, block: Any, first: Any, width: Any, heard: Any, lane: Any
) -> None:
    """Overwrite a window of a client's row with the server's values."""
    for i in range(lane, width, LANES):
        j = first + i
        j = j - shared.shape[1] if j >= shared.shape[1] else j
        if j < heard:
            local[row + j] = shared[block, j]


@cuda.jit
def hear(
    n: Any, turn: Any, groups: Any, event: Any, picked: Any, down: Any, heard: Any,
    picks: Any, exchange: Any, shared: Any, local: Any,
) -> None:  # fmt: skip
    """Let the clients with a contact hear the server before they learn, as in the paper."""
    lane, g = cuda.threadIdx.x % LANES, cuda.grid(1) // LANES
    clients, features, block, g = event.shape[2], shared.shape[1], g // groups, g % groups
    if block >= shared.shape[0]:
        return
    r, a = block // exchange.size, block % exchange.size
    if exchange[a] != PAPER:
        return
    for k0 in range(g * LANES, clients, groups * LANES):
        k, first, hears = k0 + lane, 0, False
        if k < clients and event[r, turn, k] & LOST_DOWN == 0:
            hears = takes_part(event, picked, picks[a], r, turn, k)
            if hears:
                first = start_of(down, a, k, n, features)
        bits = votes(hears)
        while bits:
            b = cuda.ffs(bits) - 1
            bits = int32(bits & (bits - 1))
            row = (block * clients + k0 + b) * features
            _hear(local, row, shared, block, from_lane(first, b), down[a, 0], heard, lane)


@cuda.jit
def send(
    n: Any, turn: Any, groups: Any, event: Any, picked: Any, down: Any, heard: Any,
    up: Any, picks: Any, max_age: Any, exchange: Any, age_index: Any, base: Any, arriving: Any,
    shared: Any, local: Any, sums: Any, holders: Any, counts: Any, answers: Any, contacts: Any,
) -> None:  # fmt: skip
    """Sum what the clients of a warp send at tick n, and answer those who are answered now."""
    lane, g = cuda.threadIdx.x % LANES, cuda.grid(1) // LANES
    clients, features, block, g = event.shape[2], shared.shape[1], g // groups, g % groups
    if block >= shared.shape[0]:
        return
    r, a = block // exchange.size, block % exchange.size
    way, limit, met, ring = exchange[a], max_age[a], 0, answers.shape[1]
    for k0 in range(g * LANES, clients, groups * LANES):
        k, what, contact, answered = k0 + lane, 0, False, False
        first, sent, cell = 0, 0, -1
        if k < clients:
            what = event[r, turn, k]
            contact = takes_part(event, picked, picks[a], r, turn, k)
            if way == LIVE and answers[block, n % ring, k]:
                answers[block, n % ring, k] = 0
                answered = True
        if contact:
            delay, heard_now = what >> DELAY_SHIFT, what & LOST_DOWN == 0
            sent = start_of(up, a, k, n, features)
            if what & LOST_UP == 0 and delay <= limit:
                i = age_index[delay]
                cell = arriving[i] - 1  # the cell whose messages have just arrived
                if cell < base[i]:
                    cell = base[i] + delay
                if way == LIVE and heard_now:
                    if delay == 0:
                        answered = True
                    else:
                        answers[block, (n + delay) % ring, k] = 1
            answered = answered or (way == SINGLE and heard_now)
        if answered:
            first = start_of(down, a, k, n, features)
        met += cuda.popc(votes(contact))
        bits = votes(cell >= 0)
        while bits:
            b = cuda.ffs(bits) - 1
            bits = int32(bits & (bits - 1))
            row, cell_b, sent_b = block * clients + k0 + b, from_lane(cell, b), from_lane(sent, b)
            if lane == 0:
                # Whole numbers may be added in any order.
                cuda.atomic.add(counts, (block, g, cell_b), 1)
            for i in range(lane, up[a, 0], LANES):
                j = sent_b + i
                j = j - features if j >= features else j
                sums[block, g, cell_b, j] += local[row * features + j]
                cuda.atomic.add(holders, (block, g, cell_b, j), 1)
        bits = votes(answered)
        while bits:
            b = cuda.ffs(bits) - 1
            bits = int32(bits & (bits - 1))
            row = (block * clients + k0 + b) * features
            _hear(local, row, shared, block, from_lane(first, b), down[a, 0], heard, lane)
    if lane == 0:
        contacts[block, g] += met


@cuda.jit
def fill(start: Any, local: Any, rows: Any, begin: Any, end: Any) -> None:
    """Let local models begin with the first model of their world, which has `rows` of them."""
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
    """Move the servers' models: each coordinate by the newest messages that hold it."""
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
    """Let the next cell of every age have its turn."""
    for i in range(cuda.threadIdx.x, base.size, cuda.blockDim.x):
        turn = arriving[i] + 1
        arriving[i] = turn if turn < base[i] + period[i] else base[i]
