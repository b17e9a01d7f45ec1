"""What theory predicts for the study, worked out by a process of its own while runs are simulated.

The simulator's kernels must be compiled before the first run, which keeps one core busy. Theory
needs none of them, so it takes the other core from the start.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import cloudpickle

from paofed.algorithms.base import Algorithm
from paofed.algorithms.spec import resolve
from paofed.core.metrics import curve_ticks
from paofed.simulate.engines.workers import Worker
from paofed.simulate.stopping import Report, ignored
from paofed.theory.bounds import StepSizes, step_sizes
from paofed.theory.foresight import Foresight
from paofed.theory.mean import Prediction, predict
from paofed.theory.second.curve import LearningCurve
from paofed.world.scenario import Scenario

_WORTH_A_PROCESS = 100  # ticks; fewer are predicted before another process has started


class AskedOfTheory(NamedTuple):
    """What is to be predicted in one world."""

    scenario: Scenario
    methods: Sequence[str | Algorithm]  # the algorithms whose mean is predicted
    learning: Sequence[str]  # the names of those whose learning curve is predicted, too
    every: int  # ticks from point to point of the curves
    world: int = 0

    @property
    def takes_long(self) -> bool:
        """Whether a process of its own gains any time."""
        return self.scenario.ticks > _WORTH_A_PROCESS


class SaidByTheory(NamedTuple):
    """What theory says of one world."""

    mean: Prediction
    second: Mapping[str, LearningCurve]
    steps: StepSizes


# Waits for an answer, and tells how far it is where that is known.
Answer = Callable[[Report], SaidByTheory]


def foresee(question: AskedOfTheory, seed: int, report: Report = ignored) -> SaidByTheory:
    """Predict the mean models, the learning curves asked for, and the step sizes that are safe."""
    scenario, methods, learning, every, world = question
    foresight = Foresight.of(scenario, seed=seed, world=world)
    fleet, modes = foresight.fleet, foresight.modes

    def told(part: int) -> Report:
        return lambda done: report((part + done) / (1 + len(learning)))

    records = {record.name: record for record in map(resolve, methods)}
    ticks = curve_ticks(scenario.ticks, every)
    mean = predict(fleet, list(records.values()), foresight.settings, ticks, told(0), modes)
    second = {
        name: foresight.learning_curve(records[name], every=every, report=told(part))
        for part, name in enumerate(learning, start=1)
    }
    return SaidByTheory(mean, second, step_sizes(fleet.moments, modes))


@contextmanager
def foreseeing(
    questions: Mapping[str, AskedOfTheory], seed: int, workers: int | None
) -> Iterator[Mapping[str, Answer]]:
    """Begin to answer questions in a process of its own; with one core, only when asked.

    Both ways give the same answers. The process ends with this block, finished or not.
    """
    long = any(question.takes_long for question in questions.values())
    if not long or (workers or os.cpu_count() or 1) == 1:
        yield {label: _now(question, seed) for label, question in questions.items()}
        return
    worker = Worker(cloudpickle.dumps(foresee))
    pool = ThreadPoolExecutor(1)
    try:
        futures = {
            label: pool.submit(worker.do, question=question, seed=seed)
            for label, question in questions.items()
        }
        yield {label: _waited_for(future) for label, future in futures.items()}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        worker.kill()
        pool.shutdown()
        worker.close()


def _now(question: AskedOfTheory, seed: int) -> Answer:
    return lambda report: foresee(question, seed, report)


def _waited_for(future: Future[SaidByTheory]) -> Answer:
    return lambda _: future.result()
