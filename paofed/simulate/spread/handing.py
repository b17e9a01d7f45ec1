"""Units handed to an executor, and taken back in whatever order, however often, or not at all.

What is handed over and brought back are bytes, so that anything may be inside. An order is a task
by content: functions of anyone's script travel with it. The worker compares its own program and
files with the client's before it computes anything. `delivered` never raises: so whatever an
executor raises is the executor's own failure, and the unit can be tried again.
"""

import os
import pickle
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import NamedTuple

import cloudpickle

from paofed.errors import ExecutorError, InputError, in_one_line
from paofed.simulate.engines import engine_of
from paofed.simulate.engines.task import Task, sendable
from paofed.simulate.engines.workers import portable
from paofed.simulate.results.result import RunRecord
from paofed.simulate.spread.identity import host, processor, program, require_program
from paofed.simulate.spread.store import FinishedUnit
from paofed.simulate.spread.units import Files, require_same
from paofed.simulate.stopping import ignored


class Order(NamedTuple):
    """What all units of a task have in common, as workers get it."""

    program: dict[str, str]
    files: dict[str, str]
    work: bytes  # the engine's name, and the task without its runs


class Delivery(NamedTuple):
    """What a worker returns: the records of all runs of a unit, or else an error."""

    host: str
    cpu: str
    records: dict[int, RunRecord]
    seconds: float = 0.0  # how long the worker computed
    error: Exception | None = None


def order_of(engine: str, task: Task, files: Files) -> Order:
    """Make an order of a task; a task that cannot be copied is refused."""
    # `workers=1`, since an executor has its own way to use several cores.
    alone = task._replace(runs=(), workers=1)
    work = sendable((engine, alone), task, "run without an executor")
    return Order(program(), dict(files), work)


def delivered(program: dict[str, str], files: dict[str, str], work: bytes, runs: range) -> bytes:
    """Compute some runs of an order on a worker, and return a pickled Delivery."""
    found, error, begun = dict[int, RunRecord](), None, time.monotonic()
    try:
        require_program(program)
        require_same(files, host())
        engine, task = _read(work)
        found = dict(engine_of(engine).run(task._replace(runs=runs), ignored))
        require_same(files, host())
    except Exception as raised:  # noqa: BLE001 (raised by the client)
        error = portable(raised)
    seconds = time.monotonic() - begun
    pickled: bytes = cloudpickle.dumps(Delivery(host(), processor(), found, seconds, error))
    return pickled


def _read(work: bytes) -> tuple[str, Task]:
    """Unpickle an order; modules that it names may be missing on this worker."""
    try:
        engine, task = pickle.loads(work)  # noqa: S301 (our client's)
    except Exception as error:
        raise InputError(
            f"the worker on {host()} cannot read what it is to compute ({in_one_line(error)}): "
            f"install there what is installed here"
        ) from error
    return engine, task


RETRIES = 3  # how often a unit is tried again after the executor has failed at it
PATIENCE = 60.0  # seconds after which a unit may be lost
_LONGER = 5  # a unit may also be lost after this many times the longest unit so far
_AT_FIRST = 10  # the patience is this many times longer until the first unit comes back
_AT_ONCE = 2.0  # a unit that took less than this times the shortest one did not wait for a worker
_LOOK = 1.0  # seconds between two searches for lost units


class _Handout(NamedTuple):
    """A unit, which is some runs, that was handed out, and when."""

    unit: range
    at: float


@dataclass
class _Tale:
    """What has happened to a unit so far."""

    failed: int = 0
    lost: int = 0


