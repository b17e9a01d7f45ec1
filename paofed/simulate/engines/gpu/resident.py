"""Whole runs with all local models in a multiprocessor's own memory: a block for each.

A block takes one algorithm through all ticks of one run. Some of its warps learn, each for clients
of its own, and some serve, a thread for each coordinate. In the first half of a tick those clients
learn whose models the server needs now; in the second the servers gather what was sent and move
the server's model, while all the others learn. Sums are made in the same order every time.
"""

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, float64, int32, int64, uint64

from paofed.simulate.engines.fast.kernels import LIVE, PAPER, SINGLE
from paofed.simulate.engines.gpu.lanes import LANES, SIMULATED, bounded, from_lane, inlined, meet, votes
from paofed.simulate.engines.gpu.nature import (
    AVAILABLE,
    DELAY_SHIFT,
    HAS_DATA,
    LOST_DOWN,
    LOST_UP,
)
from paofed.simulate.engines.gpu.steps import Shape, holds, steps_of

_LEARNERS, _MOST_SERVERS = (2, 3) if SIMULATED else (12, 7)  # warps
_ACROSS = _LEARNERS * LANES  # clients of which the learners look at one each
_RECORD = 4  # numbers: event, first coordinate of both windows, cell
_WORD = 0xFFFFFFFF
# What an algorithm does, in a block's memory and read anew in every half of a tick: else the compiler
# would keep whatever follows from it in registers, of which there are too few.
_WAY, _LIMIT, _COVERAGE, _LEARNS, _ROW, _HEARD, _HEARS, _SENDS, _RULES = 0, 1, 2, 3, 4, 5, 6, 9, 12


class Layout(NamedTuple):
    """Where things stand in a block's memory, each in units of its own size."""

    server: int  # D reals; before it in float64 the server's model, as it is and as it may be,
    # and the weights by age
    local: int  # K rows of D reals
    contact: int  # words, 32 bits each: who has a contact
    record: int  # K times what was sent, and the windows: see _RECORD
    arriving: int  # which cell of every age arrives now
    base: int  # the first cell of every age, and the end
    index: int  # the place of an age in the list of ages
    count: int  # messages in every cell
    met: int  # contacts until now
    rules: int  # the algorithm's numbers: see _RULES
    size: int  # in bytes


