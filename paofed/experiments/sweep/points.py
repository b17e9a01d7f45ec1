"""What a combination of values is: a scenario, and a method with options.

A key is an option of the methods that take it; other methods are run without it. A key that no
method takes is a key of the scenario, with a dot where it belongs to a law: `loss.up`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from paofed.algorithms import made, taken_by
from paofed.algorithms.base import Algorithm
from paofed.algorithms.setup import Setup, resolve
from paofed.errors import AlgorithmError, InputError, ScenarioError, unknown
from paofed.experiments.experiment import Arm
from paofed.experiments.sweep.axes import Values
from paofed.world.scenario import UNSAID, Scenario
from paofed.world.worlds import Setting

# Keys of a scenario that whoever runs a fleet chooses; all other keys are conditions, which nature
# decides.
CHOSEN = (
    "features",
    "kernel_width",
    "step_size",
    "max_age",
    "linear",
    "start",
    "newcomers",
    "personal",
    "contacts",
)
_NO_KEYS = ("name", "faults")  # keys of a scenario for which no values can be tried
_OF_WORLDS = ("step_size", "max_age", "contacts")  # the keys of worlds of one's own


class Point(NamedTuple):
    """One thing that is tried: a method, and the values of the keys that it has."""

    method: str
    values: Mapping[str, Any]

    def __str__(self) -> str:
        """Write method and values in one line, by which a point can be named.

        >>> str(Point("pao-fed-u1", {"shared": 4, "loss.up": 0.1}))
        'pao-fed-u1 shared=4 loss.up=0.1'
        """
        return " ".join([self.method, *(f"{k}={worded(v)}" for k, v in self.values.items())])

    def in_files(self, keys: Sequence[str]) -> list[str | None]:
        """Return its values of some keys, as files have them."""
        return [worded(self.values[key]) if key in self.values else None for key in keys]


class Layout(NamedTuple):
    """All points of a sweep, and what is run for each of them."""

    points: list[Point]
    arms: list[Arm]
    conditions: list[str]  # the keys that nature decides


def worded(value: Any) -> str:
    """Write a value as the command line takes it."""
    return value if isinstance(value, str) else json.dumps(value)


def laid_out(
    scenario: Setting, methods: Sequence[Setup | Algorithm], rows: Sequence[Values]
) -> Layout:
    """Make all points, each once, and check that every one of them can be run."""
    keys = list(rows[0])
    taken = {name_of(method): _taken(method, keys) for method in methods}
    of_scenario = [key for key in keys if not any(key in mine for mine in taken.values())]
    for key in of_scenario:
        _require_key(key, scenario, methods)
    settings, points, arms = dict[str, Setting](), dict[str, Point](), list[Arm]()
    named = dict[tuple[int, str], Point]()  # by setting and name of an algorithm
    for row in rows:
        own = {key: row[key] for key in of_scenario}
        said = json.dumps(own, sort_keys=True)
        if said not in settings:
            settings[said] = _with_values(scenario, own)
        for method in methods:
            name = name_of(method)
            options = {key: row[key] for key in taken[name]}
            point = Point(name, {key: v for key, v in row.items() if key in own | options})
            if str(point) not in points:
                arm = Arm(settings[said], _built(method, options, settings[said], point))
                other = named.setdefault((id(arm.setting), arm.method.name), point)
                if other is not point:
                    raise AlgorithmError(
                        f"{other} and {point} are one algorithm, {arm.method.name}: leave out one "
                        f"of them",
                        key="over",
                    )
                points[str(point)] = point
                arms.append(arm)
    conditions = [key for key in of_scenario if key not in CHOSEN]
    return Layout(list(points.values()), arms, conditions)


def name_of(method: Setup | Algorithm) -> str:
    """Return the name of a method as it was asked for."""
    return str(method) if isinstance(method, Setup) else method.name


def _taken(method: Setup | Algorithm, keys: Sequence[str]) -> list[str]:
    """Return the keys that are options of a method.

    Refuse a key that the method has a value for.
    """
    known, fixed = taken_by(_row(method)), method.values if isinstance(method, Setup) else {}
    for key in keys:
        if key in fixed:
            raise AlgorithmError(
                f"{method} has a {key} of its own, and {key} is swept over: leave out one of them",
                key=key,
            )
    return [key for key in keys if key in known]


def _built(
    method: Setup | Algorithm, options: Values, scenario: Setting, point: Point
) -> Algorithm:
    """Return the algorithm of a point."""
    try:
        if options:
            fixed = method.values if isinstance(method, Setup) else {}
            found = made(_row(method), fixed | options)
        else:
            found = resolve(method)
        found.require_fits(scenario.features)
    except AlgorithmError as error:
        key = error.key if error.key in options else "algorithms"
        raise AlgorithmError(f"{point}: {error}", key=key) from None
    return found


def _require_key(key: str, scenario: Setting, methods: Sequence[Setup | Algorithm]) -> None:
    """Refuse a key that neither a method nor the scenario has."""
    known, absent = list(_OF_WORLDS), False
    if isinstance(scenario, Scenario):
        known = [*_keys(scenario.model_dump()), *UNSAID]
        place = key.rpartition(".")[0]
        # The keys of a law that the scenario does not have yet, such as `loss`, are checked when
        # the law is made.
        absent = place in type(scenario).model_fields and getattr(scenario, place) is None
    if key not in known and not absent:
        options = [option for m in methods for option in taken_by(_row(m))]
        raise InputError(unknown("key", key, dict.fromkeys((*options, *known))), key=key)


def _row(method: Setup | Algorithm) -> str | Algorithm:
    return method.row if isinstance(method, Setup) else method


def _keys(values: Mapping[str, Any], above: str = "") -> list[str]:
    """Return all keys that hold no keys themselves, with dots."""
    found = []
    for key, value in values.items():
        if isinstance(value, dict):
            found += _keys(value, f"{above}{key}.")
        elif f"{above}{key}" not in _NO_KEYS:
            found.append(f"{above}{key}")
    return found


def _with_values(scenario: Setting, own: Values) -> Setting:
    """Return the setting with some of its values changed, checked whole."""
    if not own:
        return scenario
    try:
        if isinstance(scenario, Scenario):
            return scenario.replace(**own)
        return scenario.model_copy(update=own)
    except ScenarioError as error:
        said = " ".join(f"{key}={worded(value)}" for key, value in own.items())
        # The key of a law's value has the number of its group at its end.
        key = next((key for key in own if f"{error.key}.".startswith(f"{key}.")), "over")
        raise ScenarioError(f"{said}: {error}", key=key) from None
