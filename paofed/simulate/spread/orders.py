"""What is handed to an executor, and what it brings back: bytes, so that anything may be inside.

An order is a task by content: functions of anyone's script travel with it. The worker compares its
own program and files with the client's before it computes anything. `delivered` never raises: so
whatever an executor raises is the executor's own failure, and the unit can be tried again.
"""

import pickle
import time
from typing import NamedTuple

import cloudpickle

from paofed.errors import InputError, in_one_line
from paofed.simulate.engines import engine_of
from paofed.simulate.engines.task import Task, sendable
from paofed.simulate.engines.workers import portable
from paofed.simulate.results.result import RunRecord
from paofed.simulate.spread.identity import host, processor, program, require_program
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
