"""How much a test tries: what finds a mistake in everyday work, and the long form in CI."""

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest

_Case = TypeVar("_Case")


def in_ci() -> bool:
    """Whether CI runs the tests: nothing may be missing there, and long forms have the time."""
    return bool(os.environ.get("PAOFED_CI"))


def effort(*, everyday: int, thorough: int) -> int:
    """How many seeds, runs or kills a test takes: the second number in CI, the first elsewhere."""
    return thorough if in_ci() else everyday


def seeds(*, everyday: int, thorough: int) -> int:
    """How many seeds a rehearsal takes; PAOFED_SEEDS asks for another number, such as 3000."""
    return int(os.environ.get("PAOFED_SEEDS") or effort(everyday=everyday, thorough=thorough))


def some(cases: Iterable[_Case], *, everyday: int) -> list[_Case]:
    """The cases of a test: all of them in CI, elsewhere so many, evenly spread over the list."""
    every = list(cases)
    if in_ci() or everyday >= len(every):
        return every
    return [every[i * len(every) // everyday] for i in range(everyday)]


# A test that takes seconds, of something that is seldom touched.
long = pytest.mark.skipif(not in_ci(), reason="it takes long: CI runs it")
