"""Play algorithms over some runs on the card, and bring back what a run's record holds."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import cuda

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import curve_ticks
from paofed.core.traffic import Traffic
from paofed.errors import InputError
from paofed.simulate.engines import Precision
from paofed.simulate.engines.fast.kernels import LIVE
from paofed.simulate.engines.gpu import streaming
from paofed.simulate.engines.gpu.block import layout_of, rounds_of, threads_of
from paofed.simulate.engines.gpu.card import (
    free_memory,
    launch,
    over,
    require_room,
    sent,
    the_card,
    zeros,
)
from paofed.simulate.engines.gpu.judging import JUDGES, SUM_BYTES, TOGETHER, judge_of
from paofed.simulate.engines.gpu.lanes import LANES, SIMULATED
from paofed.simulate.engines.gpu.layout import (
    CardRows,
    ListedTicks,
    TicksOnCard,
    WorldsOnCard,
    rows_of,
)
from paofed.simulate.engines.gpu.nature import line_up, pick
from paofed.simulate.engines.gpu.resident import LateMessages, resident
from paofed.simulate.engines.gpu.steps import ModelShape
from paofed.simulate.results.outcome import RunRecord
from paofed.simulate.results.places import Tally
from paofed.simulate.stopping import Report, ignored

# The fewest clients of a warp, where models lie in the card's memory.
_LEAST_PART = 2 if SIMULATED else 64
_SHARE = 2 if SIMULATED else 64  # how many warps have their sums added together first
# Bytes of samples and events that are on the card at a time, where models lie in its memory.
STRETCH_BYTES = 8 << 30
_SLACK = 256 << 20  # bytes of the card's memory that are left free


class RunsOnCard(Protocol):
    """Some runs, whose worlds, samples and events can be put on the card."""

    ticks: int
    clients: int
    shape: ModelShape
    heard: int
    ages: IntArray

    def fleet(self, points: IntArray) -> WorldsOnCard:
        """Put the worlds on the card."""
        ...

    def stretch(self, begin: int, end: int, *, lottery: bool) -> TicksOnCard:
        """Put the samples and events of some ticks on the card.

        Ticks must be asked for in order.
        """
        ...


class Played(NamedTuple):
    """What was found, for R runs of A algorithms each (RA rows)."""

    models: Any  # (RA, P, D) real, on the card: the server's models at the points of the curve
    contacts: IntArray  # (RA, P)
    final: FloatArray  # (RA, D)


class CardPlan(NamedTuple):
    """How some algorithms are played over runs of one size."""

    shape: ModelShape
    ticks: int
    clients: int
    ages: int
    cells: int
    longest: int
    algorithms: int
    picking: int
    points: int

    @property
    def is_resident(self) -> bool:
        """Whether all local models fit into a multiprocessor's own memory."""
        needed = layout_of(self.shape, self.clients, self.ages, self.longest, self.cells).size
        return needed <= the_card().block_memory

    @property
    def groups(self) -> int:
        """The number of warps for one run of one algorithm, where models lie in the card's memory.

        It depends on fleet and card alone: sums, and so bits, must not depend on other algorithms
        or runs. All warps of a block belong to one run.
        """
        together = streaming.THREADS // LANES
        blocks = -(-self.clients // (_LEAST_PART * together))
        return together * min(streaming.BLOCKS * the_card().multiprocessors, blocks)

    @property
    def cell_bytes(self) -> int:
        """The bytes of the samples and events of one client at one tick."""
        happens = self.shape.size * (self.shape.inputs + 1) + 4
        return happens + (8 + self.picking if self.picking else 0)

    @property
    def stretch(self) -> int:
        """For how many ticks the card holds samples and events at a time, of one run."""
        if self.is_resident:
            return self.ticks
        return max(1, min(self.ticks, STRETCH_BYTES // (self.cell_bytes * self.clients)))

    @property
    def run_bytes(self) -> int:
        """The bytes of the card's memory that one run needs."""
        features, inputs = self.shape.features, self.shape.inputs
        own = self.shape.size * self.points * features + 8 * self.points
        if self.is_resident:
            own += self.cells * (12 * features + 4)
        else:
            own += self.clients * (self.shape.size * self.shape.padded + self.longest + 1)
            own += self.groups * (self.cells * (12 * features + 4) + 8)
        nature = self.stretch * self.clients * self.cell_bytes
        if self.is_resident:  # a second time, as lists
            nature += self.stretch * self.clients * (self.cell_bytes + 4)
        return self.algorithms * own + nature + self.clients * (8 * inputs + 9)

    @property
    def judged_bytes(self) -> int:
        """The bytes of the models that a block judges together."""
        return self.shape.size * TOGETHER * self.shape.features

    def require_room(self) -> None:
        """Refuse in one line models that are too large for a block to judge them or to learn."""
        what = f"{self.shape.features} features of {self.shape.inputs} inputs"
        require_room(what, self.judged_bytes, SUM_BYTES)
        if not self.is_resident:
            require_room(what, streaming.map_bytes(self.shape), streaming.sample_bytes(self.shape))

    def at_once(self) -> int:
        """Return how many runs the card takes at a time; refuse in one line if not even one."""
        free, card = free_memory() - _SLACK, the_card()
        fit = free // self.run_bytes
        if fit < 1:
            raise InputError(
                f"{self.clients:,} clients with {self.shape.features} features, "
                f"{self.algorithms} algorithms, need {self.run_bytes / 1e9:.1f} GB on the card, "
                f"which has {max(free, 0) / 1e9:.1f} GB free: run fewer at a time"
            )
        if not self.is_resident:
            return int(min(fit, 64))
        waves = 16 * card.multiprocessors // self.algorithms
        return int(max(1, min(fit, waves)))


def settled_rows(runs: RunsOnCard, methods: Sequence[Algorithm], precision: Precision) -> CardRows:
    """Copy algorithms to the card, with the step size and age limit of the runs."""
    for method in methods:
        method.require_fits(runs.shape.features)
    return rows_of(methods, runs.ages, runs.shape.features, runs.heard, precision)


def plan_of(runs: RunsOnCard, rows: CardRows, points: int) -> CardPlan:
    """Return how algorithms are played over runs like these."""
    return CardPlan(
        runs.shape, runs.ticks, runs.clients, rows.base.size, rows.cells, rows.longest,
        rows.mu.size, rows.subset.size, points,
    )  # fmt: skip


def records(
    runs: RunsOnCard, rows: CardRows, every: int, report: Report = ignored
) -> list[RunRecord]:
    """Play all algorithms over some runs, and return the record of each run."""
    points = curve_ticks(runs.ticks, every)
    plan = plan_of(runs, rows, points.size)
    plan.require_room()
    fleet = runs.fleet(points)
    play = _resident if plan.is_resident else _streamed
    played = play(runs, fleet, rows, plan, every, report)
    mse = _judged(played.models, fleet, plan)
    up, down = (windows.copy_to_host()[:, 0] for windows in (rows.up, rows.down))
    per_contact = np.stack(Traffic.of_floats(np.ones_like(up), up, down), axis=-1)
    shape = (fleet.start.shape[0], plan.algorithms)
    contacts = played.contacts.reshape(*shape, 1, -1)
    traffic = per_contact[:, :, None] * contacts
    nothing = Tally.nothing(plan.algorithms, 2)._asdict()
    curves, models = mse.reshape(*shape, -1), played.final.reshape(*shape, -1)
    return [
        RunRecord(**{**nothing, "mse": m, "traffic": t, "models": f})
        for m, t, f in zip(curves, traffic, models, strict=True)
    ]


def _judged(models: Any, fleet: WorldsOnCard, plan: CardPlan) -> FloatArray:
    blocks, points = models.shape[:2]
    mse = cuda.device_array((blocks, points), np.float64)
    judge = judge_of(plan.shape.precision)
    launch(
        judge, blocks * -(-points // TOGETHER), JUDGES, models, fleet.z_test, fleet.y_test,
        fleet.seen, plan.algorithms, mse, memory=plan.judged_bytes, fixed=SUM_BYTES,
    )  # fmt: skip
    found: FloatArray = mse.copy_to_host()
    return found


def _picked(stretch: TicksOnCard, rows: CardRows) -> Any:
    """Return who takes part, (algorithms that pick, R, ticks, K)."""
    picked = cuda.device_array((rows.subset.size, *stretch.event.shape), np.uint8)
    over(pick, picked.size, stretch.event, stretch.lottery, rows.subset, picked)
    return picked


def _resident(
    runs: RunsOnCard,
    fleet: WorldsOnCard,
    rows: CardRows,
    plan: CardPlan,
    every: int,
    report: Report,
) -> Played:
    features, blocks = plan.shape.features, fleet.start.shape[0] * plan.algorithms
    listed = _listed(runs.stretch(0, plan.ticks, lottery=plan.picking > 0), rows)
    live = _answers(rows)
    at = layout_of(plan.shape, plan.clients, plan.ages, plan.longest, plan.cells)
    models = cuda.device_array((blocks, plan.points, features), plan.shape.precision)
    contacts = cuda.device_array((blocks, plan.points), np.int64)
    final = cuda.device_array((blocks, features), np.float64)
    words = -(-plan.clients // 32)
    late = LateMessages(
        cuda.device_array((blocks, plan.cells, features), np.float64),
        cuda.device_array((blocks, plan.cells, features), np.int32),
        cuda.device_array((blocks, plan.longest + 2, words) if live else (1, 1, 1), np.int32),
    )
    launch(
        resident(plan.shape, rounds_of(plan.clients), plan.picking > 0, live),
        blocks, threads_of(plan.shape),
        fleet, listed, rows, late, every, at, models, contacts, final,
        memory=at.size,
    )  # fmt: skip
    found = Played(models, contacts.copy_to_host(), final.copy_to_host())
    report(float(fleet.start.shape[0]))
    return found


def _listed(drawn: TicksOnCard, rows: CardRows) -> ListedTicks:
    """Return ticks as lists of clients, with those whom the servers pick."""
    runs, ticks, numbers, clients = drawn.sample.shape
    picked = _picked(drawn, rows)
    lists = (
        cuda.device_array((runs, ticks), np.int32),
        cuda.device_array((runs, ticks, clients, numbers), drawn.sample.dtype),
        cuda.device_array((runs, ticks, clients, 2), np.int32),
        cuda.device_array(picked.shape, np.uint8),
    )
    over(line_up, runs * ticks * LANES, drawn.sample, drawn.event, picked, *lists)
    listed, *flat = lists
    return ListedTicks(clients, listed, *(array.ravel() for array in flat))


def _answers(rows: CardRows) -> bool:
    """Whether some algorithm answers clients when their messages arrive."""
    return bool((rows.exchange.copy_to_host() == LIVE).any())


def _streamed(
    runs: RunsOnCard,
    fleet: WorldsOnCard,
    rows: CardRows,
    plan: CardPlan,
    every: int,
    report: Report,
) -> Played:
    features, algorithms = plan.shape.features, plan.algorithms
    blocks, ages = fleet.start.shape[0] * algorithms, rows.base.size
    stride, of_a_run = plan.shape.padded, plan.clients * plan.algorithms
    local = cuda.device_array(blocks * plan.clients * stride, plan.shape.precision)
    many = (2, 4) if SIMULATED else (16 * the_card().multiprocessors, 256)
    launch(streaming.fill, *many, fleet.start, of_a_run, stride, local)
    start = np.repeat(fleet.start.copy_to_host(), algorithms, axis=0)
    server, shared = sent(start, np.float64), sent(start, plan.shape.precision)
    sums = zeros((blocks, plan.groups, plan.cells, features), np.float64)
    holders = zeros((blocks, plan.groups, plan.cells, features), np.int32)
    counts = zeros((blocks, plan.groups, plan.cells), np.int32)
    ring = (plan.longest + 1, plan.clients) if _answers(rows) else (1, 0)
    answers, met = zeros((blocks, *ring), np.uint8), zeros((blocks, plan.groups), np.int64)
    shares = -(-plan.groups // _SHARE)
    arrived = (
        zeros((blocks, ages, shares, features), np.float64),
        zeros((blocks, ages, shares, features), np.int64),
        zeros((blocks, ages, shares), np.int64),
    )
    arriving, servers = sent(rows.base.copy_to_host(), np.int64), 4 if SIMULATED else 256
    models = cuda.device_array((blocks, plan.points, features), plan.shape.precision)
    contacts, point, learn = [], 0, streaming.learning(plan.shape)
    threads = streaming.THREADS
    across = -(-blocks * plan.groups * LANES // threads)
    for begin in range(0, plan.ticks, plan.stretch):
        end = min(begin + plan.stretch, plan.ticks)
        stretch = runs.stretch(begin, end, lottery=plan.picking > 0)
        picked = _picked(stretch, rows)
        for n in range(begin, end):
            whose = (n, n - begin, plan.groups, stretch.event, picked)
            launch(
                streaming.receive, across, threads, *whose, rows.down, rows.heard, rows.picks,
                rows.exchange, shared, stride, local,
            )  # fmt: skip
            launch(
                learn, across, threads, *whose[1:3], stretch.sample, *whose[3:], *fleet[:4],
                rows.learns_away, rows.picks, rows.mu, local,
                memory=streaming.map_bytes(plan.shape), fixed=streaming.sample_bytes(plan.shape),
            )  # fmt: skip
            launch(
                streaming.send, across, threads, *whose, rows.down, rows.heard, rows.up, rows.picks,
                rows.max_age, rows.exchange, rows.age_index, rows.base, arriving,
                shared, stride, local, sums, holders, counts, answers, met,
            )  # fmt: skip
            launch(
                streaming.gather, blocks * ages * shares, servers, arriving, sums, holders, counts,
                *arrived,
            )  # fmt: skip
            at = point if (n + 1) % every == 0 or n == plan.ticks - 1 else -1
            launch(
                streaming.serve, blocks, servers, *arrived, rows.by_coverage, rows.weight, server,
                shared, models, at, rows.base, rows.period, arriving,
            )  # fmt: skip
            if at >= 0:
                contacts.append(met.copy_to_host().sum(axis=1))
                point += 1
        report(fleet.start.shape[0] * (end - begin) / plan.ticks)
    return Played(models, np.stack(contacts, axis=1), server.copy_to_host())
