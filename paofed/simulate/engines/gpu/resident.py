"""Whole runs with all local models in a multiprocessor's own memory: a block for each.

A block takes one algorithm through all ticks of one run. Some of its warps learn, each for clients
of its own, and some serve, with a thread for each coordinate. In the first half of a tick, those
clients learn whose models the server needs now. In the second half, the serving warps gather what
was sent and move the server's model, while all other clients learn. Sums are made in the same order
every time.
"""

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, float64, int32, int64, uint64

from paofed.simulate.engines.fast.kernels import LIVE, PAPER, SINGLE
from paofed.simulate.engines.gpu.lanes import (
    LANES,
    SIMULATED,
    bounded,
    from_lane,
    inlined,
    meet,
    votes,
)
from paofed.simulate.engines.gpu.nature import (
    AVAILABLE,
    DELAY_SHIFT,
    HAS_DATA,
    LOST_DOWN,
    LOST_UP,
)
from paofed.simulate.engines.gpu.steps import ModelShape, holds, steps_of

# Warps that learn, and the most warps that serve.
_LEARNERS, _MOST_SERVERS = (2, 3) if SIMULATED else (9, 7)
# How many clients the learning warps look at together, one for each lane.
_ACROSS = _LEARNERS * LANES
# The numbers of a contact: where the client's row begins, the first coordinates of what it sends
# and of what it hears after that (or -1), and the cell of its message, or one of these.
_RECORD = 4
_NOW, _NEVER = -1, -2
_WORD = 0xFFFFFFFF
# The algorithm's numbers are in a block's memory, and read anew in every half of a tick: otherwise
# the compiler would keep everything that follows from them in registers, of which there are too
# few.
_WAY, _LIMIT, _COVERAGE, _LEARNS, _ROW, _HEARD, _HEARS, _SENDS, _RULES = 0, 1, 2, 3, 4, 5, 6, 9, 12


class BlockMemory(NamedTuple):
    """Where things stand in a block's memory, each in units of its own size."""

    server: int  # D reals; before it in float64 the server's model, as it is and as it may be,
    # and the weights by age
    local: int  # K rows of D reals
    contact: int  # how many contacts each learning warp has, in each round
    record: int  # the numbers of every contact, warp by warp: see _RECORD
    arriving: int  # which cell of every age arrives now
    base: int  # the first cell of every age, and the end of the last
    age: int  # the index of every age in the list of ages
    messages: int  # how many messages every cell has
    met: int  # how many contacts there were until now
    rules: int  # the algorithm's numbers: see _RULES
    size: int  # in bytes


