"""An algorithm and its options as one word: `pao-fed-u1:shared=32,step_size=0.2`.

The name before the colon is a row of the registry, or says where somebody else's code is: see
`outside`.
"""

from dataclasses import replace
from inspect import signature
from typing import Any

from paofed.algorithms import algorithm, made, options_of
from paofed.algorithms.base import Algorithm, require_record
from paofed.algorithms.outside import split
from paofed.errors import AlgorithmError, unknown

AUTO = "auto"  # in the place of a value: a race is to choose it
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}
_OPTIONS = [name for name in signature(algorithm).parameters if name != "name"]


def from_text(text: str) -> Algorithm:
    """Make an algorithm from a word such as `pao-fed-u1:shared=32`, which becomes its name.

    >>> from_text("online-fed:subset=4").subset
    4
    """
    return replace(made(*parted(text)), name=text)


def parted(text: str) -> tuple[str, dict[str, Any]]:
    """Split a word such as `pao-fed-u1:shared=32` into its name, and its options with values.

    >>> parted("pao-fed-u1:shared=32,exchange=live")
    ('pao-fed-u1', {'shared': 32, 'exchange': 'live'})
    """
    name, said = split(text)
    known = dict.fromkeys((*options_of(name), *_OPTIONS))
    options: dict[str, Any] = {}
    for pair in [] if said is None else said.split(","):
        key, equals, value = pair.partition("=")
        if key not in known:
            raise AlgorithmError(f"{text}: {unknown('option', key, known)}")
        if not equals:
            raise AlgorithmError(f"{text}: option {key!r} has no value: write {key}=VALUE")
        if key in options:
            raise AlgorithmError(f"{text}: option {key!r} is given twice")
        options[key] = value_of(value)
    return name, options


def asks_for_choice(text: str) -> bool:
    """Whether a word leaves an option to be chosen, as in `pao-fed-u1:step_size=auto`."""
    return AUTO in parted(text)[1].values()


def value_of(text: str) -> bool | int | float | str:
    """Read a value: 1 is a whole number (a count), 1.0 a float (a fraction)."""
    if text in _TRUTH:
        return _TRUTH[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def resolve(method: str | Algorithm) -> Algorithm:
    """Return the Algorithm that people give by name, by name with options, or as a record."""
    return from_text(method) if isinstance(method, str) else require_record(method)
