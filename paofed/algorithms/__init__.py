"""The methods by name, and how a name and options become an Algorithm."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from paofed.algorithms import outside
from paofed.algorithms.base import Algorithm, Exchange, require_record
from paofed.algorithms.fed_ridge import fed_ridge
from paofed.algorithms.online_fed import online_fed, online_fedsgd
from paofed.algorithms.pao_fed import PAO_FED
from paofed.algorithms.pso_fed import pso_fed
from paofed.algorithms.rivals import RIVALS
from paofed.core.bounded import Bounded
from paofed.core.learners import chosen, learner_of
from paofed.core.parts import Learner, ServerRule
from paofed.core.rules import Divisor, Newest
from paofed.core.staleness import Geometric
from paofed.errors import AlgorithmError, unknown

__all__ = ["ALGORITHMS", "LINEUP", "RIVALS", "SHARING_SUMS", "Algorithm", "algorithm", "options_of"]

# The rows of the paper. The keywords of a factory are the options that shape its row and no other
# row. Published methods that people would use instead are in RIVALS.
ALGORITHMS: Mapping[str, Callable[..., Algorithm]] = {
    "online-fedsgd": online_fedsgd,
    "online-fed": online_fed,
    "pso-fed": pso_fed,
    **PAO_FED,
}

# Each row of the paper once; where the server picks, it picks a fifth of the available clients.
LINEUP = ("online-fedsgd", "online-fed:subset=0.2", "pso-fed:subset=0.2", *PAO_FED)

# Methods whose devices share what they know of their samples instead of models.
SHARING_SUMS: Mapping[str, Callable[..., Algorithm]] = {"fed-ridge": fed_ridge}
OURS: Mapping[str, Callable[..., Algorithm]] = {**ALGORITHMS, **SHARING_SUMS, **RIVALS}

# These options can be set on any finished record; all other options belong to the factory.
_OF_SERVER = ("staleness", "divisor", "clip", "aside")
_OF_LEARNER = ("bound", "learner", "forgetting")
_VALUES = ("step_size", "max_age", "exchange", *_OF_LEARNER, *_OF_SERVER)

# What the options mean for which a factory may have no default.
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
    clip: float | None = None,
    aside: bool | None = None,
    bound: float | None = None,
    learner: str | None = None,
    forgetting: float | None = None,
) -> Algorithm:
    """Make an algorithm from `name`, or from a record of one's own, with options.

    An option that is None keeps the algorithm's own value. Options become part of the new
    algorithm's name, so that variants can be told apart.

    Of a row that takes them: `shared` coordinates in a message, the `subset` of the available
    clients that the server picks, as a fraction or a count, and whether windows are `coordinated`.
    Of every row: `step_size`, `max_age` of a message in ticks, `exchange`, the order of a contact.
    Of the paper's server: `staleness`, the base of the weight base^age of late messages, `divisor`
    of the sum of updates, "class" or "coverage", `clip`, how many usual innovations a message may
    be off, and whether devices that are always far off are set `aside`. Of the paper's learner:
    `bound`, how many usual errors a step may count, `learner`, "lms", "two-speed", "rls" or
    "weighed", and its `forgetting`.

    >>> algorithm("pao-fed-u1", shared=32, step_size=0.2).name
    'pao-fed-u1:shared=32,step_size=0.2'
    """
    options = {
        "shared": shared,
        "subset": subset,
        "coordinated": coordinated,
        "step_size": step_size,
        "max_age": max_age,
        "staleness": staleness,
        "divisor": divisor,
        "exchange": exchange,
        "clip": clip,
        "aside": aside,
        "bound": bound,
        "learner": learner,
        "forgetting": forgetting,
    }
    return made(name, _given(options))


def made(name: str | Algorithm, options: Mapping[str, Any]) -> Algorithm:
    """Do as `algorithm` does; `options` may also hold keywords of an outside factory."""
    own = options_of(name) if isinstance(name, str) else {}
    values = {key: value for key, value in options.items() if key in _VALUES and key not in own}
    shape = {key: value for key, value in options.items() if key not in values}
    row = _build(name, shape) if isinstance(name, str) else _unshaped(name, shape)
    return _with_values(replace(row, name=_named(row.name, shape | values)), values)


def _with_values(row: Algorithm, values: dict[str, Any]) -> Algorithm:
    """Set values on a record, or on the server rule or the learner of the record."""
    of_server = {key: values.pop(key) for key in _OF_SERVER if key in values}
    if of_server:
        values["server"] = _server(row, of_server)
    of_learner = {key: values.pop(key) for key in _OF_LEARNER if key in values}
    if of_learner:
        values["learner"] = _learner(row, of_learner)
    return replace(row, **values)


def _server(row: Algorithm, own: dict[str, Any]) -> Newest | Bounded:
    """Set the options `own` on the paper's server rule; `clip` makes it the rule Bounded."""
    if isinstance(row.server, ServerRule):
        raise AlgorithmError(
            f"{row.name} has a server rule of its own, which has no option {next(iter(own))!r}",
            key=next(iter(own)),
        )
    if "staleness" in own:
        own["staleness"] = Geometric(own["staleness"])
    if isinstance(row.server, Bounded) or not own.keys() & {"clip", "aside"}:
        return replace(row.server, **own)
    if "clip" not in own:
        raise AlgorithmError(
            f"{row.name} sets nobody aside without clip: give clip too, such as 6", key="aside"
        )
    return Bounded(**{"staleness": row.server.staleness, "divisor": row.server.divisor, **own})