def servers_of(shape: ModelShape) -> int:
    """Return how many warps serve."""
    return min(-(-shape.features // LANES), _MOST_SERVERS)


def threads_of(shape: ModelShape) -> int:
    """Return how many threads a block has."""
    return LANES * (servers_of(shape) + _LEARNERS)


def rounds_of(clients: int) -> int:
    """Return in how many rounds the lanes of the learning warps look at all clients."""
    return -(-clients // _ACROSS)


def words_of(clients: int) -> int:
    """Return how many words of bits name all clients: one for each learning warp and round."""
    return rounds_of(clients) * _LEARNERS


def layout_of(shape: ModelShape, clients: int, ages: int, longest: int, cells: int) -> BlockMemory:
    """Lay out a block's memory."""
    real = 4 if shape.precision == "float32" else 8
    server = 16 * shape.features + 8 * ages
    local = server + real * shape.features
    contact = (local + real * shape.features * clients) // 4
    record = contact + words_of(clients)
    arriving = record + _RECORD * LANES * words_of(clients)
    base, index = arriving + ages, arriving + 2 * ages + 1
    count = index + longest + 1
    met = count + cells
    rules = met + 1
    size = 4 * (rules + _RULES)
    words = contact, record, arriving, base, index, count, met, rules
    return BlockMemory(server // real, local // real, *words, size)


@inlined
def _client_of(q: Any, b: Any) -> Any:
    """Return the client of bit b of word q."""
    return q % _LEARNERS + _LEARNERS * (b + LANES * (q // _LEARNERS))


@inlined
def _meets(j: Any, start: Any, width: Any, features: Any) -> Any:
    """Whether the window from `start` on holds any of a warp's coordinates, which begin at j."""
    return holds(j, start, width, features) or holds(start, j, LANES, features)


@inlined
def _start_of(whole: Any, windows: Any, k: Any, n: Any, features: Any) -> Any:
    """Return the first coordinate of a window, whose numbers are in a block's memory."""
    apart, ahead = int64(whole[uint64(windows + 1)]), int64(whole[uint64(windows + 2)])
    return whole[uint64(windows)] * (n + ahead + apart * k) % features


@inlined
def _hear(
    near: Any, row: Any, server: Any, first: Any, width: Any, heard: Any, features: Any, lane: Any
) -> None:
    """Overwrite a window of a client's row with the server's values."""
    for i in range(lane, width, LANES):
        j = first + i
        j = j - features if j >= features else j
        if j < heard:
            near[uint64(row + j)] = near[uint64(server + j)]


@cache
def resident(shape: ModelShape, rounds: int, picks_some: bool, live: bool) -> Any:  # noqa: FBT001
    """Make the kernel of a shape for `rounds` rounds.

    `picks_some` and `live` leave out what no algorithm needs.
    """
    features, inputs, each, real = shape.features, shape.inputs, shape.each, shape.real
    # Numbers of a sample, and of a lane's part of the map.
    numbers, mapping = inputs + 1, (inputs + 1) * each
    servers, threads = servers_of(shape), threads_of(shape)
    serving = servers * LANES
    take_map, mapped, lms_pair, load, store = steps_of(shape)

    @bounded(threads)
    def play(
        clients: Any, sample: Any, event: Any, picked: Any, frequencies: Any, phases: Any,
        low: Any, high: Any, start: Any, down: Any, heard: Any, up: Any, learns_away: Any,
        picks: Any, mu: Any, max_age: Any, by_coverage: Any, exchange: Any, weight: Any,
        age_index: Any, base: Any,
        period: Any, sums: Any, holders: Any, answers: Any, every: Any, models: Any, contacts: Any,
        final: Any, server_at: Any, local_at: Any, contact_at: Any, record_at: Any,
        arriving_at: Any, base_at: Any, index_at: Any, count_at: Any, met_at: Any, rules_at: Any,
    ) -> None:  # fmt: skip
        """Run all ticks of one run with one algorithm; keep the models of the curve's points."""
        wide = cuda.shared.array(0, float64)
        near = cuda.shared.array(0, real)
        whole = cuda.shared.array(0, int32)
        mine = cuda.local.array(mapping, real)
        w = cuda.local.array(each, real)
        w2 = cuda.local.array(each, real)
        z = cuda.local.array(each, real)
        z2 = cuda.local.array(each, real)
        here = cuda.local.array(numbers, real)
        ahead = cuda.local.array(numbers, real)

        block = cuda.blockIdx.x
        bu, r, a = uint64(block), block // mu.size, block % mu.size
        ticks = event.size // (clients * (models.shape[0] // mu.size))
        tid = cuda.threadIdx.x
        lane, learner = tid % LANES, tid // LANES - servers
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
        if live:
            for slot in range(ring):
                for q in range(tid, words, threads):
                    answers[block, slot, q] = 0
        take_map(r, lane, frequencies, phases, mine)
        point, until, now, what = 0, every, int32(0), int32(0)
        k = min(max(learner, 0) + _LEARNERS * lane, clients - 1)
        now = event[r * ticks * clients + k]
        for i in range(numbers):
            ahead[i] = sample[(r * ticks * numbers + i) * clients + k]
        if picks_some and row >= 0:
            now = int32(now & picked[row, r * ticks * clients + k])
        cuda.syncthreads()

        # Learning and serving warps have separate loops over the ticks, so that the one does not
        # hold registers of the other; they meet after every half.
        if learner >= 0:
            for n in range(ticks):
                for half in range(2):
                    way = whole[uint64(rules_at + _WAY)]
                    learns = whole[uint64(rules_at + _LEARNS)] != 0
                    for c in range(rounds):
                        k = learner + _LEARNERS * (lane + LANES * c)
                        if half == 0 or rounds > 1:
                            what = int32(now if k < clients else 0)
                            for i in range(numbers):
                                here[i] = ahead[i]
                            # The next samples are loaded while these clients learn, whether or not
                            # there is a next client: a branch would have to wait.
                            n_next, c_next = n, c + 1
                            if c_next == rounds:
                                n_next, c_next = n + (half if rounds > 1 else 1), 0
                            k_next = learner + _LEARNERS * (lane + LANES * c_next)
                            k_next, tick = min(k_next, clients - 1), min(n_next, ticks - 1)
                            tick += r * ticks
                            now = event[uint64(tick * clients + k_next)]
                            for i in range(numbers):
                                ahead[i] = sample[uint64((tick * numbers + i) * clients + k_next)]
                            if picks_some:
                                row = whole[uint64(rules_at + _ROW)]
                                if row >= 0:
                                    now = int32(now & picked[row, tick * clients + k_next])

                        q = c * _LEARNERS + learner
                        contact = what & AVAILABLE != 0
                        early = contact
                        if live:
                            word = int64(answers[block, n % ring, q])
                            early = early or (word >> lane) & 1 != 0
                        first = 0
                        if half == 0:
                            word = votes(contact)
                            if lane == 0:
                                whole[uint64(contact_at + q)] = cuda.popc(word)
                                if word:
                                    cuda.atomic.add(whole, met_at, cuda.popc(word))
                            if contact:
                                first = _start_of(whole, rules_at + _HEARS, k, n, features)
                                sent = _start_of(whole, rules_at + _SENDS, k, n, features)
                                delay, cell = what >> DELAY_SHIFT, _NEVER
                                if (
                                    what & LOST_UP == 0
                                    and delay <= whole[uint64(rules_at + _LIMIT)]
                                ):
                                    cell = _NOW
                                    if delay:  # in the cell whose messages have just arrived
                                        i = whole[uint64(index_at + delay)]
                                        cell = whole[uint64(arriving_at + i)] - 1
                                        if cell < whole[uint64(base_at + i)]:
                                            cell += delay + 1
                                answered = what & LOST_DOWN == 0 and (
                                    way == SINGLE or (way == LIVE and cell == _NOW)
                                )
                                if live and way == LIVE and what & LOST_DOWN == 0 and cell >= 0:
                                    slot = (n + delay) % ring
                                    cuda.atomic.or_(answers, (block, slot, q), 1 << lane)
                                before = cuda.popc(int64(word) & ((1 << lane) - 1))
                                record = record_at + _RECORD * (q * LANES + before)
                                whole[uint64(record)] = local_at + k * features
                                whole[uint64(record + 1)] = sent
                                whole[uint64(record + 2)] = first if answered else -1
                                whole[uint64(record + 3)] = cell
                        bits = votes(
                            what & HAS_DATA != 0
                            and (learns or contact)
                            and (early if half == 0 else not early)
                        )
                        rows = local_at + (learner + _ACROSS * c) * features
                        while bits:  # two clients at a time, since each waits most of the time
                            b = cuda.ffs(bits) - 1
                            bits = int32(bits & (bits - 1))
                            two = bits != 0
                            b2 = cuda.ffs(bits) - 1 if two else b
                            bits = int32(bits & (bits - 1))
                            begin = rows + _LEARNERS * features * b
                            begin2 = rows + _LEARNERS * features * b2
                            if half == 0 and way == PAPER:
                                hears = whole[uint64(rules_at + _HEARS)]
                                heard = whole[uint64(rules_at + _HEARD)]
                                if from_lane(what, b) & LOST_DOWN == 0:
                                    _hear(near, begin, server_at, from_lane(first, b), hears,
                                          heard, features, lane)  # fmt: skip
                                if from_lane(what, b2) & LOST_DOWN == 0:
                                    _hear(near, begin2, server_at, from_lane(first, b2), hears,
                                          heard, features, lane)  # fmt: skip
                                meet()
                            load(near, begin, lane, w)
                            load(near, begin2, lane, w2)
                            mapped(here, lane, b, mine, r, low, high, z)
                            mapped(here, lane, b2, mine, r, low, high, z2)
                            y, y2 = from_lane(here[inputs], b), from_lane(here[inputs], b2)
                            lms_pair(w, z, y, w2, z2, y2, step)
                            store(near, begin, lane, w)
                            if two:
                                store(near, begin2, lane, w2)
                    cuda.syncthreads()
        else:
            for n in range(ticks):
                until -= 1
                kept = until == 0 or n == ticks - 1
                way = whole[uint64(rules_at + _WAY)]
                coverage = whole[uint64(rules_at + _COVERAGE)] != 0
                # Late messages are complete by now: all of them were sent before this tick.
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
                            busy = int32(busy & (busy - 1))
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
                if live:
                    # Clients that were answered at the tick before.
                    for q in range(tid, words, serving):
                        answers[block, (n + ring - 1) % ring, q] = 0
                cuda.syncthreads()
                way = whole[uint64(rules_at + _WAY)]
                sends, hears = whole[uint64(rules_at + _SENDS)], whole[uint64(rules_at + _HEARS)]
                coverage = whole[uint64(rules_at + _COVERAGE)] != 0
                heard = whole[uint64(rules_at + _HEARD)]
                for j0 in range(tid - lane, features, serving):
                    j = j0 + lane
                    inside, got, old = j < features, near[uint64(server_at)], 0.0
                    if inside:
                        got, old = near[uint64(server_at + j)], wide[uint64(j)]
                    total, held, count = 0.0, 0, 0
                    l0, contacts_now = 0, 1
                    while l0 < contacts_now:
                        # Each lane looks at one contact, then all lanes together at those that
                        # matter here.
                        rest, record = l0 + lane, -1
                        for q in range(words):
                            here_q = whole[uint64(contact_at + q)]
                            if 0 <= rest < here_q:
                                record = record_at + _RECORD * (q * LANES + rest)
                            rest -= here_q
                        contacts_now = l0 + lane - rest
                        l0 += LANES
                        row, sent, first, cell = 0, 0, -1, _NEVER
                        if record >= 0:
                            row, sent = whole[uint64(record)], whole[uint64(record + 1)]
                            first, cell = whole[uint64(record + 2)], whole[uint64(record + 3)]
                            if j0 == 0 and cell >= 0:
                                cuda.atomic.add(whole, count_at + cell, 1)
                        count += cuda.popc(votes(cell == _NOW))
                        matters = cell != _NEVER and _meets(j0, sent, sends, features)
                        answered = first >= 0 and _meets(j0, first, hears, features)
                        bits = votes(matters or answered)
                        while bits:
                            b = cuda.ffs(bits) - 1
                            bits = int32(bits & (bits - 1))
                            place, cell_b = from_lane(row, b) + j, from_lane(cell, b)
                            sent_b, first_b = from_lane(sent, b), from_lane(first, b)
                            if inside and cell_b != _NEVER and holds(j, sent_b, sends, features):
                                if cell_b == _NOW:
                                    total += near[uint64(place)]
                                    held += 1
                                else:  # no other thread adds here, so that nobody waits
                                    cu, ju = uint64(cell_b), uint64(j)
                                    cuda.atomic.add(sums, (bu, cu, ju), near[uint64(place)])
                                    cuda.atomic.add(holders, (bu, cu, ju), 1)
                            hears_now = inside and first_b >= 0 and j < heard
                            if hears_now and holds(j, first_b, hears, features):
                                near[uint64(place)] = got
                    if live:
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
                            fresh = old + wide[uint64(2 * features)] / divisor * (
                                total - held * old
                            )
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
