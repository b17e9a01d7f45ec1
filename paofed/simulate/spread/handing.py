"""Jobs handed to an executor, and taken back in whatever order; what fails is handed out again.

What is handed over and brought back are bytes, so that anything may be inside. A task travels by
content, with the functions of anyone's script. The worker compares its own program and files with
the client's before it computes anything. `delivered` never raises: so whatever an executor raises
is the executor's own failure, and the job can be tried again.
"""

import os
import pickle
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue

import cloudpickle

from paofed.errors import ExecutorError, InputError, in_one_line
from paofed.simulate.engines import engine_of
from paofed.simulate.engines.task import Task, sendable
from paofed.simulate.engines.workers import portable
from paofed.simulate.spread.identity import host, processor, program, require_program
from paofed.simulate.spread.job_store import FinishedJob
from paofed.simulate.spread.jobs import Files, require_same
from paofed.simulate.stopping import ignored, signals_wait

# What all jobs of a task have in common: called with a job's runs, on a worker.
Order = Callable[[range], bytes]


def order_of(engine: str, task: Task, files: Files) -> Order:
    """Return what a worker calls for a job of a task; a task that cannot be copied is refused."""
    # `workers=1`, since an executor has its own way to use several cores.
    alone = task._replace(runs=(), workers=1)
    work = sendable((engine, alone), task, "run without an executor")
    return partial(delivered, program(), dict(files), work)


def delivered(program: dict[str, str], files: dict[str, str], work: bytes, runs: range) -> bytes:
    """Compute some runs of a task on a worker; return a pickled FinishedJob, or an error."""
    found: FinishedJob | Exception
    begun = time.monotonic()
    try:
        require_program(program)
        require_same(files, host())
        engine, task = _read(work)
        records = dict(engine_of(engine).run(task._replace(runs=runs), ignored))
        require_same(files, host())
        found = FinishedJob(records, processor(), time.monotonic() - begun)
    except Exception as raised:  # noqa: BLE001 (raised by the client)
        found = portable(raised)
    pickled: bytes = cloudpickle.dumps(found)
    return pickled


def _read(work: bytes) -> tuple[str, Task]:
    """Unpickle a task and its engine's name; modules that they name may be missing here."""
    try:
        engine, task = pickle.loads(work)  # noqa: S301 (our client's)
    except Exception as error:
        raise InputError(
            f"the worker on {host()} cannot read what it is to compute ({in_one_line(error)}): "
            f"install there what is installed here"
        ) from error
    return engine, task


RETRIES = 3  # how often a job is tried again after the executor has failed at it
_AT_ONCE = 2.0  # a job that took less than this times the shortest one did not wait for a worker


@dataclass
class Handing:
    """Hands jobs of one order to an executor, a few more than it can do at once.

    How many workers the executor has is not known. So the number of jobs that are out at a time
    grows by one whenever a job comes back too soon to have waited for a worker: then there may be
    more workers.
    """

    executor: Executor
    order: Order
    _room: int = field(default_factory=lambda: 2 * (os.cpu_count() or 1))
    # The jobs that are out, and when each was handed over.
    _out: dict[Future[bytes], tuple[range, float]] = field(default_factory=dict)
    _again: deque[range] = field(default_factory=deque)
    _failures: Counter[range] = field(default_factory=Counter)
    # Futures that are done, and None for a signal that waits.
    _back: SimpleQueue[Future[bytes] | None] = field(default_factory=SimpleQueue)
    _shortest: float = float("inf")  # seconds per run

    def finished(self, jobs: Iterator[range]) -> Iterator[FinishedJob]:
        """Yield jobs as they come back; the next job is taken when there is room for it."""
        try:
            with signals_wait(partial(self._back.put, None)) as handle_signals:
                while self._hand_out(jobs):
                    # No name holds the future, so that its end is inside this block.
                    yield from self._taken_back(self._back.get())
                    handle_signals()
        finally:
            for future in self._out:
                future.cancel()

    def _hand_out(self, jobs: Iterator[range]) -> bool:
        """Hand out jobs while there is room; return whether any job is still to come."""
        while len(self._out) < self._room:
            # New jobs come first: what the executor failed at may go better later.
            job = next(jobs, None) or (self._again.popleft() if self._again else None)
            if job is None:
                break
            self._submit(job)
        return bool(self._out)

    def _submit(self, job: range) -> None:
        try:
            future = self.executor.submit(self.order, job)
        except ExecutorError:  # our own executor says that it will do nothing any more
            raise
        except Exception as error:  # noqa: BLE001 (anybody's executor)
            self._failed(job, error)
            return
        self._out[future] = job, time.monotonic()
        future.add_done_callback(self._back.put)

    def _taken_back(self, future: Future[bytes] | None) -> Iterator[FinishedJob]:
        if future is None:
            return
        job, at = self._out.pop(future)
        try:
            found: FinishedJob | Exception = pickle.loads(future.result())  # noqa: S301 (our own worker's)
        except ExecutorError:
            raise
        except Exception as error:  # noqa: BLE001 (whatever goes wrong between us and the worker)
            self._failed(job, error)
            return
        if isinstance(found, Exception):
            raise found
        each = (time.monotonic() - at) / len(job)
        self._shortest = min(self._shortest, each)
        if each <= _AT_ONCE * self._shortest:
            self._room += 1
        yield found

    def _failed(self, job: range, error: Exception) -> None:
        """Let a job be tried again, unless the executor has failed at it too often."""
        self._failures[job] += 1
        if self._failures[job] > RETRIES:
            raise ExecutorError(
                f"the executor failed {self._failures[job]} times at runs {job.start} to "
                f"{job.stop - 1} ({in_one_line(error)}): see to it, and start again; a store "
                f"keeps what was finished"
            ) from error
        self._again.append(job)
