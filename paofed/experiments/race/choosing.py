"""Settings that are to be chosen before a run: `auto` in the place of a value."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from paofed.algorithms import Algorithm
from paofed.algorithms.setup import AUTO, Setup, method_of, resolve
from paofed.experiments.race.record import Race, lms_step
from paofed.simulate.results.result import Result
from paofed.world.scenario import Scenario


class Choice(NamedTuple):
    """The algorithms to run, and the races that chose their settings."""

    methods: list[Algorithm]
    races: list[Race]

    def with_step_of_lms(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the best step size for LMS that was tried, if one was.

        It is for baselines, which take the scenario's step size.
        """
        step = lms_step(self.races)
        return scenario if step is None else scenario.model_copy(update={"step_size": step})

    def kept_in(self, result: Result) -> Result:
        """Return the result of the run; its provenance names the races."""
        for race in self.races:
            result = race.kept_in(result)
        return result


def choose(methods: Sequence[str | Setup | Algorithm], race_of: Callable[[Setup], Race]) -> Choice:
    """Replace every setup with an option `auto` by what wins its race.

    `race_of` runs the race of a setup, as `paofed.race` does. A setup stands for one algorithm in
    the end, and is not repeated: one with a chosen value may be the same as another to which that
    value was given.
    """
    given = list(map(method_of, methods))
    open_ones = dict.fromkeys(one for one in given if isinstance(one, Setup) and one.left_open)
    if not open_ones:
        return Choice(list(map(resolve, given)), [])
    races = {one: race_of(one) for one in open_ones}
    taken = [races[one].best if one in races else resolve(one) for one in given]
    return Choice(list({one.name: one for one in taken}.values()), list(races.values()))


def with_auto(setup: Setup) -> Setup:
    """Return a setup whose step size is to be chosen, unless it has one.

    >>> print(with_auto(Setup.of("pao-fed-u1:shared=8")))
    pao-fed-u1:shared=8,step_size=auto
    """
    return setup if "step_size" in setup.values else setup.with_(step_size=AUTO)
