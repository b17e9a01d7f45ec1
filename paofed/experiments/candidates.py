"""Which setups are tried of a method: values of options that are named, or asked for as `auto`.

For `auto`, options that many methods have are in a table; of an option that only one method has,
values around its default are tried.
"""

import math
from collections.abc import Callable, Mapping
from inspect import Parameter
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from paofed.algorithms import made, options_of
from paofed.algorithms.base import Algorithm
from paofed.algorithms.setup import AUTO, Setup
from paofed.core.learners import AGREED, chosen
from paofed.errors import AlgorithmError

if TYPE_CHECKING:  # names of candidates can be offered without what scenarios need
    from paofed.world.worlds import Setting

_MOST = 200  # the most candidates of one race
# The most numbers in a fleet's matrices: a race holds those of several fleets at once.
_MOST_NUMBERS = 2**25


Choices = tuple[Any, ...]  # what is tried of an option, whatever kind of values it takes
Axes = Mapping[str, Choices]

# All grids of step sizes that the package tries. |z|^2 is 1 on average and at most 2, so that steps
# are stable on average below 2 and always below 1. Of a race, each is twice the one before; a plan
# tries fewer beside many other options, and three of a method that is seldom the best. The study of
# the paper tries some around 0.4, which is the paper's, and a first look at it that one alone.
STEP_SIZES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
PLANNED_STEPS: Axes = {"step_size": (0.2, 0.4, 0.8, 1.2, 1.6)}
FEW_STEPS: Axes = {"step_size": (0.4, 0.8, 1.2)}
STUDIED_STEPS, GLANCED_STEPS = (0.1, 0.2, 0.4, 0.75), (0.4,)


class Grid(NamedTuple):
    """The values tried for one option, beside the usual one of the row or the scenario."""

    values: Choices
    most: str | None = None  # the key of a scenario whose number no value may exceed
    # Returns the usual value, if the record of a method has it.
    of_record: Callable[[Algorithm], Any] | None = None


def _staleness(method: Algorithm) -> Any:
    """Return the base of weights by age; None where they are no powers of one number."""
    return getattr(getattr(method.server, "staleness", None), "base", None)


def _learner(method: Algorithm) -> str | None:
    """Return the name of the learner; None if it has rules of its own."""
    found = chosen(method.learner)
    return None if found is None else found.learner


# All choices are in this table.
GRIDS: Mapping[str, Grid] = {
    "step_size": Grid(STEP_SIZES),
    "shared": Grid((1, 2, 4, 8, 16, 32, 64), most="features"),
    "max_age": Grid((0, 2, 5, 10, 20)),
    "staleness": Grid((0.2, 0.5, 1.0), of_record=_staleness),
    # Of those on which a live fleet may agree; rls only where its matrices are not too large.
    "learner": Grid(("lms", *AGREED), of_record=_learner),
}
# Learners with step sizes of their own, the usual one first. A step size of rls is one over its
# ridge.
STEPS: Mapping[str, tuple[float, ...]] = {"rls": (10.0, 1.0, 3.0, 30.0)}
# What is tried of any other number, as multiples of the option's default.
_AROUND = (0.25, 0.5, 2.0, 4.0)


def asks(setup: Setup) -> list[str]:
    """Return the options of a setup that are to be chosen; refuse those that cannot be."""
    for key in setup.left_open:
        if key not in GRIDS and not _around(setup.row, key):
            raise AlgorithmError(
                f"{setup}: {key} cannot be chosen: {AUTO} is for {', '.join(GRIDS)} and for "
                f"options of a method whose default is a number above 0, True or False; give a "
                f"value",
                key=key,
            )
    return setup.left_open


def _around(name: str, key: str) -> Choices:
    """Return what to try for an option that only this method has: its default, and others near it.

    Returns nothing where no default says what the values of the option are like.
    """
    option = options_of(name).get(key)
    match None if option is None else option.default:
        case bool(default):
            return default, not default
        case int(default) if default > 0:
            return default, *(max(1, round(default * times)) for times in _AROUND)
        case float(default) if 0 < default < math.inf:
            return default, *(default * times for times in _AROUND)
    return ()


