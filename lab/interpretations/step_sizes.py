"""A step size for each method, found on other worlds than those that are judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.experiments.paper.stages import stretched
from paofed.simulate.results.result import Result
from paofed.world.scenario import Scenario

START = 10  # the start of a curve is one in so many of the paper's ticks: the first tenth

# Runs methods over a scenario, in other worlds than those that are judged.
Try = Callable[[Scenario, Sequence[Algorithm]], Result]


@dataclass(frozen=True)
class StepChoice:
    """How step sizes are chosen: the best for each method, or so that all start as one of them."""

    like: str | None = None  # the method whose start all others match
    pace: float = 1.0  # the step size of that method, in units of the scenario's

    def choose(
        self,
        scenario: Scenario,
        methods: Sequence[Algorithm],
        grid: Sequence[float],
        start: int,
        run: Try,
    ) -> list[Algorithm]:
        """Return the methods with their step sizes; the start takes `start` ticks."""
        judged = scenario if self.like is None else stretched(scenario, start)
        share: Share = "end" if self.like is None else "start"
        tried = [run(judged.model_copy(update={"step_size": step}), methods) for step in grid]
        errors = {m.name: np.array([error_db(r, m.name, share) for r in tried]) for m in methods}
        if self.like is None:
            steps = {name: grid[int(np.argmin(found))] for name, found in errors.items()}
        else:
            own = self.pace * scenario.step_size
            like = run(judged.model_copy(update={"step_size": own}), methods)
            level = error_db(like, self.like, share)
            steps = {name: matched(grid, found, level) for name, found in errors.items()}
            steps[self.like] = own
        return [replace(method, step_size=steps[method.name]) for method in methods]


Share = Literal["start", "end"]


def error_db(result: Result, name: str, share: Share) -> float:
    """Return the error of a method in dB, mean over runs: the final error, or over all points."""
    linear = result.run_finals(name) if share == "end" else result.run_curves(name)
    mean = float(decibels(linear).mean())
    return mean if np.isfinite(mean) else np.inf


def matched(grid: Sequence[float], errors: FloatArray, level: float) -> float:
    """Return the smallest step size whose error is at a level, interpolated between the grid's.

    Where no step size reaches the level, the one that comes nearest is returned.
    """
    reached = np.flatnonzero(errors <= level)
    if reached.size == 0:
        return float(grid[int(np.argmin(errors))])
    first = int(reached[0])
    if first == 0:
        return float(grid[0])
    part = (errors[first - 1] - level) / (errors[first - 1] - errors[first])
    low, high = np.log(grid[first - 1]), np.log(grid[first])
    return float(np.exp(low + part * (high - low)))
