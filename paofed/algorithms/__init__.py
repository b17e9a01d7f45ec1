"""The methods by name, and how a name and options become an Algorithm."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from paofed.algorithms.base import Algorithm, Exchange, require_record
from paofed.algorithms.online_fed import online_fed, online_fedsgd
from paofed.algorithms.pao_fed import VERSIONS, pao_fed
from paofed.algorithms.pso_fed import pso_fed
from paofed.core.rules import Divisor, Newest
from paofed.core.staleness import Geometric
from paofed.errors import AlgorithmError, unknown

__all__ = ["ALGORITHMS", "Algorithm", "algorithm", "options_of"]

# The only registry. A factory's keywords are the options that shape this row and no other.
ALGORITHMS: Mapping[str, Callable[..., Algorithm]] = {
    "online-fedsgd": online_fedsgd,
    "online-fed": online_fed,
    "pso-fed": pso_fed,
    **{f"pao-fed-{version}": partial(pao_fed, version) for version in VERSIONS},
}


# Of the options that a factory may have no default for.
_MEANING = {
    "shared": "how many coordinates a message holds, such as 4",
    "subset": "a fraction of the available clients such as 0.2, or a count such as 4",
    "coordinated": "true for the same window for all clients, false for each its own",
}


def algorithm(
    name: str | Algorithm,
    *,
    shared: int | None = None,
    subset: float | None = None,
    coordinated: bool | None = None,
    step_size: float | None = None,
    max_age: int | None = None,
    staleness: float | None = None,
    divisor: Divisor | None = None,
    exchange: Exchange | None = None,
) -> Algorithm:
    """Make an algorithm from its name, or from one's own record, with options; None: its own value.

    Options become part of its name, so that variants differ.

    >>> algorithm("pao-fed-u1", shared=32, step_size=0.2).name
    'pao-fed-u1:shared=32,step_size=0.2'
    """
    shape = _given({"shared": shared, "subset": subset, "coordinated": coordinated})
    values = _given(
        {
            "step_size": step_size,
            "max_age": max_age,
            "staleness": staleness,
            "divisor": divisor,
            "exchange": exchange,
        }
    )
    row = _build(name, shape) if isinstance(name, str) else _unshaped(name, shape)
    named = _named(row.name, shape | values)
    return _with_server_options(replace(row, name=named), values)


def _with_server_options(row: Algorithm, values: dict[str, Any]) -> Algorithm:
    """Set values on a record; two of them belong to the paper's server rule."""
    own = {key: values.pop(key) for key in ("staleness", "divisor") if key in values}
    if own and not isinstance(row.server, Newest):
        raise AlgorithmError(
            f"{row.name} has a server rule of its own, which has no option {next(iter(own))!r}"
        )
    if "staleness" in own:
        own["staleness"] = Geometric(own["staleness"])
    return replace(row, server=replace(row.server, **own), **values)


def _given(options: Mapping[str, object]) -> dict[str, Any]:
    """Keep the options that are not None; a number of NumPy's becomes Python's."""
    return {
        key: value.item() if isinstance(value, np.generic) else value
        for key, value in options.items()
        if value is not None
    }


def _named(name: str, options: Mapping[str, object]) -> str:
    """Say options in a name, as `from_text` reads them; a new value takes the old one's place."""
    if not options:
        return name
    base, _, said = name.partition(":")
    kept = [pair for pair in said.split(",") if pair and pair.partition("=")[0] not in options]
    new = [f"{key}={str(value).lower()}" for key, value in options.items()]  # true, not True
    return f"{base}:{','.join(kept + new)}"


def options_of(name: str) -> Mapping[str, inspect.Parameter]:
    """Return the options that shape this row: those its factory takes by keyword."""
    if name not in ALGORITHMS:
        raise AlgorithmError(unknown("algorithm", name, ALGORITHMS))
    parameters = inspect.signature(ALGORITHMS[name]).parameters
    return {key: p for key, p in parameters.items() if p.kind is p.KEYWORD_ONLY}


def _build(name: str, given: Mapping[str, float]) -> Algorithm:
    options = options_of(name)
    for key in given:
        if key not in options:
            takes = ", ".join(options) or "no options of its own"
            raise AlgorithmError(f"{name} has no option {key!r}; it takes {takes}")
    for key, parameter in options.items():
        if parameter.default is parameter.empty and key not in given:
            raise AlgorithmError(f"{name} needs {key!r}: {_MEANING[key]}")
    return ALGORITHMS[name](**given)


def _unshaped(record: Algorithm, given: Mapping[str, float]) -> Algorithm:
    own = require_record(record)
    if given:
        raise AlgorithmError(
            f"{', '.join(given)} cannot be set on the finished algorithm {own.name!r}: "
            f"make the record with the value you want"
        )
    return own
