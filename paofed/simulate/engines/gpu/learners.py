"""The warps of a block that learn: each takes every so-many-th place of a tick's list."""

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, int32, int64, uint8, uint64

from paofed.simulate.engines.fast.kernels import LIVE, PAPER, SINGLE
from paofed.simulate.engines.gpu.block import (
    ACROSS,
    HEARD,
    HEARS,
    LEARNERS,
    LEARNS,
    LIMIT,
    NEVER,
    NOW,
    RECORD,
    SENDS,
    TAKES,
    WAY,
    window_start,
)
from paofed.simulate.engines.gpu.lanes import LANES, from_lane, inlined, meet, votes, without_lowest
from paofed.simulate.engines.gpu.nature import (
    AVAILABLE,
    DELAY_SHIFT,
    HAS_DATA,
    LOST_DOWN,
    LOST_UP,
)
from paofed.simulate.engines.gpu.steps import ModelShape, hear, steps_of


class Seat(NamedTuple):
    """Which lane of which learning warp, in which run of which algorithm."""

    learner: Any  # the index of the warp among those that learn
    lane: Any
    row: Any  # of the algorithm and run in what is written
    run: Any
    ticks: Any
    picked: Any  # where the algorithm's part of ListedTicks.picked begins; negative without one
    step: Any  # the step size


class Desk(NamedTuple):
    """The arrays that a lane works with: in the memory of its block, and its registers."""

    near: Any
    whole: Any
    mine: Any  # the lane's part of the map
    w: Any
    z: Any
    ahead: Any  # the sample that the lane looks at next


