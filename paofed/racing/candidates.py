"""Which values of an option are tried where somebody asks for `auto`."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter
from itertools import product
from typing import Any, NamedTuple

from paofed.algorithms import made, options_of
from paofed.algorithms.base import Algorithm
from paofed.algorithms.spec import parted
from paofed.errors import AlgorithmError
from paofed.world.scenario import Scenario

AUTO = "auto"
_MOST = 200  # candidates of one race


class Grid(NamedTuple):
    """What is tried for one option, beside what is usual: the row's own value or the scenario's."""

    values: tuple[Any, ...]
    most: str | None = None  # the number of a scenario that no value may exceed
    of_record: Callable[[Algorithm], Any] | None = None  # the usual value, where a record has it


def _staleness(method: Algorithm) -> Any:
    """The base of weights by age; None where they are no powers of one number."""
    return getattr(getattr(method.server, "staleness", None), "base", None)


# The one table of choices. Step sizes: |z|^2 is 1 on average and at most 2, so that steps are
# stable on average below 2 and always below 1; each is twice the one before.
GRIDS: Mapping[str, Grid] = {
    "step_size": Grid((0.05, 0.1, 0.2, 0.4, 0.8, 1.6)),
    "shared": Grid((1, 2, 4, 8, 16, 32, 64), most="features"),
    "max_age": Grid((0, 2, 5, 10, 20)),
    "staleness": Grid((0.2, 0.5, 1.0), of_record=_staleness),
}


def asks(text: str) -> list[str]:
    """The options of an algorithm's word that are to be chosen."""
    _, options = parted(text)
    found = [key for key, value in options.items() if value == AUTO]
    for key in found:
        if key not in GRIDS:
            raise AlgorithmError(
                f"{text}: {key} cannot be chosen: {AUTO} is for {', '.join(GRIDS)}; give a value"
            )
    return found


def grids_of(text: str, scenario: Scenario) -> dict[str, tuple[Any, ...]]:
    """The values to try by option, the usual one first."""
    name, options = parted(text)
    chosen = asks(text)
    method = made(name, {key: value for key, value in options.items() if key not in chosen})
    return {key: tuple(_values(name, key, method, scenario)) for key in chosen}


def _values(name: str, key: str, method: Algorithm, scenario: Scenario) -> Iterator[Any]:
    grid = GRIDS[key]
    if (usual := _usual(name, key, method, scenario)) is not None:
        yield usual
    most = math.inf if grid.most is None else getattr(scenario, grid.most)
    yield from (v for v in grid.values if v != usual and (grid.most is None or v <= most))


def _usual(name: str, key: str, method: Algorithm, scenario: Scenario) -> Any:
    """What holds without a choice; None where that is not known."""
    own = options_of(name).get(key)
    if own is not None:
        return None if own.default is Parameter.empty else own.default
    of_record = GRIDS[key].of_record
    return getattr(scenario, key, None) if of_record is None else of_record(method)


def expanded(text: str, scenario: Scenario) -> list[str]:
    """All candidates that a word stands for, the usual one first; itself where nothing is asked.

    >>> expanded("pao-fed-u1:staleness=auto,shared=2", Scenario.load("ideal"))[:2]
    ['pao-fed-u1:staleness=1.0,shared=2', 'pao-fed-u1:staleness=0.2,shared=2']
    """
    grids = grids_of(text, scenario)
    found = [_filled(text, dict(zip(grids, v, strict=True))) for v in product(*grids.values())]
    if len(found) > _MOST:
        raise AlgorithmError(
            f"{text} stands for {len(found)} candidates: expected at most {_MOST}; "
            f"choose fewer options at a time"
        )
    return found


def _filled(text: str, values: Mapping[str, Any]) -> str:
    for key, value in values.items():
        text = re.sub(rf"(?<=[:,]){key}={AUTO}(?=,|$)", f"{key}={value}", text)
    return text
