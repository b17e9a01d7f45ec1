"""What can go wrong, as one small family.

    PaofedError
    ├── InputError          what was handed to us cannot be used: the command line exits with 2
    │   ├── AlgorithmError  an unknown algorithm, an option it does not take, a value out of range
    │   ├── TraceError      a trace whose arrays are missing, misshapen or contradict each other
    │   └── FileError       a file that cannot be read, or a place that cannot be written to
    └── ContractError       an algorithm breaks the contract that `check_algorithm` holds it to

Every text says what was got, what was expected and, where that is not obvious, what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class PaofedError(Exception):
    """Anything that paofed raises on purpose."""


class InputError(PaofedError, ValueError):
    """What was handed to us cannot be used."""


class AlgorithmError(InputError):
    """An unknown algorithm, an option it does not take, or a value out of range."""


class TraceError(InputError):
    """A trace whose arrays are missing, misshapen or contradict each other."""


class FileError(InputError):
    """A file that cannot be read, or a place that cannot be written to."""


class ContractError(PaofedError, AssertionError):
    """An algorithm breaks the contract that `check_algorithm` holds it to."""


def unknown(kind: str, got: str, known: Iterable[str]) -> str:
    """Say that a name is unknown, and suggest the nearest known one.

    >>> unknown("algorithm", "pao-fed-u3", ["pao-fed-u1", "online-fed"])
    "unknown algorithm 'pao-fed-u3': did you mean 'pao-fed-u1'? (known: pao-fed-u1, online-fed)"
    """
    names = list(known)
    near = get_close_matches(got, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown {kind} {got!r}: {hint}(known: {', '.join(names)})"