@dataclass
class Handing:
    """Hands units of one order to an executor, a few more than it can do at once.

    How many workers the executor has is not known. So the number of units that are out at a time
    grows by one whenever a unit comes back too soon to have waited for a worker: then there may be
    more workers.
    """

    executor: Executor
    order: Order
    _room: int = field(default_factory=lambda: 2 * (os.cpu_count() or 1))
    _out: dict[Future[bytes], _Handout] = field(default_factory=dict)
    _again: deque[range] = field(default_factory=deque)
    _tales: dict[range, _Tale] = field(default_factory=dict)
    _back: SimpleQueue[Future[bytes]] = field(default_factory=SimpleQueue)
    _shortest: float = float("inf")  # seconds per run
    _longest: float = 0.0  # seconds

    def finished(self, units: Iterator[range]) -> Iterator[tuple[range, FinishedUnit]]:
        """Yield units as they come back; the next unit is taken when there is room for it."""
        try:
            while self._hand_out(units):
                try:
                    future = self._back.get(timeout=_LOOK)
                except Empty:
                    self._give_up_lost()
                    continue
                yield from self._taken_back(future)
        finally:
            for future in self._out:
                future.cancel()

    def _hand_out(self, units: Iterator[range]) -> bool:
        """Hand out units while there is room; return whether any unit is still to come."""
        out = {handout.unit for handout in self._out.values()}
        awaited = out.intersection(self._tales).difference(self._again)
        while len(awaited) < self._room:
            # New units come first: a unit that seems lost may yet come back.
            unit = next(units, None) or (self._again.popleft() if self._again else None)
            if unit is None:
                break
            awaited.add(unit)
            self._tales.setdefault(unit, _Tale())
            self._submit(unit)
        return bool(awaited or self._again)

    def _submit(self, unit: range) -> None:
        try:
            future = self.executor.submit(delivered, *self.order, unit)
        except ExecutorError:  # our own executor says that it will do nothing any more
            raise
        except Exception as error:  # noqa: BLE001 (anybody's executor)
            self._failed(unit, error)
            return
        self._out[future] = _Handout(unit, time.monotonic())
        future.add_done_callback(self._back.put)

    def _taken_back(self, future: Future[bytes]) -> Iterator[tuple[range, FinishedUnit]]:
        handout = self._out.pop(future, None)
        # Another handout of this unit has come back before.
        if handout is None or handout.unit not in self._tales:
            return
        unit = handout.unit
        try:
            found: Delivery = pickle.loads(future.result())  # noqa: S301 (our own worker's)
        except Exception as error:  # noqa: BLE001 (whatever goes wrong between us and the worker)
            self._failed(unit, error)
            return
        if found.error is not None:
            raise found.error
        del self._tales[unit]
        with suppress(ValueError):  # the unit seemed lost, and was to be handed out once more
            self._again.remove(unit)
        self._learn(unit, time.monotonic() - handout.at)
        for other in [future for future, out in self._out.items() if out.unit == unit]:
            other.cancel()
        yield unit, FinishedUnit(found.records, found.cpu, found.seconds)

    def _learn(self, unit: range, seconds: float) -> None:
        """Adapt room and patience to how long a unit was away."""
        self._longest = max(self._longest, seconds)
        each = seconds / len(unit)
        self._shortest = min(self._shortest, each)
        if each <= _AT_ONCE * self._shortest:
            self._room += 1

    def _failed(self, unit: range, error: Exception) -> None:
        """Let a unit be tried again, unless it has failed too often."""
        tale = self._tales[unit]
        tale.failed += 1
        if tale.failed > RETRIES:
            raise ExecutorError(
                f"the executor failed {tale.failed} times at runs {unit.start} to "
                f"{unit.stop - 1} ({in_one_line(error)}): see to it, and start again; a store "
                f"keeps what was finished"
            ) from error
        if unit not in self._again:  # the unit may have seemed lost before
            self._again.append(unit)

    def _give_up_lost(self) -> None:
        """Let units that are away for too long be handed out once more; they may yet come back."""
        known = self._longest > 0
        patience = max(PATIENCE, _LONGER * self._longest) if known else _AT_FIRST * PATIENCE
        now = time.monotonic()
        # When each unit was handed out last.
        last = {out.unit: out.at for out in self._out.values()}
        for unit, at in last.items():
            tale = self._tales.get(unit)
            if tale is not None and unit not in self._again and now - at > patience * 2**tale.lost:
                tale.lost += 1
                self._again.append(unit)
