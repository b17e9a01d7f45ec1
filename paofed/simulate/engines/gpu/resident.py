"""Whole runs with all local models in a multiprocessor's own memory: a block for each.

A block takes one algorithm through all ticks of one run. Some of its warps learn, each for clients
of its own, and some serve, with a thread for each coordinate. In the first half of a tick, those
clients learn whose models the server needs now. In the second half, the serving warps gather what
was sent and move the server's model, while all other clients learn. Sums are made in the same order
every time.
"""

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, float64, int32

from paofed.simulate.engines.gpu.block import (
    COVERAGE,
    HEARD,
    HEARS,
    LEARNS,
    LIMIT,
    SENDS,
    TAKES,
    WAY,
    servers_of,
    threads_of,
)
from paofed.simulate.engines.gpu.lanes import LANES, bounded
from paofed.simulate.engines.gpu.learners import learning_warp
from paofed.simulate.engines.gpu.nature import AVAILABLE, CHOSEN
from paofed.simulate.engines.gpu.servers import serving_warp
from paofed.simulate.engines.gpu.steps import ModelShape


class LateMessages(NamedTuple):
    """What is on its way in every block, in the card's memory."""

    sums: Any  # (RA, cells, D) float64
    holders: Any  # (RA, cells, D) int32: how many messages hold a coordinate
    answers: Any  # (RA, ring, words) int32: who is answered at a tick, a bit for each client


@cache
def resident(shape: ModelShape, rounds: int, picks_some: bool, live: bool) -> Any:  # noqa: FBT001
    """Make the kernel of a shape for `rounds` rounds.

    `picks_some` and `live` leave out what no algorithm needs.
    """
    features, real, threads, servers = (
        shape.features, shape.real, threads_of(shape), servers_of(shape)
    )  # fmt: skip
    learn = learning_warp(shape, rounds, picks_some, live)
    serve = serving_warp(shape, live)

    @bounded(threads)
    def play(
        worlds: Any, happens: Any, rows: Any, late: Any, every: Any, at: Any, models: Any,
        contacts: Any, final: Any,
    ) -> None:  # fmt: skip
        """Run all ticks of one run with one algorithm; keep the models of the curve's points."""
        wide = cuda.shared.array(0, float64)
        near = cuda.shared.array(0, real)
        whole = cuda.shared.array(0, int32)
        runs, ticks = happens.listed.shape
        # Algorithms that take long have the first blocks, so that no block begins late and long.
        r, a = cuda.blockIdx.x % runs, rows.turn[cuda.blockIdx.x // runs]
        row, tid, ages = r * rows.mu.size + a, cuda.threadIdx.x, rows.base.size
        for j in range(tid, features, threads):
            wide[j] = worlds.start[r, j]
            near[at.server + j] = worlds.start[r, j]
            for cell in range(late.sums.shape[1]):
                late.sums[row, cell, j] = 0.0
                late.holders[row, cell, j] = 0
        for cell in range(tid, late.sums.shape[1], threads):
            whole[at.messages + cell] = 0
        for i in range(tid, happens.clients * features, threads):
            near[at.local + i] = worlds.start[r, i % features]
        for i in range(tid, ages, threads):
            whole[at.arriving + i] = rows.base[i]
            whole[at.base + i] = rows.base[i]
            whole[at.base + i + 1] = rows.base[i] + rows.period[i]
            wide[2 * features + i] = rows.weight[a, i]
        for age in range(tid, rows.age_index.size, threads):
            whole[at.age + age] = rows.age_index[age]
        if tid == 0:
            whole[at.met] = 0
            whole[at.rules + WAY], whole[at.rules + LIMIT] = rows.exchange[a], rows.max_age[a]
            whole[at.rules + COVERAGE] = rows.by_coverage[a]
            whole[at.rules + LEARNS] = rows.learns_away[a]
            whole[at.rules + TAKES] = CHOSEN if rows.picks[a] >= 0 else AVAILABLE
            whole[at.rules + HEARD] = rows.heard
            for i in range(3):
                whole[at.rules + HEARS + i] = rows.down[a, i]
                whole[at.rules + SENDS + i] = rows.up[a, i]
        if live:
            for slot in range(late.answers.shape[1]):
                for q in range(tid, late.answers.shape[2], threads):
                    late.answers[row, slot, q] = 0
        # Learning and serving warps have separate loops over the ticks, so that the one does not
        # hold registers of the other; they meet after every half.
        learner = tid // LANES - servers
        if learner >= 0:
            learn(learner, row, r, a, ticks, worlds, happens, rows, late, at)
        else:
            serve(row, r, ticks, every, happens, rows, late, at, models, contacts)
        for j in range(tid, features, threads):
            final[row, j] = wide[j]

    return play
