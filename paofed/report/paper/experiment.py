"""What is run for the study: the paper's settings, a grid around them, theory beside them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from paofed.algorithms.spec import from_text
from paofed.report.paper.claims import IDEAL, II, SUBSETS, I
from paofed.report.paper.study import EXCHANGES, Cell, Study
from paofed.report.paper.theory import Beside
from paofed.simulate.average import average
from paofed.simulate.engines import USUAL
from paofed.simulate.montecarlo import run as simulate
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import HERE, Crew
from paofed.theory.bounds import step_sizes
from paofed.theory.foresight import Foresight
from paofed.theory.mean import predict
from paofed.words import counted
from paofed.world.scenario import Scenario

VERSIONS = tuple(f"pao-fed-{version}" for version in ("c0", "u0", "c1", "u1", "c2", "u2"))
SIZES = ("pao-fed-u1:shared=1", "pao-fed-u1:shared=32")
ROWS = ("online-fedsgd", *SUBSETS, "pso-fed:subset=0.2", *VERSIONS, *SIZES)
BESIDE_THEORY = ("online-fedsgd", "pao-fed-u1", "pao-fed-c2")

_INDEPENDENT, _PAPERS = "inputs independent in time", "the paper's inputs"
_INPUTS = {_INDEPENDENT: (0.0, 0.0), _PAPERS: None}
# Whose learning curves are predicted, too: each takes a dozen seconds of processor time.
LEARNING = {_INDEPENDENT: ("online-fedsgd", "pao-fed-u1"), _PAPERS: ("pao-fed-u1",)}

# Opens a stage under its name, and yields what is told the share of it that is done.
OpenStage = Callable[[str], AbstractContextManager[Callable[[float], None]]]


class Effort(NamedTuple):
    """How much is run."""

    runs: int
    grid_runs: int
    widths: tuple[float, ...]
    steps: tuple[float, ...]
    theory_runs: int
    theory_ticks: int  # how far theory is followed
    inputs: Mapping[str, tuple[float, float] | None]  # memory; None: the paper's, which is last


FULL = Effort(100, 8, (0.7, 1.0, 2.0, 3.0), (0.1, 0.2, 0.4, 0.75), 40, 600, _INPUTS)
QUICK = Effort(4, 2, (1.0, 2.0), (0.4,), 4, 60, {_PAPERS: None})


def run_study(
    effort: Effort,
    seed: int,
    folder: Path,
    open_stage: OpenStage,
    crew: Crew = HERE,
    engine: str = USUAL,
) -> Study:
    """Run everything, saving the settings' results on the way; an interrupt ends it.

    The engine runs settings and grid; models beside theory are averaged on this machine's cores.
    """
    cells = [Cell(width, step) for width in effort.widths for step in effort.steps]
    stages = _Stages(3 + 2 * len(cells) + 2 * len(effort.inputs), seed, open_stage, crew, engine)
    whole = (*ROWS, *(other for _, other in EXCHANGES))
    lineups = {I: whole, II: whole, IDEAL: ("pao-fed-c1", "pao-fed-u1")}
    results = {}
    for setting, names in lineups.items():
        results[setting] = stages.run(Scenario.load(setting), names, effort.runs, every=10)
        results[setting].save(folder / f"{setting}.npz")  # kept if a later stage is interrupted
    on_grid = [name for name in ROWS if not name.startswith("pso-fed")]
    grid = {
        cell: {
            setting: stages.run(
                Scenario.load(setting).model_copy(update=cell._asdict()),
                on_grid,
                effort.grid_runs,
                every=40,
            )
            for setting in (I, II)
        }
        for cell in cells
    }
    theory = {}
    for label, memory in effort.inputs.items():
        scenario = _with_inputs(effort.theory_ticks, memory)
        foresight = Foresight.of(scenario, seed=seed)
        theory[label] = stages.hold_theory(foresight, scenario, effort.theory_runs, LEARNING[label])
    return Study(results, grid, theory, step_sizes(foresight.fleet.moments, foresight.modes))


def _with_inputs(ticks: int, memory: tuple[float, float] | None) -> Scenario:
    """Setting I over so many ticks at the same rates; None: with the paper's memory."""
    scenario = Scenario.load(I)
    stream = scenario.synthetic
    samples = tuple(max(1, count * ticks // scenario.ticks) for count in stream.samples)
    stream = stream.model_copy(update={"samples": samples, "memory": memory or stream.memory})
    return scenario.model_copy(update={"ticks": ticks, "stream": stream})


class _Stages:
    """Runs one stage after another, telling which of how many."""

    def __init__(
        self, total: int, seed: int, open_stage: OpenStage, crew: Crew, engine: str
    ) -> None:
        self._total, self._seed, self._open, self._number = total, seed, open_stage, 0
        self._crew, self._engine = crew, engine

    def _next(self, what: str) -> AbstractContextManager[Callable[[float], None]]:
        self._number += 1
        return self._open(f"stage {self._number} of {self._total}: {what}")

    def run(self, scenario: Scenario, names: Sequence[str], runs: int, *, every: int) -> Result:
        """Run one scenario; interrupted, it has no result: a study of fewer runs is another."""
        methods = [from_text(name) for name in names]
        with self._next(f"{scenario.name}, {counted(runs, 'run')}") as report:
            return simulate(
                scenario, methods, runs=runs, seed=self._seed, every=every, report=report,
                engine=self._engine, **self._crew._asdict(),
            )  # fmt: skip

    def hold_theory(
        self, foresight: Foresight, scenario: Scenario, runs: int, learning: Sequence[str]
    ) -> Beside:
        """Average the models over runs in one world, and predict their mean there.

        Of the algorithms `learning`, the learning curve is predicted, too.
        """
        methods = [from_text(name) for name in BESIDE_THEORY]
        every = scenario.ticks // 40 or 1
        with self._next("theory, simulated") as report:
            simulated = average(
                scenario, methods, runs=runs, seed=self._seed, every=every, report=report
            )
        fleet, settings, modes = foresight.fleet, foresight.settings, foresight.modes
        with self._next("theory, predicted") as report:

            def told(part: int) -> Callable[[float], None]:
                return lambda done: report((part + done) / (1 + len(learning)))

            mean = predict(fleet, methods, settings, simulated.ticks, told(0), modes)
            second = {
                name: foresight.learning_curve(name, every=every, report=told(part))
                for part, name in enumerate(learning, start=1)
            }
        return Beside(mean, simulated, second)