def expanded(setup: Setup, scenario: "Setting") -> list[Setup]:
    """Return all candidates that a setup stands for, the usual one first.

    >>> from paofed.world.scenario import Scenario
    >>> found = expanded(Setup.of("pao-fed-u1:staleness=auto,shared=2"), Scenario.load("ideal"))
    >>> print(*found[:2])
    pao-fed-u1:staleness=1.0,shared=2 pao-fed-u1:staleness=0.2,shared=2
    """
    # The learner first, since step sizes depend on it.
    wanted = sorted(asks(setup), key=lambda key: key != "learner")
    given = {key: value for key, value in setup.values.items() if key not in wanted}
    found: list[dict[str, Any]] = [{}]
    for key in wanted:
        found = [
            {**values, key: value}
            for values in found
            for value in _values(setup.row, key, given | values, scenario)
        ]
    if len(found) > _MOST:
        raise AlgorithmError(
            f"{setup} stands for {len(found)} candidates: expected at most {_MOST}; "
            f"choose fewer options at a time"
        )
    if "learner" in wanted and "step_size" not in setup.values:
        found = [{**values, **_own_step(values["learner"])} for values in found]
    return [setup.with_(**values) for values in found]


def _values(name: str, key: str, options: Mapping[str, Any], scenario: "Setting") -> Choices:
    """Return the values to try for one option beside other options, the usual one first."""
    method = made(name, options)
    if key not in GRIDS:
        values = dict.fromkeys(_around(name, key))
        return tuple(value for value in values if _takes(name, {**options, key: value}))
    if key == "step_size" and (steps := STEPS.get(str(_learner(method)))):
        return steps
    usual, grid = _usual(name, key, method, scenario), GRIDS[key]
    most = math.inf if grid.most is None else getattr(scenario, grid.most)
    found = (v for v in grid.values if grid.most is None or v <= most)
    if key == "learner" and scenario.clients * scenario.features**2 > _MOST_NUMBERS:
        found = (v for v in found if v != "rls")
    return tuple(dict.fromkeys(v for v in (usual, *found) if v is not None))


def _takes(name: str, options: Mapping[str, Any]) -> bool:
    """Whether a method can be made with these options: a share, say, cannot be doubled for ever."""
    try:
        made(name, options)
    except AlgorithmError:
        return False
    return True


def _own_step(learner: str) -> dict[str, float]:
    """Return the usual step size of a learner for which a scenario's step size means nothing."""
    return {"step_size": STEPS[learner][0]} if learner in STEPS else {}


def _usual(name: str, key: str, method: Algorithm, scenario: "Setting") -> Any:
    """Return the value of an option without a choice; None where that is not known."""
    own = options_of(name).get(key)
    if own is not None:
        return None if own.default is Parameter.empty else own.default
    of_record = GRIDS[key].of_record
    return getattr(scenario, key, None) if of_record is None else of_record(method)


_WIDTH_OPTIONS = ("shared", "k", "up", "down")


class Entrant(NamedTuple):
    """A method, and for each option the values to choose from; None leaves the option out."""

    setup: Setup
    axes: Axes

    @classmethod
    def of(cls, word: str, axes: Axes) -> "Entrant":
        """Read the method of an entrant from a word."""
        return cls(Setup.of(word), axes)

    def candidates(self, features: float = math.inf) -> list[Setup]:
        """Return all setups that are tried; windows wider than the model are left out.

        >>> print(*Entrant.of("pao-fed-u1", {"shared": (None, 8)}).candidates())
        pao-fed-u1 pao-fed-u1:shared=8
        """
        choices = (dict(zip(self.axes, one, strict=True)) for one in product(*self.axes.values()))
        return [self.setup.with_(**one) for one in choices if _widest(one) <= features]


def _widest(values: Mapping[str, Any]) -> int:
    """Return the most coordinates that a message has."""
    return max((values.get(key) or 0 for key in _WIDTH_OPTIONS), default=0)
