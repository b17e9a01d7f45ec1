"""Runs the study: the paper's settings, a grid around them, and theory beside simulation."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np

from paofed.algorithms import Algorithm
from paofed.algorithms.setup import resolve
from paofed.core.arrays import IntArray
from paofed.experiments.experiment import Experiment
from paofed.experiments.paper.claims import IDEAL, II, INDEPENDENT, PAPERS, Effort, I
from paofed.experiments.paper.study import EXCHANGES, PSO_FED, ROWS, Cell, Study
from paofed.experiments.paper.theory import Answer, AskedOfTheory, Beside, foreseeing
from paofed.simulate.average import average
from paofed.simulate.engines import USUAL
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import HERE, Crew
from paofed.theory.bounds import StepSizes
from paofed.words import counted
from paofed.world.scenario import Scenario

BESIDE_THEORY = ("online-fedsgd", "pao-fed-u1", "pao-fed-c2")

# The algorithms whose learning curves are predicted, by inputs: few, since each takes several
# seconds of processor time.
LEARNING = {INDEPENDENT: ("online-fedsgd", "pao-fed-u1"), PAPERS: ("pao-fed-u1",)}

_GRID, _THEORY = "the grid over step size and kernel width", "theory beside simulation"
FIRST_LOOK = 10  # runs of Setting I after which the study yields a first picture of that setting

# Opens a stage under its name, and yields a function that is told which share of it is done.
OpenStage = Callable[[str], AbstractContextManager[Callable[[float], None]]]


def run_study(
    effort: Effort,
    seed: int,
    folder: Path,
    open_stage: OpenStage,
    crew: Crew = HERE,
    engine: str = USUAL,
) -> Generator[Study, None, None]:
    """Run everything, and yield the study as far as it is after every stage; the last is complete.

    Results of settings are saved in `folder` as soon as they are finished; an interrupt ends the
    work. `engine` runs the settings and the grid; the models that are compared with theory are
    averaged on this machine's cores.
    """
    questions = {
        label: _question(_with_inputs(effort.theory_ticks, memory), LEARNING[label])
        for label, memory in effort.inputs.items()
    }
    early = FIRST_LOOK if effort.runs > FIRST_LOOK else 0
    total = 3 + bool(early) + 2 * len(effort.widths) + 2 * len(questions)
    stages = Stages(total, Experiment(seed, crew, engine), open_stage)
    whole = [*map(resolve, ROWS), *(resolve(other) for _, other in EXCHANGES)]
    lineups = {
        I: whole,
        II: whole,
        IDEAL: [resolve(name) for name in ("pao-fed-c1", "pao-fed-u1")],
    }
    study = Study({}, {}, coming=(*lineups, _GRID, _THEORY))
    with foreseeing(questions, seed, crew.workers) as answers:
        yield study
        for setting, methods in lineups.items():
            scenario, parts = Scenario.load(setting), []
            if early and setting == I:
                parts.append(stages.run(scenario, methods, early, every=10))
                yield replace(study, first_look=parts[0])
            begin = sum(part.runs for part in parts)
            parts.append(stages.run(scenario, methods, effort.runs - begin, every=10, first=begin))
            result = Result.merge(parts)
            result.save(folder / f"{setting}.npz")  # kept if a later stage is interrupted
            study = replace(study, results={**study.results, setting: result}).without(setting)
            yield study
        for width in effort.widths:
            row = {setting: stages.run_row(setting, width, effort) for setting in (I, II)}
            cells = {
                Cell(width, step): {setting: row[setting][step] for setting in (I, II)}
                for step in effort.steps
            }
            study = replace(study, grid={**study.grid, **cells})
            if width == effort.widths[-1]:
                study = study.without(_GRID)
            yield study
        for label, question in questions.items():
            beside, steps = stages.hold_theory(question, answers[label], effort.theory_runs)
            study = replace(study, theory={**study.theory, label: beside}, steps=steps)
        yield study.without(_THEORY)


def _question(scenario: Scenario, learning: Sequence[str]) -> AskedOfTheory:
    return AskedOfTheory(scenario, BESIDE_THEORY, learning, every=scenario.ticks // 40 or 1)


def _with_inputs(ticks: int, memory: tuple[float, float] | None) -> Scenario:
    """Return Setting I over `ticks` ticks with this memory of its inputs; None: the paper's."""
    scenario = stretched(Scenario.load(I), ticks)
    stream = scenario.synthetic
    stream = stream.model_copy(update={"memory": memory or stream.memory})
    return scenario.model_copy(update={"stream": stream})


def stretched(scenario: Scenario, ticks: int) -> Scenario:
    """Return the scenario with another number of ticks, and samples at the same rates."""
    stream = scenario.synthetic
    samples = tuple(max(1, count * ticks // scenario.ticks) for count in stream.samples)
    stream = stream.model_copy(update={"samples": samples})
    return scenario.model_copy(update={"ticks": ticks, "stream": stream})


class Stages:
    """Runs one stage after another, and says which of how many each stage is."""

    def __init__(self, total: int, experiment: Experiment, open_stage: OpenStage) -> None:
        self._total, self._open, self._number = total, open_stage, 0
        self._experiment = experiment

    def _next(self, what: str) -> AbstractContextManager[Callable[[float], None]]:
        self._number += 1
        return self._open(f"stage {self._number} of {self._total}: {what}")

    def run(
        self,
        scenario: Scenario,
        methods: Sequence[Algorithm],
        runs: int,
        *,
        every: int,
        first: int = 0,
    ) -> Result:
        """Run one scenario; an interrupt leaves no result, since all runs are needed."""
        with self._next(f"{scenario.name}, {counted(runs, 'run')}") as report:
            return self._experiment.run(
                scenario, methods, runs, None, report, first=first, every=every
            )

    def run_row(self, setting: str, width: float, effort: Effort) -> Mapping[float, Result]:
        """Run a setting at one kernel width and all step sizes of the grid.

        Return the results by step size. All step sizes share their worlds, which are drawn once.
        """
        names = [name for name in ROWS if name != PSO_FED]
        methods = [
            replace(resolve(name), name=f"{name} at {step}", step_size=step)
            for step in effort.steps
            for name in names
        ]
        scenario = Scenario.load(setting).model_copy(update={"kernel_width": width})
        together = self.run(scenario, methods, effort.grid_runs, every=40)
        return {
            step: _part(together, names, np.arange(len(names)) + place * len(names))
            for place, step in enumerate(effort.steps)
        }

    def hold_theory(
        self, question: AskedOfTheory, answer: Answer, runs: int
    ) -> tuple[Beside, StepSizes]:
        """Average the models of runs in one world, and put the predictions for it beside them."""
        methods = [resolve(method) for method in question.methods]
        with self._next("theory, simulated") as report:
            simulated = average(
                question.scenario, methods, runs=runs, seed=self._experiment.seed,
                every=question.every, report=report,
            )  # fmt: skip
        with self._next("theory, predicted") as report:
            mean, second, steps = answer(report)
        return Beside(mean, simulated, second), steps


def _part(result: Result, names: Sequence[str], which: IntArray) -> Result:
    """Return the algorithms at the places `which` of a result, under new names."""
    described = result.provenance["algorithms"]
    renamed = [{**described[i], "name": name} for i, name in zip(which, names, strict=True)]
    return replace(
        result,
        provenance={**result.provenance, "algorithms": renamed},
        mse=result.mse[:, which],
        traffic=result.traffic[:, which],
        models=result.models[:, which],
    )