def _learner(row: Algorithm, own: dict[str, Any]) -> Learner:
    """Choose the learner that the options `own` name, or set them on the learner of the row."""
    now = chosen(row.learner)
    if now is None:
        raise AlgorithmError(
            f"{row.name} has a learner of its own, which has no option {next(iter(own))!r}",
            key=next(iter(own)),
        )
    if own.get("learner", now.learner) != now.learner:
        # The same number means something else to another learner.
        now = now._replace(forgetting=None)
    return learner_of(now._replace(**own))


def _given(options: Mapping[str, object]) -> dict[str, Any]:
    """Keep the options that are not None; NumPy's numbers become Python's."""
    return {
        key: value.item() if isinstance(value, np.generic) else value
        for key, value in options.items()
        if value is not None
    }


def _named(name: str, options: Mapping[str, object]) -> str:
    """Add options to a name, which people may have given to a record of their own.

    A new value replaces the old value of the same option.
    """
    if not options:
        return name
    base, said = outside.split(name)
    pairs = said.split(",") if said else []
    kept = [pair for pair in pairs if pair.partition("=")[0] not in options]
    new = [f"{key}={str(value).lower()}" for key, value in options.items()]  # true, not True
    return f"{base}:{','.join(kept + new)}"


def options_of(name: str) -> Mapping[str, inspect.Parameter]:
    """Return the options that shape the row `name`: the keywords of its factory."""
    return keywords_of(_factory(name))


def taken_by(method: str | Algorithm) -> tuple[str, ...]:
    """Return the options that a row of this name takes, or that a finished record takes."""
    own = options_of(method) if isinstance(method, str) else ()
    return tuple(dict.fromkeys((*own, *_VALUES)))


def keywords_of(factory: Callable[..., Algorithm]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters that a factory takes by keyword."""
    parameters = inspect.signature(factory).parameters
    kinds = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return {key: p for key, p in parameters.items() if p.kind in kinds}


def in_short(factory: Callable[..., Algorithm]) -> str:
    """Return what the docstring of a factory says first; empty if it has none of its own."""
    said = factory.__doc__ if factory.__doc__ != type(factory).__doc__ else None
    return (said or "").strip().partition("\n")[0].rstrip(".")


def _factory(name: str) -> Callable[..., Algorithm]:
    """Return the factory of the algorithm `name`; outside code cannot replace a name of ours."""
    factory = OURS.get(name) or outside.factory_of(name)
    if factory is None:
        known = [*OURS, *(entry.name for entry in outside.brought())]
        raise AlgorithmError(unknown("algorithm", name, dict.fromkeys(known)))
    return factory


def _build(name: str, given: Mapping[str, Any]) -> Algorithm:
    factory = _factory(name)
    options = keywords_of(factory)
    for key in given:
        if key not in options:
            takes = ", ".join(options) or "no options of its own"
            raise AlgorithmError(f"{name} has no option {key!r}; it takes {takes}", key=key)
    for key, parameter in options.items():
        if parameter.default is parameter.empty and key not in given:
            meaning = _MEANING.get(key, f"write {name}:{key}=VALUE")
            raise AlgorithmError(f"{name} needs {key!r}: {meaning}", key=key)
    return replace(factory(**given), name=name)


def _unshaped(record: Algorithm, given: Mapping[str, float]) -> Algorithm:
    own = require_record(record)
    if given:
        raise AlgorithmError(
            f"{', '.join(given)} cannot be set on the finished algorithm {own.name!r}: "
            f"make the record with the value you want",
            key=next(iter(given)),
        )
    return own
