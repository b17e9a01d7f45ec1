"""What an engine is asked to do: several algorithms over many runs of one setting."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from typing import Literal, NamedTuple, TypedDict

from paofed.algorithms import Algorithm
from paofed.simulate.results.result import RunRecord
from paofed.world.worlds import Setting

Precision = Literal["float32", "float64"]


class Place(TypedDict):
    """Where one run stands among all."""

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
    runs: int
    workers: int

    def place(self, index: int) -> Place:
        """Seed, world and run of the index-th run."""
        world, run = (0, index) if self.same_world else (index, 0)
        return {"seed": self.seed, "world": world, "run": run, "every": self.every}


def each(
    executor: ThreadPoolExecutor, job: Callable[[int], tuple[int, RunRecord]], task: Task
) -> Iterator[tuple[int, RunRecord]]:
    """Yield runs as they are finished; a few wait for a thread, so that the first come at once."""
    left = iter(range(task.runs))
    waiting = {executor.submit(job, index) for index in islice(left, 2 * task.workers)}
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        waiting |= {executor.submit(job, index) for index in islice(left, len(done))}
        # An interrupt that was raised in a thread comes last: runs that ended beside it are kept.
        yield from (f.result() for f in sorted(done, key=lambda f: f.exception() is not None))
