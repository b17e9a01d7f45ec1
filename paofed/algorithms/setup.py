"""A method with its options as one record, and the word that people write for it.

A word such as `pao-fed-u1:shared=32,step_size=0.2` is read once, where people give it. The name
before the colon is a row of the registry, or says where somebody else's code is: see `outside`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, NamedTuple, Self

from paofed.algorithms import algorithm, made, options_of
from paofed.algorithms.base import Algorithm, require_record
from paofed.algorithms.outside import split
from paofed.errors import AlgorithmError, unknown
from paofed.words import number_or_text

AUTO = "auto"  # in the place of a value: a race is to choose it
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}
_OPTIONS = [name for name in signature(algorithm).parameters if name != "name"]


class Option(NamedTuple):
    """The value of an option, and how the value is written: 0.40 stays as people wrote it."""

    key: str
    value: Any
    text: str


@dataclass(frozen=True)
class Setup:
    """A method, and those of its options that are set, in the order in which they are written.

    The text of a setup is the name that results have. Setups are equal whose options have the same
    values, written in the same way.

    >>> setup = Setup.of("pao-fed-u1:shared=32")
    >>> print(setup.with_(shared=8, step_size=0.2), setup.with_(shared=None))
    pao-fed-u1:shared=8,step_size=0.2 pao-fed-u1
    """

    row: str
    options: tuple[Option, ...] = ()

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a word; refuse options that its method does not take.

        >>> Setup.of("pao-fed-u1:shared=32,exchange=live").values
        {'shared': 32, 'exchange': 'live'}
        """
        row, said = split(text)
        known = dict.fromkeys((*options_of(row), *_OPTIONS))
        options: dict[str, Option] = {}
        for pair in [] if said is None else said.split(","):
            key, equals, value = pair.partition("=")
            if key not in known:
                raise AlgorithmError(f"{text}: {unknown('option', key, known)}", key=key)
            if not equals:
                raise AlgorithmError(
                    f"{text}: option {key!r} has no value: write {key}=VALUE", key=key
                )
            if key in options:
                raise AlgorithmError(f"{text}: option {key!r} is given twice", key=key)
            options[key] = Option(key, value_of(value), value)
        return cls(row, tuple(options.values()))

    def __str__(self) -> str:
        """Write the setup as people write it."""
        if not self.options:
            return self.row
        return f"{self.row}:{','.join(f'{one.key}={one.text}' for one in self.options)}"

    @property
    def values(self) -> dict[str, Any]:
        """The values of the options that are set, by key."""
        return {one.key: one.value for one in self.options}

    @property
    def left_open(self) -> list[str]:
        """The options that a race is to choose, as in `pao-fed-u1:step_size=auto`."""
        return [one.key for one in self.options if one.value == AUTO]

    def with_(self, **values: Any) -> Self:
        """Return the setup with other values of options; None leaves an option out.

        An option that was set keeps its place, a new one comes last.
        """
        options = {one.key: one for one in self.options}
        options |= {key: Option(key, value, written(value)) for key, value in values.items()}
        return replace(self, options=tuple(o for o in options.values() if o.value is not None))

    def only(self, *keys: str) -> Self:
        """Return the setup with no other options than these."""
        return replace(self, options=tuple(one for one in self.options if one.key in keys))

    def algorithm(self) -> Algorithm:
        """Make the algorithm, whose name is the text of the setup."""
        return replace(made(self.row, self.values), name=str(self))


def value_of(text: str) -> bool | int | float | str:
    """Read a value: 1 is a whole number (a count), 1.0 a float (a fraction)."""
    return _TRUTH[text] if text in _TRUTH else number_or_text(text)


def written(value: object) -> str:
    """Write a value as people do: true, not True."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def resolve(method: str | Setup | Algorithm) -> Algorithm:
    """Return the Algorithm that people give by name, by name with options, or as a record."""
    match method:
        case str():
            return Setup.of(method).algorithm()
        case Setup():
            return method.algorithm()
    return require_record(method)


def method_of(given: str | Setup | Algorithm) -> Setup | Algorithm:
    """Return what people give by a word as a setup, and a record as it is."""
    if isinstance(given, str):
        return Setup.of(given)
    return given if isinstance(given, Setup) else require_record(given)


def methods_of(
    given: str | Setup | Algorithm | Iterable[str | Setup | Algorithm],
) -> list[Setup | Algorithm]:
    """Return the methods that people give, one alone or several; refuse what is no method."""
    listed = [given] if isinstance(given, str) or not isinstance(given, Iterable) else given
    return list(map(method_of, listed))
