"""The warps of a block that serve: a thread for each coordinate of the server's model."""

from functools import cache
from typing import Any

from numba import cuda, float64, int32, int64, uint64

from paofed.simulate.engines.gpu.block import (
    COVERAGE,
    HEARD,
    HEARS,
    NEVER,
    NOW,
    RECORD,
    SENDS,
    servers_of,
    window_start,
)
from paofed.simulate.engines.gpu.lanes import LANES, from_lane, inlined, votes
from paofed.simulate.engines.gpu.steps import ModelShape, holds

_WORD = 0xFFFFFFFF


@inlined
def _meets(j: Any, start: Any, width: Any, features: Any) -> Any:
    """Whether the window from `start` on holds any of a warp's coordinates, which begin at j."""
    return holds(j, start, width, features) or holds(start, j, LANES, features)


@cache
def serving_warp(shape: ModelShape, live: bool) -> Any:  # noqa: FBT001
    """Make the function of a warp that serves; `live` as in `resident`."""
    features, real = shape.features, shape.real
    serving = servers_of(shape) * LANES

    @inlined
    def from_before(
        j: Any, lane: Any, row: Any, ages: Any, wide: Any, whole: Any, late: Any, at: Any
    ) -> Any:  # fmt: skip
        """Return coordinate j as late messages would move it, the newest of them alone."""
        coverage = whole[uint64(at.rules + COVERAGE)] != 0
        ju, old = uint64(j), wide[uint64(j)] if j < features else 0.0
        moved, settled = old, False
        for i0 in range(1, ages, LANES):
            cell, count = int32(0), int32(0)
            if i0 + lane < ages:
                cell = whole[uint64(at.arriving + i0 + lane)]
                count = whole[uint64(at.messages + cell)]
            bits = votes(count != 0)
            while bits:
                b = int32(cuda.ffs(bits) - 1)
                bits = int32(bits & (bits - 1))
                cu, count_b = uint64(from_lane(cell, b)), from_lane(count, b)
                if j < features:
                    held, total = late.holders[row, cu, ju], late.sums[row, cu, ju]
                    if held:
                        if not settled:
                            settled = True
                            divisor = held if coverage else count_b
                            pull = wide[uint64(2 * features + i0 + b)] / divisor
                            moved = old + pull * (total - held * old)
                        late.sums[row, cu, ju] = 0.0
                        late.holders[row, cu, ju] = 0
        return moved

    @inlined
    def from_contacts(
        j0: Any, lane: Any, row: Any, listed: Any, near: Any, whole: Any, late: Any, at: Any
    ) -> Any:  # fmt: skip
        """Gather what the contacts of a tick sent, and answer those that are answered at once.

        Returned are the sum for this lane's coordinate, how many messages hold that coordinate, and
        how many messages there are: of those that arrive now. The others are put on their way.
        """
        sends, hears = whole[uint64(at.rules + SENDS)], whole[uint64(at.rules + HEARS)]
        heard, j = whole[uint64(at.rules + HEARD)], int32(j0 + lane)
        inside, total, held, count = j < features, 0.0, int32(0), int32(0)
        got = near[uint64(at.server + j if inside else at.server)]
        for q0 in range(0, listed, LANES):
            # Each lane looks at one contact, then all lanes together at those that matter here.
            begin, sent, first, cell = int32(0), int32(0), int32(-1), int32(NEVER)
            if q0 + lane < listed:
                record = at.record + RECORD * (q0 + lane)
                begin, sent = whole[uint64(record)], whole[uint64(record + 1)]
                first, cell = whole[uint64(record + 2)], whole[uint64(record + 3)]
                if j0 == 0 and cell >= 0:
                    cuda.atomic.add(whole, at.messages + cell, 1)
            count = int32(count + cuda.popc(votes(cell == NOW)))
            meets = _meets(j0, sent, sends, features)
            bits = votes(cell == NOW and meets)
            while bits:
                b = int32(cuda.ffs(bits) - 1)
                bits = int32(bits & (bits - 1))
                place, sent_b = int32(from_lane(begin, b) + j), from_lane(sent, b)
                if inside and holds(j, sent_b, sends, features):
                    total += near[uint64(place)]
                    held = int32(held + 1)
            bits = votes(cell >= 0 and meets)
            while bits:
                b = int32(cuda.ffs(bits) - 1)
                bits = int32(bits & (bits - 1))
                place, sent_b = int32(from_lane(begin, b) + j), from_lane(sent, b)
                cu, ju = uint64(from_lane(cell, b)), uint64(j)
                if inside and holds(j, sent_b, sends, features):
                    # No other thread adds here, so that nobody waits.
                    cuda.atomic.add(late.sums, (row, cu, ju), near[uint64(place)])
                    cuda.atomic.add(late.holders, (row, cu, ju), 1)
            bits = votes(first >= 0 and _meets(j0, first, hears, features))
            while bits:
                b = int32(cuda.ffs(bits) - 1)
                bits = int32(bits & (bits - 1))
                place, first_b = int32(from_lane(begin, b) + j), from_lane(first, b)
                if inside and j < heard and holds(j, first_b, hears, features):
                    near[uint64(place)] = got
        return total, held, count

    @inlined
    def answer_late(
        j: Any, n: Any, row: Any, ring: Any, near: Any, whole: Any, late: Any, at: Any
    ) -> None:  # fmt: skip
        """Answer the clients whose late messages arrive now."""
        hears, heard = whole[uint64(at.rules + HEARS)], whole[uint64(at.rules + HEARD)]
        for q in range(late.answers.shape[2]):
            bits = int64(late.answers[row, n % ring, q]) & _WORD
            while bits:
                k = 32 * q + cuda.ffs(bits) - 1
                bits = bits & (bits - 1)
                first = window_start(whole, at.rules + HEARS, k, n, features)
                if j < features and j < heard and holds(j, first, hears, features):
                    near[uint64(at.local + k * features + j)] = near[uint64(at.server + j)]

    @inlined
    def serve(
        row: Any, r: Any, ticks: Any, every: Any, happens: Any, rows: Any, late: Any, at: Any,
        models: Any, contacts: Any,
    ) -> None:  # fmt: skip
        """Gather what arrives at every tick and move the server's model; answer contacts."""
        wide = cuda.shared.array(0, float64)
        near = cuda.shared.array(0, real)
        whole = cuda.shared.array(0, int32)
        tid = int32(cuda.threadIdx.x)
        lane, ages, ring = int32(tid & (LANES - 1)), rows.base.size, late.answers.shape[1]
        ru, point, until = uint64(row), 0, every
        listed = happens.listed[r, 0]
        cuda.syncthreads()

        for n in range(ticks):
            until -= 1
            kept = until == 0 or n == ticks - 1
            # Late messages are complete by now: all of them were sent before this tick.
            for j0 in range(tid - lane, features, serving):
                j = int32(j0 + lane)
                moved = from_before(j, lane, ru, ages, wide, whole, late, at)
                if j < features:
                    wide[uint64(features + j)] = moved
            if live:
                # Clients that were answered at the tick before.
                for q in range(tid, late.answers.shape[2], serving):
                    late.answers[row, (n + ring - 1) % ring, q] = 0
            cuda.syncthreads()
            then = happens.listed[uint64(r), uint64(min(n + 1, ticks - 1))]
            for j0 in range(tid - lane, features, serving):
                j = int32(j0 + lane)
                total, held, count = from_contacts(j0, lane, ru, listed, near, whole, late, at)
                if live:
                    answer_late(j, n, row, ring, near, whole, late, at)
                if j < features:
                    fresh = wide[uint64(features + j)]
                    if held:
                        old = wide[uint64(j)]
                        divisor = held if whole[uint64(at.rules + COVERAGE)] != 0 else count
                        fresh = old + wide[uint64(2 * features)] / divisor * (total - held * old)
                    wide[uint64(j)] = fresh
                    near[uint64(at.server + j)] = fresh
                    if kept:
                        models[row, point, j] = fresh
            listed = then
            for i in range(1 + tid, ages, serving):
                turn = whole[uint64(at.arriving + i)]
                begin, beyond = whole[uint64(at.base + i)], whole[uint64(at.base + i + 1)]
                whole[uint64(at.messages + turn)] = 0
                whole[uint64(at.arriving + i)] = turn + 1 if turn + 1 < beyond else begin
            if kept and tid == 0:
                contacts[row, point] = whole[uint64(at.met)]
            if kept:
                point += 1
                until = every
            cuda.syncthreads()

    return serve