def servers_of(shape: Shape) -> int:
    """How many warps serve."""
    return min(-(-shape.features // LANES), _MOST_SERVERS)


def threads_of(shape: Shape) -> int:
    """How many threads a block has."""
    return LANES * (servers_of(shape) + _LEARNERS)


def words_of(clients: int) -> int:
    """How many words it takes to name clients: one for each warp that learns, and round."""
    return -(-clients // _ACROSS) * _LEARNERS


def layout_of(shape: Shape, clients: int, ages: int, longest: int, cells: int) -> Layout:
    """Lay out a block's memory."""
    real = 4 if shape.precision == "float32" else 8
    server = 16 * shape.features + 8 * ages
    local = server + real * shape.features
    contact = (local + real * shape.features * clients) // 4
    record = contact + words_of(clients)
    arriving = record + _RECORD * clients
    base, index = arriving + ages, arriving + 2 * ages + 1
    count = index + longest + 1
    met = count + cells
    rules = met + 1
    size = 4 * (rules + _RULES)
    words = contact, record, arriving, base, index, count, met, rules
    return Layout(server // real, local // real, *words, size)


@inlined
def _client_of(q: Any, b: Any) -> Any:
    """The client of bit b of word q."""
    return q % _LEARNERS + _LEARNERS * (b + LANES * (q // _LEARNERS))


@inlined
def _start_of(whole: Any, windows: Any, k: Any, n: Any, features: Any) -> Any:
    """The first coordinate of a window, whose numbers are in a block's memory."""
    apart, ahead = int64(whole[uint64(windows + 1)]), int64(whole[uint64(windows + 2)])
    return whole[uint64(windows)] * (n + ahead + apart * k) % features


@cache
def resident(shape: Shape) -> Any:
    """Make the kernel of a shape."""
    features, inputs, each, real = shape.features, shape.inputs, shape.each, shape.real
    numbers, mapping = inputs + 1, (inputs + 1) * each  # of a sample, of a lane's part of the map
    servers, threads = servers_of(shape), threads_of(shape)
    serving = servers * LANES
    take_map, mapped, lms, load, store = steps_of(shape)

    @bounded(threads)
    def play(
        sample: Any, event: Any, picked: Any, frequencies: Any, phases: Any, low: Any, high: Any,
        start: Any, down: Any, heard: Any, up: Any, learns_away: Any, picks: Any, mu: Any,
        max_age: Any, by_coverage: Any, exchange: Any, weight: Any, age_index: Any, base: Any,
        period: Any, sums: Any, holders: Any, answers: Any, every: Any, models: Any, contacts: Any,
        final: Any, server_at: Any, local_at: Any, contact_at: Any, record_at: Any,
        arriving_at: Any, base_at: Any, index_at: Any, count_at: Any, met_at: Any, rules_at: Any,
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
        bu, r, a = uint64(block), block // mu.size, block % mu.size
        ticks, clients = event.shape[1], event.shape[2]
        tid = cuda.threadIdx.x
        lane, learner = tid % LANES, tid // LANES - servers
        rounds = (clients + _ACROSS - 1) // _ACROSS
        words, ages, ring = rounds * _LEARNERS, base.size, answers.shape[1]
        way, step, row = exchange[a], mu[a], picks[a]

        for j in range(tid, features, threads):
            wide[j] = start[r, j]
            near[server_at + j] = start[r, j]
            for cell in range(sums.shape[1]):
                sums[block, cell, j] = 0.0
                holders[block, cell, j] = 0
        for cell in range(tid, sums.shape[1], threads):
            whole[count_at + cell] = 0
        for i in range(tid, clients * features, threads):
            near[local_at + i] = start[r, i % features]
        for i in range(tid, ages, threads):
            whole[arriving_at + i] = base[i]
            whole[base_at + i] = base[i]
            whole[base_at + i + 1] = base[i] + period[i]
            wide[2 * features + i] = weight[a, i]
        for age in range(tid, age_index.size, threads):
            whole[index_at + age] = age_index[age]
        if tid == 0:
            whole[met_at] = 0
            whole[rules_at + _WAY], whole[rules_at + _LIMIT] = way, max_age[a]
            whole[rules_at + _COVERAGE] = by_coverage[a]
            whole[rules_at + _LEARNS], whole[rules_at + _ROW] = learns_away[a], row
            whole[rules_at + _HEARD] = heard
            for i in range(3):
                whole[rules_at + _HEARS + i], whole[rules_at + _SENDS + i] = down[a, i], up[a, i]
        if way == LIVE:
            for slot in range(ring):
                for q in range(tid, words, threads):
                    answers[block, slot, q] = 0
        take_map(r, lane, frequencies, phases, mine)
        k, now, point, until = learner + _LEARNERS * lane, 0, 0, every
        if learner >= 0 and k < clients:
            now = event[r, 0, k]
            for i in range(numbers):
                ahead[i] = sample[r, 0, i, k]
            if row >= 0 and not picked[row, r, 0, k]:
                now = now & ~AVAILABLE
        cuda.syncthreads()

        # Warps of each kind have ticks of their own, that registers of the one are not kept by the
        # other; they meet after every half.
        if learner >= 0:
            for n in range(ticks):
                for half in range(2):
                    way, row = whole[uint64(rules_at + _WAY)], whole[uint64(rules_at + _ROW)]
                    learns = whole[uint64(rules_at + _LEARNS)] != 0
                    for c in range(rounds):
                        what, k = now, learner + _LEARNERS * (lane + LANES * c)
                        for i in range(numbers):
                            here[i] = ahead[i]
                        # What comes next is on its way while these clients learn.
                        n_next, c_next = n, c + 1
                        if c_next == rounds:
                            n_next, c_next = n + half, 0
                        k_next = learner + _LEARNERS * (lane + LANES * c_next)
                        now = 0
                        if n_next < ticks and k_next < clients:
                            ru, nu, ku = uint64(r), uint64(n_next), uint64(k_next)
                            now = event[ru, nu, ku]
                            for i in range(numbers):
                                ahead[i] = sample[ru, nu, uint64(i), ku]
                            if row >= 0 and not picked[row, r, n_next, k_next]:
                                now = now & ~AVAILABLE

                        q = c * _LEARNERS + learner
                        contact = what & AVAILABLE != 0
                        early = contact
                        if way == LIVE:
                            word = int64(answers[block, n % ring, q])
                            early = early or (word >> lane) & 1 != 0
                        first = 0
                        if half == 0:
                            word = votes(contact)
                            if contact:
                                first = _start_of(whole, rules_at + _HEARS, k, n, features)
                                sent = _start_of(whole, rules_at + _SENDS, k, n, features)
                                limit = whole[uint64(rules_at + _LIMIT)]
                                delay, record = what >> DELAY_SHIFT, record_at + _RECORD * k
                                whole[uint64(record)] = what
                                whole[uint64(record + 1)] = sent
                                whole[uint64(record + 2)] = first
                                if 0 < delay <= limit:  # to the place whose turn is just over
                                    i = whole[uint64(index_at + delay)]
                                    begin = whole[uint64(base_at + i)]
                                    cell = whole[uint64(arriving_at + i)] - 1
                                    cell = cell if cell >= begin else begin + delay
                                    whole[uint64(record + 3)] = cell
                            if lane == 0:
                                whole[uint64(contact_at + q)] = word
                                if word:
                                    cuda.atomic.add(whole, met_at, cuda.popc(word))
                        bits = votes(
                            what & HAS_DATA != 0
                            and (learns or contact)
                            and (early if half == 0 else not early)
                        )
                        while bits:
                            b = cuda.ffs(bits) - 1
                            bits = bits & (bits - 1)
                            begin = local_at + _client_of(q, b) * features
                            if half == 0 and way == PAPER:
                                if from_lane(what, b) & LOST_DOWN == 0:
                                    first_b = from_lane(first, b)
                                    hears = whole[uint64(rules_at + _HEARS)]
                                    heard = whole[uint64(rules_at + _HEARD)]
                                    for i in range(lane, hears, LANES):
                                        j = first_b + i
                                        j = j - features if j >= features else j
                                        if j < heard:
                                            near[uint64(begin + j)] = near[uint64(server_at + j)]
                                    meet()
                            load(near, begin, lane, w)
                            mapped(here, lane, b, mine, r, low, high, z)
                            lms(w, z, from_lane(here[inputs], b), step)
                            store(near, begin, lane, w)
                    cuda.syncthreads()
        else:
            for n in range(ticks):
                until -= 1
                kept = until == 0 or n == ticks - 1
                way = whole[uint64(rules_at + _WAY)]
                coverage = whole[uint64(rules_at + _COVERAGE)] != 0
                # What was late is complete by now: all of it was sent before this tick.
                for j0 in range(tid - lane, features, serving):
                    j = j0 + lane
                    ju, old = uint64(j), wide[uint64(j)] if j < features else 0.0
                    moved, settled = old, False
                    for i0 in range(1, ages, LANES):
                        cell, count = 0, 0
                        if i0 + lane < ages:
                            cell = whole[uint64(arriving_at + i0 + lane)]
                            count = whole[uint64(count_at + cell)]
                        busy = votes(count != 0)
                        while busy:
                            b = cuda.ffs(busy) - 1
                            busy = busy & (busy - 1)
                            cu, count_b = uint64(from_lane(cell, b)), from_lane(count, b)
                            if j < features:
                                held, total = holders[bu, cu, ju], sums[bu, cu, ju]
                                if held:
                                    if not settled:
                                        settled = True
                                        divisor = held if coverage else count_b
                                        pull = wide[uint64(2 * features + i0 + b)] / divisor
                                        moved = old + pull * (total - held * old)
                                    sums[bu, cu, ju] = 0.0
                                    holders[bu, cu, ju] = 0
                    if j < features:
                        wide[uint64(features + j)] = moved
                if way == LIVE:
                    for q in range(tid, words, serving):  # answered at the tick before
                        answers[block, (n + ring - 1) % ring, q] = 0
                cuda.syncthreads()
                way, limit = whole[uint64(rules_at + _WAY)], whole[uint64(rules_at + _LIMIT)]
                sends, hears = whole[uint64(rules_at + _SENDS)], whole[uint64(rules_at + _HEARS)]
                coverage = whole[uint64(rules_at + _COVERAGE)] != 0
                heard = whole[uint64(rules_at + _HEARD)]
                for j0 in range(tid - lane, features, serving):
                    j = j0 + lane
                    inside, got, old = j < features, near[uint64(server_at)], 0.0
                    if inside:
                        got, old = near[uint64(server_at + j)], wide[uint64(j)]
                    total, held, count = 0.0, 0, 0
                    for q0 in range(0, words, LANES):
                        word = 0
                        if q0 + lane < words:
                            word = whole[uint64(contact_at + q0 + lane)]
                        busy = votes(word != 0)
                        while busy:
                            q = cuda.ffs(busy) - 1
                            busy = busy & (busy - 1)
                            bits = int64(from_lane(word, q)) & _WORD
                            while bits:
                                b = cuda.ffs(bits) - 1
                                bits = bits & (bits - 1)
                                k = _client_of(q0 + q, b)
                                record = record_at + _RECORD * k
                                what = whole[uint64(record)]
                                sent = whole[uint64(record + 1)]
                                place = uint64(local_at + k * features + j)
                                delay, answered = what >> DELAY_SHIFT, way == SINGLE
                                if what & LOST_UP == 0 and delay <= limit:
                                    own = inside and holds(j, sent, sends, features)
                                    if delay == 0:
                                        count += 1
                                        if own:
                                            total += near[place]
                                            held += 1
                                        answered = answered or way == LIVE
                                    else:
                                        cu = uint64(whole[uint64(record + 3)])
                                        if own:
                                            # Nobody else adds here, and so nobody waits.
                                            cuda.atomic.add(sums, (bu, cu, uint64(j)), near[place])
                                            cuda.atomic.add(holders, (bu, cu, uint64(j)), 1)
                                        if j == 0:
                                            whole[uint64(count_at) + cu] += 1
                                            if way == LIVE and what & LOST_DOWN == 0:
                                                slot = (n + delay) % ring
                                                answers[block, slot, q0 + q] |= 1 << b
                                if answered and inside and what & LOST_DOWN == 0:
                                    first = whole[uint64(record + 2)]
                                    if j < heard and holds(j, first, hears, features):
                                        near[place] = got
                    if way == LIVE:
                        for q in range(words):
                            bits = int64(answers[block, n % ring, q]) & _WORD
                            while bits:
                                b = cuda.ffs(bits) - 1
                                bits = bits & (bits - 1)
                                k = _client_of(q, b)
                                first = _start_of(whole, rules_at + _HEARS, k, n, features)
                                if inside and j < heard and holds(j, first, hears, features):
                                    near[uint64(local_at + k * features + j)] = got
                    if inside:
                        fresh = wide[uint64(features + j)]
                        if held:
                            divisor = held if coverage else count
                            fresh = old + wide[uint64(2 * features)] / divisor * (total - held * old)
                        wide[uint64(j)] = fresh
                        near[uint64(server_at + j)] = fresh
                        if kept:
                            models[block, point, j] = fresh
                for i in range(1 + tid, ages, serving):
                    turn = whole[uint64(arriving_at + i)]
                    begin, beyond = whole[uint64(base_at + i)], whole[uint64(base_at + i + 1)]
                    whole[uint64(count_at + turn)] = 0
                    whole[uint64(arriving_at + i)] = turn + 1 if turn + 1 < beyond else begin
                if kept and tid == 0:
                    contacts[block, point] = whole[uint64(met_at)]
                if kept:
                    point += 1
                    until = every
                cuda.syncthreads()
        for j in range(tid, features, threads):
            final[block, j] = wide[j]

    return play
