"""What an engine is asked to do: several algorithms over many runs of one setting."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from typing import NamedTuple, TypedDict

import cloudpickle

from paofed.algorithms import Algorithm
from paofed.errors import AlgorithmError, InputError, ScenarioError
from paofed.simulate.engines import Precision
from paofed.simulate.results.outcome import RunRecord
from paofed.world.worlds import Setting


class Place(TypedDict):
    """Seed, world and run of one run among all."""

    seed: int
    world: int
    run: int
    every: int


class Task(NamedTuple):
    """What all runs have in common."""

    scenario: Setting
    methods: Sequence[Algorithm]
    seed: int
    same_world: bool
    every: int
    precision: Precision
    # The runs by index; an engine takes the next index when it has room for a run.
    runs: Iterable[int]
    workers: int

    def place(self, index: int) -> Place:
        """Return seed, world and run of the index-th run."""
        world, run = (0, index) if self.same_world else (index, 0)
        return {"seed": self.seed, "world": world, "run": run, "every": self.every}


def each(
    executor: ThreadPoolExecutor,
    job: Callable[[int], tuple[int, RunRecord]],
    runs: Iterable[int],
    workers: int,
) -> Iterator[tuple[int, RunRecord]]:
    """Yield runs as they are finished.

    Only a few wait for a thread, so that the first come soon.
    """
    left = iter(runs)
    waiting = {executor.submit(job, index) for index in islice(left, 2 * workers)}
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        waiting |= {executor.submit(job, index) for index in islice(left, len(done))}
        # An interrupt raised in a thread is handled last: runs that ended beside it are kept.
        yield from (f.result() for f in sorted(done, key=lambda f: f.exception() is not None))


def sendable(work: object, task: Task, advice: str) -> bytes:
    """Pickle work of a task; `advice` ends the error for work that cannot be copied."""
    try:
        pickled: bytes = cloudpickle.dumps(work)
    except Exception as error:  # somebody's objects may raise anything when they are copied
        raise _unsendable(task, error, advice) from error
    return pickled


def _unsendable(task: Task, error: Exception, advice: str) -> InputError:
    """Say which part cannot be copied: the worlds, or else the algorithms."""
    wrong = f"cannot be sent to another process ({error}): {advice}"
    try:
        cloudpickle.dumps(task.scenario)
    except Exception:  # noqa: BLE001 (likewise)
        return ScenarioError(f"the function of {task.scenario.name} {wrong}")
    return AlgorithmError(f"{', '.join(method.name for method in task.methods)} {wrong}")
