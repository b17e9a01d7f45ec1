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
from paofed.simulate.engines.gpu.lanes import (
    LANES,
    SIMULATED,
    bounded,
    from_lane,
    inlined,
    meet,
    votes,
    without_lowest,
)
from paofed.simulate.engines.gpu.nature import (
    AVAILABLE,
    CHOSEN,
    DELAY_SHIFT,
    HAS_DATA,
    LOST_DOWN,
    LOST_UP,
)
from paofed.simulate.engines.gpu.steps import ModelShape, hear, start_of, steps_of

# Threads of a block that learns, and such blocks on a multiprocessor: many loads must be under way
# at a time.
THREADS, BLOCKS = (2 if SIMULATED else 128), 6


def _room(shape: ModelShape) -> int:
    """Return how many numbers a coordinate's part of the map takes: four are loaded at a time."""
    return -(-(shape.inputs + 1) // 4) * 4


def map_bytes(shape: ModelShape) -> int:
    """Return the bytes of a block's memory that the map needs."""
    return shape.padded * _room(shape) * shape.size


def sample_bytes(shape: ModelShape) -> int:
    """Return the bytes of a block's memory in which a kernel that learns keeps samples."""
    return THREADS * (shape.inputs + 1) * shape.size


@inlined
def takes_part(what: Any, picked: Any, row: Any, r: Any, turn: Any, k: Any) -> Any:
    """Whether client k, whose event is `what`, has a contact.

    `row` is the algorithm's index among those that pick, or -1.
    """
    there = what & AVAILABLE != 0
    if there and row >= 0:
        there = picked[row, r, turn, k] & CHOSEN != 0
    return there


@cache
def learning(shape: ModelShape) -> Any:
    """Make the kernel of a shape in which clients learn: nearly all memory traffic is in it."""
    inputs, each, real = shape.inputs, shape.each, shape.real
    numbers = inputs + 1  # of a sample, and of a coordinate's part of the map
    lanes, at_once, shift = shape.lanes, shape.at_once, shape.lanes.bit_length() - 1
    room, looked_at, stride = _room(shape), THREADS * numbers, shape.padded
    take_map, mapped, lms, load, store = steps_of(shape, padded=True)

    @bounded(THREADS, BLOCKS)
    def learn(
        turn: Any, groups: Any, sample: Any, event: Any, picked: Any, frequencies: Any,
        phases: Any, low: Any, high: Any, learns_away: Any, picks: Any, mu: Any, local: Any,
    ) -> None:  # fmt: skip
        """Let the clients of a warp learn at the turn-th tick that was drawn."""
        # The map is in a block's memory, which leaves registers for more warps.
        mine = cuda.shared.array(0, real)
        w = cuda.local.array(each, real)
        following = cuda.local.array(each, real)
        z = cuda.local.array(each, real)
        samples = cuda.shared.array(looked_at, real)
        ahead = cuda.local.array(numbers, real)

        lane, g = int32(cuda.threadIdx.x & (LANES - 1)), cuda.grid(1) // LANES
        part, own = int32(lane >> shift), int32(lane & (lanes - 1))
        first_sample = int32(numbers * (cuda.threadIdx.x - lane))
        clients, block, g = event.shape[2], g // groups, g % groups
        if block >= event.shape[0] * mu.size:
            return
        r, a = block // mu.size, block % mu.size
        step, learns = mu[a], learns_away[a] != 0
        take_map(r, own, frequencies, phases, mine, own * room, lanes * room)
        cuda.syncthreads()
        k = min(g * LANES + lane, clients - 1)
        now = event[r, turn, k]
        for i in range(numbers):
            ahead[i] = sample[r, turn, i, k]
        for k0 in range(g * LANES, clients, groups * LANES):
            k = k0 + lane
            busy = k < clients and now & HAS_DATA != 0
            if busy and not learns:
                busy = takes_part(now, picked, picks[a], r, turn, k)
            meet()  # with the lanes that still read the samples before
            for i in range(numbers):
                samples[numbers * cuda.threadIdx.x + i] = ahead[i]
            # The next samples are loaded meanwhile, whether or not there is a next client: a branch
            # would have to wait.
            k = uint64(min(k0 + groups * LANES + lane, clients - 1))
            now = event[uint64(r), uint64(turn), k]
            for i in range(numbers):
                ahead[i] = sample[uint64(r), uint64(turn), uint64(i), k]
            bits, rows = votes(busy), block * clients + k0
            left = without_lowest(bits, part, at_once - 1)
            b = max(cuda.ffs(left if left else bits) - 1, 0)
            load(local, (rows + b) * stride, own, following)
            while bits:  # as many clients at a time as the warp has room for
                learns_now, whose = left != 0, b
                for e in range(each):
                    w[e] = following[e]
                bits = without_lowest(bits, at_once, at_once)
                left = without_lowest(bits, part, at_once - 1)
                b = cuda.ffs(left) - 1 if left else whose
                load(local, (rows + b) * stride, own, following)
                meet()  # or else the compiler would load the whole map into registers
                place = int32(first_sample + numbers * whose)
                mapped(samples, place, own, mine, own * room, lanes * room, r, low, high, z)
                lms(w, z, samples[uint64(place + inputs)], step)
                if learns_now:
                    store(local, (rows + whose) * stride, own, w)

    return learn


@cuda.jit
def receive(
    n: Any, turn: Any, groups: Any, event: Any, picked: Any, down: Any, heard: Any,
    picks: Any, exchange: Any, shared: Any, stride: Any, local: Any,
) -> None:  # fmt: skip
    """Let the clients with a contact hear the server before they learn, as in the paper."""
    lane, g = cuda.threadIdx.x % LANES, cuda.grid(1) // LANES
    clients, features, block, g = event.shape[2], shared.shape[1], g // groups, g % groups
    if block >= shared.shape[0]:
        return
    r, a = block // exchange.size, block % exchange.size
    if exchange[a] != PAPER:
        return
    then = event[r, turn, min(g * LANES + lane, clients - 1)]
    for k0 in range(g * LANES, clients, groups * LANES):
        k, what, first, hears = k0 + lane, then, int32(0), False
        then = event[uint64(r), uint64(turn), uint64(min(k + groups * LANES, clients - 1))]
        if k < clients and what & LOST_DOWN == 0:
            hears = takes_part(what, picked, picks[a], r, turn, k)
            if hears:
                first = start_of(down[a, 0], down[a, 1], down[a, 2], k, n, features)
        bits = votes(hears)
        while bits:
            b = cuda.ffs(bits) - 1
            bits = int32(bits & (bits - 1))
            row = (block * clients + k0 + b) * stride
            hear(local, row, shared[block], 0, from_lane(first, b), down[a, 0], heard,
                 features, lane, LANES)  # fmt: skip


@cuda.jit
def send(
    n: Any, turn: Any, groups: Any, event: Any, picked: Any, down: Any, heard: Any,
    up: Any, picks: Any, max_age: Any, exchange: Any, age_index: Any, base: Any, arriving: Any,
    shared: Any, stride: Any, local: Any, sums: Any, holders: Any, counts: Any, answers: Any,
    contacts: Any,
) -> None:  # fmt: skip
    """Sum what the clients of a warp send at tick n, and answer those who are answered now."""
    lane, g = cuda.threadIdx.x % LANES, cuda.grid(1) // LANES
    clients, features, block, g = event.shape[2], shared.shape[1], g // groups, g % groups
    if block >= shared.shape[0]:
        return
    r, a = block // exchange.size, block % exchange.size
    way, limit, met, ring, width = exchange[a], max_age[a], 0, answers.shape[1], up[a, 0]
    then = event[r, turn, min(g * LANES + lane, clients - 1)]
    for k0 in range(g * LANES, clients, groups * LANES):
        k, what, contact, answered = k0 + lane, then, False, False
        then = event[uint64(r), uint64(turn), uint64(min(k + groups * LANES, clients - 1))]
        first, sent, cell = int32(0), int32(0), -1
        if k < clients:
            contact = takes_part(what, picked, picks[a], r, turn, k)
            if way == LIVE and answers[block, n % ring, k]:
                answers[block, n % ring, k] = 0
                answered = True
        if contact:
            delay, heard_now = what >> DELAY_SHIFT, what & LOST_DOWN == 0
            sent = start_of(up[a, 0], up[a, 1], up[a, 2], k, n, features)
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
            first = start_of(down[a, 0], down[a, 1], down[a, 2], k, n, features)
        met += cuda.popc(votes(contact))
        bits = votes(cell >= 0)
        while bits:
            b = cuda.ffs(bits) - 1
            bits = int32(bits & (bits - 1))
            row = (block * clients + k0 + b) * stride
            cell_b, sent_b = from_lane(cell, b), from_lane(sent, b)
            meet()  # another lane may have added to the same sum for the contact before
            if lane == 0:
                # Whole numbers may be added in any order.
                cuda.atomic.add(counts, (block, g, cell_b), 1)
            for i in range(lane, width, LANES):
                j = int32(sent_b + i)
                j = int32(j - features if j >= features else j)
                sums[block, g, cell_b, j] += local[row + j]
                cuda.atomic.add(holders, (block, g, cell_b, j), 1)
        bits = votes(answered)
        while bits:
            b = cuda.ffs(bits) - 1
            bits = int32(bits & (bits - 1))
            row = (block * clients + k0 + b) * stride
            hear(local, row, shared[block], 0, from_lane(first, b), down[a, 0], heard,
                 features, lane, LANES)  # fmt: skip
    if lane == 0:
        contacts[block, g] += met


@cuda.jit
def fill(start: Any, rows: Any, stride: Any, local: Any) -> None:
    """Let local models begin with the first model of their world, which has `rows` of them."""
    for i in range(cuda.grid(1), local.size, cuda.gridsize(1)):
        j = i % stride
        local[i] = start[i // stride // rows, j] if j < start.shape[1] else 0.0


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
            for g in range(begin, end):
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
          shared: Any, models: Any, point: Any, base: Any, period: Any, arriving: Any,
          ) -> None:  # fmt: skip
    """Move the servers' models: each coordinate by the newest messages that hold it.

    Then the next cell of every age has its turn.
    """
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
    for i in range(cuda.grid(1), base.size, cuda.gridsize(1)):
        turn = arriving[i] + 1
        arriving[i] = turn if turn < base[i] + period[i] else base[i]
