"""Which candidates there are: methods that a live fleet can follow, options, shares of contacts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from paofed.algorithms import options_of
from paofed.algorithms.base import Algorithm, Exchange
from paofed.algorithms.spec import from_text, parted
from paofed.core.learners import chosen
from paofed.errors import InputError
from paofed.racing.entrants import Axes, Entrant, worded

if TYPE_CHECKING:  # names of candidates can be offered without what scenarios need
    from paofed.world.worlds import Setting

MOST_LEVELS = 8  # how many shares of contacts are tried: all of them, half, a quarter, ...
_STEPS: Axes = {"step_size": (0.2, 0.4, 0.8, 1.2, 1.6)}
_FEW_STEPS: Axes = {"step_size": (0.4, 0.8, 1.2)}
_WHOLE = -1  # stands for all features of a model
# Windows with and without weights by age, coordinated and uncoordinated; fewer bits; and a server
# that mixes in a little of each message. All of these can be served.
FIELD: Mapping[str, Axes] = {
    "pao-fed-u1": {"shared": (1, 4, 16, 64, _WHOLE), **_STEPS},
    "pao-fed-u2": {"shared": (1, 4, 16, 64, _WHOLE), **_STEPS},
    "pao-fed-c1": {"shared": (1, 4, 16, 64, _WHOLE), **_STEPS},
    "pao-fed-c2": {"shared": (1, 4, 16, 64, _WHOLE), **_STEPS},
    "quantised:bits=8,down_bits=8": {"shared": (16, 64), **_FEW_STEPS},
    "fed-async:alpha=0.1": {"shared": (4, 16, 64), **_FEW_STEPS},
}
USUAL = "pao-fed-u1"  # the method of a fleet without a plan


class Candidate(NamedTuple):
    """Settings of a fleet: an algorithm's word, and the share of contacts that devices use."""

    word: str
    contacts: float

    def __str__(self) -> str:
        """Both settings, as tables show them."""
        return self.word if self.contacts == 1 else f"{self.word} at {self.contacts:g} of contacts"

    def over(self, scenario: "Setting") -> "Setting":
        """Return the scenario with these settings; it never has more contacts than it had."""
        return thinned(scenario, self.contacts)


def thinned(scenario: "Setting", share: float) -> "Setting":
    """Return the scenario in which devices use this share of the contacts that they used before."""
    if share == 1:
        return scenario
    return scenario.model_copy(update={"contacts": share * (scenario.contacts or 1.0)})


def words_of(
    scenario: "Setting", algorithms: Sequence[str] | str | None, exchange: Exchange
) -> dict[str, str]:
    """Return all words that are tried, each with its shape: the options that decide what it sends.

    `algorithms` are names of the field, or whole words of one's own; None is the whole field.
    """
    asked = [algorithms] if isinstance(algorithms, str) else algorithms
    given = list(FIELD) if asked is None else list(asked)
    if not given:
        raise InputError("no algorithm was given: name at least one")
    for one in given:
        if not isinstance(one, str):
            raise InputError(
                f"{_told(one)} is no algorithm's word: expected one as in {USUAL}:shared=4 or "
                f"file.py:name, since a plan tries options by their names; race and sweep take "
                f"records"
            )
    words = [word for one in dict.fromkeys(given) for word in _expanded(one, scenario)]
    found = {worded(word, {"exchange": exchange}): _shape(word) for word in words}
    for word in found:
        from_text(word).require_fits(scenario.features)
    return found


def _told(given: object) -> str:
    """Name what somebody gave instead of a word; a record by its name, since all of it is long."""
    return f"the record {given.name}" if isinstance(given, Algorithm) else repr(given)


def _expanded(given: str, scenario: "Setting") -> list[str]:
    """Return the candidates of one method; a word with a step size stands for itself."""
    name, options = parted(given)
    if "exchange" in options:
        raise InputError(f"{given}: the exchange is that of the whole plan; leave it out")
    known = next((w for w in FIELD if w == given or w.partition(":")[0] == given), None)
    axes = FIELD[known] if known else {"shared": (4, 16, 64), **_STEPS}
    possible = {"step_size": True, "shared": "shared" in options_of(name)}
    own = {
        key: _values(key, values, scenario)
        for key, values in axes.items()
        if key not in options and possible[key]
    }
    return Entrant(known or given, own).candidates(scenario.features)


def _values(key: str, values: tuple[Any, ...], scenario: "Setting") -> tuple[Any, ...]:
    """Return the values to try for an option; the scenario's own step size is always among them."""
    if key == "step_size":
        return tuple(sorted({scenario.step_size, *values}))
    return tuple(dict.fromkeys(scenario.features if v == _WHOLE else v for v in values))


def _shape(word: str) -> str:
    """Return a word without the options that do not change what is sent."""
    name, options = parted(word)
    return worded(name, {k: v for k, v in options.items() if k not in ("step_size", "staleness")})


def levels(cheapest: float, least: float) -> list[float]:
    """Return shares of contacts to try: halves, until the cheapest shape costs at most `least`."""
    found = [1.0]
    while cheapest * found[-1] > least and len(found) < MOST_LEVELS:
        found.append(found[-1] / 2)
    return found


def named(candidates: Iterable[Candidate]) -> dict[str, Candidate]:
    """Return candidates by the names that tables show."""
    return {str(one): one for one in candidates}


def word_of(name: str) -> str:
    """Return the word of a candidate from the name that tables show.

    >>> word_of(str(Candidate("pao-fed-u1", 0.25)))
    'pao-fed-u1'
    """
    return re.sub(r" at \S+ of contacts$", "", name)


def step_of(word: str, scenario: "Setting") -> float | None:
    """Return the step size of a method with LMS steps; None for a method with another learner."""
    method = from_text(word)
    learner = chosen(method.learner)
    if learner is None or learner.learner != "lms":
        return None
    return scenario.step_size if method.step_size is None else method.step_size
