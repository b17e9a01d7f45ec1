"""TOML, read in one place for all who take it: no file of it is too much for a reader.

TOML itself promises whole numbers of 64 bits alone. Python reads longer ones, up to a length at
which it refuses to. It reads what is nested until its stack is full, and takes a minute for a key
of 50,000 parts.
"""

import re
import tomllib
from collections.abc import Iterable
from typing import Any

from paofed.errors import InputError, cut, shown

_DEEPEST = 100  # tables and lists in each other; what paofed takes is nested 4 deep at most
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.){0,200}+"|'[^'\n]{0,200}+')"""  # of a key with dots
_LONG_KEY = re.compile(rf"(?<![\w-])(?:{_PART}[ \t]*+\.[ \t]*+){{{_DEEPEST + 1}}}")
_NESTED = f"tables or lists are nested more than {_DEEPEST} deep: no key needs that"
_WHOLE = "expected whole numbers of 64 bits at most, as TOML has them"


def toml_of(text: str) -> dict[str, Any]:
    """Read TOML; raises InputError, whose text goes behind the name of the file."""
    if _LONG_KEY.search(text):
        raise InputError(_NESTED)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {cut(str(error))}") from None
    except RecursionError:
        raise InputError(_NESTED) from None
    except ValueError:  # Python's own limit
        raise InputError(f"a whole number has thousands of digits: {_WHOLE}") from None
    _require_modest(values)
    return values


def _require_modest(values: dict[str, Any]) -> None:
    """Refuse whole numbers beyond 64 bits, and what is nested too deeply."""
    level: list[tuple[str, Any]] = [("", values)]
    for _ in range(_DEEPEST + 2):  # the whole file, what is nested, and its numbers
        level = [inner for name, outer in level for inner in _held(name, outer)]
        for name, value in level:
            # From the least number with a sign to the greatest one without, such as a seed.
            if type(value) is int and not -(2**63) <= value < 2**64:
                raise InputError(f"{shown(name)} has {value.bit_length()} bits: {_WHOLE}")
        if not level:
            return
    raise InputError(_NESTED)


def _held(name: str, outer: Any) -> Iterable[tuple[str, Any]]:
    """Yield what a table or a list holds, each with its name; the items of a list have the list's.

    Any other value holds nothing.
    """
    if isinstance(outer, dict):
        yield from outer.items()
    elif isinstance(outer, list):
        yield from ((name, item) for item in outer)
