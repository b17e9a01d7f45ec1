"""Predicts what theory says for the study, in a second process while runs are simulated.

The simulator's kernels must be compiled before the first run, which keeps one core busy. Theory
needs no kernels, so its process can use another core from the start.
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
from paofed.theory.foresight import Check, Foresight
from paofed.theory.mean import Prediction, predict
from paofed.theory.second.curve import LearningCurve
from paofed.world.scenario import Scenario

# Ticks; predictions of fewer are finished before a second process would have started.
_WORTH_A_PROCESS = 100


class AskedOfTheory(NamedTuple):
    """A question to theory: what to predict in one world of a scenario."""

    scenario: Scenario
    methods: Sequence[str | Algorithm]  # the algorithms whose mean model is predicted
    learning: Sequence[str]  # names of the algorithms whose learning curve is predicted, too
    every: int  # ticks between two points of a curve
    world: int = 0
    check: Check = "none"  # what is done about the error of learning curves; runs beside say it too

    @property
    def takes_long(self) -> bool:
        """Whether a second process gains time."""
        return self.scenario.ticks > _WORTH_A_PROCESS


class SaidByTheory(NamedTuple):
    """The answer of theory for one world: mean models, learning curves by name, step sizes."""

    mean: Prediction
    second: Mapping[str, LearningCurve]
    steps: StepSizes


# Returns theory's answer when it is there; the argument is told the progress where it is known.
Answer = Callable[[Report], SaidByTheory]


def foresee(question: AskedOfTheory, seed: int, report: Report = ignored) -> SaidByTheory:
    """Predict the mean models, the learning curves asked for, and the bounds of the step size."""
    scenario, methods, learning, every, world, check = question
    foresight = Foresight.of(scenario, seed=seed, world=world)
    fleet, modes = foresight.fleet, foresight.modes

    def told(part: int) -> Report:
        return lambda done: report((part + done) / (1 + len(learning)))

    records = {record.name: record for record in map(resolve, methods)}
    ticks = curve_ticks(scenario.ticks, every)
    mean = predict(fleet, list(records.values()), foresight.settings, ticks, told(0), modes)
    second = {
        name: foresight.learning_curve(records[name], every=every, check=check, report=told(part))
        for part, name in enumerate(learning, start=1)
    }
    return SaidByTheory(mean, second, step_sizes(fleet.moments, modes))


@contextmanager
def foreseeing(
    questions: Mapping[str, AskedOfTheory], seed: int, workers: int | None
) -> Iterator[Mapping[str, Answer]]:
    """While inside, answer questions in a second process; yield the answers by label.

    Where there is one core, or where no question takes long, there is no second process, and each
    question is answered when its answer is called. Both ways give the same answers. The process
    ends with the `with` block, finished or not.
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
