"""One unit of the study: one reading in one setting."""

from collections.abc import Callable, Sequence

from paofed.algorithms import Algorithm
from paofed.report.readings.amount import Amount
from paofed.report.readings.readings import DEFAULT, Reading
from paofed.report.readings.steps import START
from paofed.simulate.montecarlo import run as simulate
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import Crew
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from paofed.world.trace import Trace
from paofed.world.worlds import Worlds


def to_run(reading: Reading, scenario: Scenario, methods: Sequence[Algorithm]) -> list[Algorithm]:
    """Return the methods to run under a reading: all by default, else those that it changes."""
    read = [reading.method(method, scenario) for method in methods]
    if reading.touches_all or reading == DEFAULT:
        return read
    return [new for new, old in zip(read, methods, strict=True) if new != old]


def computed(
    reading: Reading,
    scenario: Scenario,
    methods: Sequence[Algorithm],
    effort: Amount,
    seed: int,
    report: Callable[[float], None] | None,
    crew: Crew,
) -> Result:
    """Run methods, as a reading has them, over the scenario, as the reading has it."""
    start, scenario = scenario.ticks // START, reading.scenario(scenario)

    def try_elsewhere(there: Scenario, tried: Sequence[Algorithm]) -> Result:
        other = (seed + 1) % 2**64  # worlds of this seed have no part in the verdicts
        worlds = as_read(reading, there, other)
        return simulate(worlds, tried, runs=effort.trials, seed=other, **crew._asdict())

    if reading.steps is not None:
        methods = reading.steps.choose(scenario, methods, effort.grid, start, try_elsewhere)
    return simulate(
        as_read(reading, scenario, seed),
        methods,
        runs=effort.runs_of(reading),
        seed=seed,
        same_world=reading.same_world,
        report=report,
        **crew._asdict(),
    )


def as_read(reading: Reading, scenario: Scenario, seed: int) -> Scenario | Worlds:
    """Return the scenario under a reading or, where a scenario cannot say it, Worlds."""
    if not reading.of_trace:
        return scenario

    def trace(world: int, run: int) -> Trace:
        return reading.trace(realize(scenario, world, run, seed=seed))

    return Worlds(
        scenario.name,
        trace,
        step_size=scenario.step_size,
        max_age=scenario.max_age,
        about={"reading": reading.key, "scenario": scenario.model_dump()},
    )
