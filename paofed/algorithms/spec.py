"""An algorithm and its options as one word: `pao-fed-u1:shared=32,step_size=0.2`."""

from dataclasses import replace
from inspect import signature
from typing import Any

from paofed.algorithms import ALGORITHMS, algorithm
from paofed.algorithms.base import Algorithm, require_record
from paofed.errors import AlgorithmError, unknown

_OPTIONS = [name for name in signature(algorithm).parameters if name != "name"]


def from_text(text: str) -> Algorithm:
    """Make an algorithm from such a word; its name is the whole word, so variants differ.

    >>> from_text("online-fed:subset=4").subset
    4
    """
    name, options = parted(text)
    return replace(algorithm(name, **options), name=text)


def parted(text: str) -> tuple[str, dict[str, Any]]:
    """Take such a word apart: the name of a row, and its options with their values.

    >>> parted("pao-fed-u1:shared=32,exchange=live")
    ('pao-fed-u1', {'shared': 32, 'exchange': 'live'})
    """
    name, colon, rest = text.partition(":")
    options: dict[str, Any] = {}
    for pair in rest.split(",") if colon else []:
        key, equals, value = pair.partition("=")
        if key not in _OPTIONS:
            raise AlgorithmError(f"{text}: {unknown('option', key, _OPTIONS)}")
        if not equals:
            raise AlgorithmError(f"{text}: option {key!r} has no value: write {key}=VALUE")
        if key in options:
            raise AlgorithmError(f"{text}: option {key!r} is given twice")
        options[key] = _value(value)
    if name not in ALGORITHMS:
        raise AlgorithmError(unknown("algorithm", name, ALGORITHMS))
    return name, options


def _value(text: str) -> bool | int | float | str:
    """Read a count as an integer and a fraction as a float: 1 is a count, 1.0 is not."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def resolve(method: str | Algorithm) -> Algorithm:
    """Take an algorithm as people give it: by name, with options, or as a record."""
    return from_text(method) if isinstance(method, str) else require_record(method)