@cache
def learning_warp(shape: ModelShape, rounds: int, picks_some: bool, live: bool) -> Any:  # noqa: FBT001
    """Make the function of a warp that learns; `picks_some` and `live` as in `resident`."""
    features, inputs, each, real = shape.features, shape.inputs, shape.each, shape.real
    # Numbers of a sample, and of a lane's part of the map.
    numbers, mapping = inputs + 1, (inputs + 1) * each
    lanes, at_once, shift = shape.lanes, shape.at_once, shape.lanes.bit_length() - 1
    take_map, mapped, lms, load, store = steps_of(shape, padded=False)

    @inlined
    def note(
        q: Any, what: Any, k: Any, n: Any, seat: Any, whole: Any, late: Any, at: Any
    ) -> Any:  # fmt: skip
        """Note a contact for the servers; return the first coordinate that its client hears."""
        way, takes = whole[uint64(at.rules + WAY)], whole[uint64(at.rules + TAKES)]
        contact, first = what & takes != 0, int32(0)
        word = votes(contact)
        if seat.lane == 0 and word:
            cuda.atomic.add(whole, at.met, cuda.popc(word))
        if what & AVAILABLE:
            cell, answered = int32(NEVER), False
            if contact:
                first = window_start(whole, at.rules + HEARS, k, n, features)
                delay, heard = int32(what >> DELAY_SHIFT), what & LOST_DOWN == 0
                if what & LOST_UP == 0 and delay <= whole[uint64(at.rules + LIMIT)]:
                    cell = int32(NOW)
                    if delay:  # in the cell whose messages have just arrived
                        i = whole[uint64(at.age + delay)]
                        cell = int32(whole[uint64(at.arriving + i)] - 1)
                        if cell < whole[uint64(at.base + i)]:
                            cell = int32(cell + delay + 1)
                answered = heard and (way == SINGLE or (way == LIVE and cell == NOW))
                if live and way == LIVE and heard and cell >= 0:
                    slot = (n + delay) % late.answers.shape[1]
                    cuda.atomic.or_(late.answers, (seat.row, slot, k >> 5), 1 << (k & 31))
            record = at.record + RECORD * q
            whole[uint64(record)] = at.local + k * features
            whole[uint64(record + 1)] = window_start(whole, at.rules + SENDS, k, n, features)
            whole[uint64(record + 2)] = first if answered else -1
            whole[uint64(record + 3)] = cell
        return first

    @inlined
    def learn_some(
        half: Any, n: Any, q: Any, what: Any, k: Any, seat: Any, desk: Any, samples: Any,
        worlds: Any, late: Any, at: Any,
    ) -> None:  # fmt: skip
        """Let those clients learn whose turn is this half, as many at a time as there is room."""
        near, whole, mine, w, z, _ = desk
        # Shifts, since divisions take long.
        part, own = int32(seat.lane >> shift), int32(seat.lane & (lanes - 1))
        way, takes = whole[uint64(at.rules + WAY)], whole[uint64(at.rules + TAKES)]
        contact, first = what & takes != 0, int32(0)
        early = contact
        if live:
            word = int64(late.answers[seat.row, n % late.answers.shape[1], k >> 5])
            early = early or (word >> (k & 31)) & 1 != 0
        if half == 0:
            first = note(q, what, k, n, seat, whole, late, at)
        learns = contact or whole[uint64(at.rules + LEARNS)] != 0
        now = early if half == 0 else not early
        bits = votes(what & HAS_DATA != 0 and learns and now)
        begin = int32(at.local + k * features)
        while bits:
            left = without_lowest(bits, part, at_once - 1)
            busy = left != 0
            b = int32(cuda.ffs(left if busy else bits) - 1)
            bits = without_lowest(bits, at_once, at_once)
            place, sample = from_lane(begin, b), int32(samples + numbers * b)
            if half == 0 and way == PAPER:
                lost, window = from_lane(what, b) & LOST_DOWN, from_lane(first, b)
                if busy and lost == 0:
                    width, heard = whole[uint64(at.rules + HEARS)], whole[uint64(at.rules + HEARD)]
                    hear(near, place, near, at.server, window, width, heard, features, own, lanes)
                meet()
            load(near, place, own, w)
            mapped(near, sample, own, mine, 0, numbers, seat.run, worlds.low, worlds.high, z)
            lms(w, z, near[uint64(sample + inputs)], seat.step)
            if busy:
                store(near, place, own, w)

    @inlined
    def half_tick(
        half: Any, n: Any, met: Any, seat: Any, desk: Any, worlds: Any, happens: Any, late: Any,
        at: Any,
    ) -> Any:  # fmt: skip
        """Do half a tick; `met` and what is returned are the clients that the lane looks at.

        They are an event and its client, and the same numbers of the next look, whose samples are
        loaded while these clients learn. All is loaded whether or not there is a next client, and
        nothing is computed from it before the next look: a lane would have to wait.
        """
        what, k, next_event, next_client, chosen = met
        clients, samples = happens.clients, int32(at.sample + numbers * LANES * seat.learner)
        for c in range(rounds):
            q = int32(seat.learner + LEARNERS * seat.lane + ACROSS * c)
            if half == 0 or rounds > 1:
                what, k = int32(next_event | chosen if q < clients else 0), next_client
                meet()  # with the lanes that still read the samples before
                for i in range(numbers):
                    desk.near[uint64(samples + numbers * seat.lane + i)] = desk.ahead[i]
                meet()
                n_next, q_next = n, int32(q + ACROSS)
                if c + 1 == rounds:
                    n_next, q_next = n + (half if rounds > 1 else 1), int32(q - ACROSS * c)
                tick = seat.run * seat.ticks + min(n_next, seat.ticks - 1)
                place = tick * clients + int32(min(q_next, clients - 1))
                next_event = happens.event[uint64(2 * place)]
                next_client = happens.event[uint64(2 * place + 1)]
                for i in range(numbers):
                    desk.ahead[i] = happens.sample[uint64(numbers * place + i)]
                if picks_some and seat.picked >= 0:
                    chosen = happens.picked[uint64(seat.picked + place)]
            learn_some(half, n, q, what, k, seat, desk, samples, worlds, late, at)
        cuda.syncthreads()
        return what, k, next_event, next_client, chosen

    @inlined
    def learn(
        learner: Any, row: Any, r: Any, a: Any, ticks: Any, worlds: Any, happens: Any, rows: Any,
        late: Any, at: Any,
    ) -> None:  # fmt: skip
        """Let the warp's share of clients learn at every tick, and note their contacts."""
        desk = Desk(
            cuda.shared.array(0, real),
            cuda.shared.array(0, int32),
            cuda.local.array(mapping, real),
            cuda.local.array(each, real),
            cuda.local.array(each, real),
            cuda.local.array(numbers, real),
        )
        lane, picked = (
            int32(cuda.threadIdx.x & (LANES - 1)),
            rows.picks[a] * happens.event.size // 2,
        )
        seat = Seat(learner, lane, row, r, ticks, picked, rows.mu[a])
        own = int32(lane & (lanes - 1))
        take_map(r, own, worlds.frequencies, worlds.phases, desk.mine, 0, numbers)
        place = r * ticks * happens.clients + min(learner + LEARNERS * lane, happens.clients - 1)
        for i in range(numbers):
            desk.ahead[i] = happens.sample[numbers * place + i]
        chosen = happens.picked[picked + place] if picks_some and picked >= 0 else uint8(0)
        met = int32(0), int32(0), happens.event[2 * place], happens.event[2 * place + 1], chosen
        cuda.syncthreads()
        for n in range(ticks):
            # Two copies of the code rather than a loop, which would copy what is being loaded.
            met = half_tick(0, n, met, seat, desk, worlds, happens, late, at)
            met = half_tick(1, n, met, seat, desk, worlds, happens, late, at)

    return learn
