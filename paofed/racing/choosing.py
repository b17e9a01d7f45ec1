"""Settings that are to be chosen before a run: `auto` in the place of a value."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from paofed.algorithms import Algorithm
from paofed.algorithms.spec import AUTO, asks_for_choice, parted
from paofed.racing.record import Race, lms_step
from paofed.simulate.results.result import Result
from paofed.world.scenario import Scenario


class Choice(NamedTuple):
    """The algorithms to run, and the races that chose their settings."""

    methods: list[str | Algorithm]
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


def choose(methods: Sequence[str | Algorithm], race_of: Callable[[str], Race]) -> Choice:
    """Replace every word with an option `auto` by what wins its race.

    `methods` are words or records of algorithms; `race_of` runs the race of a word, as
    `paofed.race` does. A word stands for one algorithm in the end, and is not repeated: one with a
    chosen value may be the same as another to which that value was given.
    """
    asking = [one for one in methods if isinstance(one, str) and asks_for_choice(one)]
    if not asking:
        return Choice(list(methods), [])
    races = {word: race_of(word) for word in asking}
    found: dict[str, str | Algorithm] = {}
    for one in methods:
        taken = races[one].winner if isinstance(one, str) and one in races else one
        found.setdefault(taken if isinstance(taken, str) else taken.name, taken)
    return Choice(list(found.values()), list(races.values()))


def with_auto(word: str) -> str:
    """Return the word of an algorithm with `step_size=auto`, unless it has a step size.

    >>> with_auto("pao-fed-u1:shared=8"), with_auto("pao-fed-u1:step_size=0.4")
    ('pao-fed-u1:shared=8,step_size=auto', 'pao-fed-u1:step_size=0.4')
    """
    _, options = parted(word)
    return word if "step_size" in options else f"{word}{',' if options else ':'}step_size={AUTO}"
