"""One cell of the study: one interpretation in one setting."""

from collections.abc import Callable, Sequence

from lab.interpretations.amount import Amount
from lab.interpretations.interpretations import DEFAULT, Interpretation
from lab.interpretations.step_sizes import START
from paofed.algorithms import Algorithm
from paofed.experiments.experiment import Experiment
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import Crew
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from paofed.world.trace import Trace
from paofed.world.worlds import Setting, Worlds


def to_run(
    interpretation: Interpretation, scenario: Scenario, methods: Sequence[Algorithm]
) -> list[Algorithm]:
    """Return the methods to run: all by default, else those that the interpretation changes."""
    read = [interpretation.method(method, scenario) for method in methods]
    if interpretation.touches_all or interpretation == DEFAULT:
        return read
    return [new for new, old in zip(read, methods, strict=True) if new != old]


def computed(
    interpretation: Interpretation,
    scenario: Scenario,
    methods: Sequence[Algorithm],
    effort: Amount,
    seed: int,
    report: Callable[[float], None] | None,
    crew: Crew,
) -> Result:
    """Run methods over the scenario, both as the interpretation has them."""
    start, scenario = scenario.ticks // START, interpretation.scenario(scenario)

    def try_elsewhere(there: Scenario, tried: Sequence[Algorithm]) -> Result:
        other = (seed + 1) % 2**64  # worlds of this seed have no part in the verdicts
        worlds = interpreted(interpretation, there, other)
        return Experiment(other, crew, points=None).run(worlds, tried, effort.trials, None)

    if interpretation.steps is not None:
        methods = interpretation.steps.choose(scenario, methods, effort.grid, start, try_elsewhere)
    setting, runs = interpreted(interpretation, scenario, seed), effort.runs_of(interpretation)
    experiment = Experiment(seed, crew, points=None, same_world=interpretation.same_world)
    return experiment.run(setting, methods, runs, None, report)


def interpreted(interpretation: Interpretation, scenario: Scenario, seed: int) -> Setting:
    """Return the scenario under an interpretation or, where a scenario cannot say it, worlds."""
    if not interpretation.of_trace:
        return scenario

    def trace(world: int, run: int) -> Trace:
        return interpretation.trace(realize(scenario, world, run, seed=seed))

    return Worlds(
        scenario.name,
        trace,
        step_size=scenario.step_size,
        max_age=scenario.max_age,
        about={"interpretation": interpretation.key, "scenario": scenario.model_dump()},
    ).sized()
