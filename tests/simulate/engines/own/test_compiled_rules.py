"""A rule is compiled with what it reaches, and told apart from every other one."""

import subprocess
import sys
import types
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

from paofed.core.parts import draws
from paofed.core.selection import window
from paofed.simulate.engines.fast.own.compiled_rules import NotCompiledError, compiled, told_apart

SOURCE = """
import numpy as np
from numba import njit
import helpers

RATE = {rate}
TABLE = np.array([1.0, {table}])

def innermost(x):
    return {inner}

def inner(x):
    return RATE * innermost(x) + TABLE[1]

@njit
def jitted(x):
    return {jitted}

def outer(x):
    return inner(x) + jitted(x) + helpers.shift(x){outer}
"""
USUAL = {"rate": "2.0", "table": "3.0", "inner": "x + 1", "jitted": "x - 1", "outer": ""}


def written(shift: str = "x", **changes: str) -> Callable[[float], float]:
    """The function `outer` of a module like SOURCE."""
    helpers = types.ModuleType("helpers")
    text = f"from numba import njit\n@njit\ndef shift(x):\n    return {shift}"
    exec(text, helpers.__dict__)  # noqa: S102 (a text of this test)
    text = SOURCE.format(**{**USUAL, **changes}).replace("import helpers", "")
    space: dict[str, Any] = {"helpers": helpers, "__name__": "mine"}
    exec(text, space)  # noqa: S102 (likewise)
    outer: Callable[[float], float] = space["outer"]
    return outer


def test_the_same_code_has_the_same_told_apart() -> None:
    assert told_apart(written()) == told_apart(written())


@pytest.mark.parametrize(
    "changes",
    [
        {"rate": "2.5"},
        {"table": "4.0"},
        {"inner": "x + 2"},
        {"jitted": "x * 1"},
        {"outer": " + 0"},
        {"shift": "x + 1"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_change_anywhere_is_another_told_apart(changes: dict[str, str]) -> None:
    assert told_apart(written(**changes)) != told_apart(written())


class _Rate(IntEnum):
    SLOW = 1


class _Fast(IntEnum):
    SLOW = 2


class _Ab(NamedTuple):
    a: int
    b: int


class _Ba(NamedTuple):
    b: int
    a: int


def _says(value: Any) -> Callable[[], Any]:
    return lambda: value


def test_where_a_function_stands_is_told() -> None:
    def one(x: float) -> float:
        return x

    def two(x: float) -> float:
        return one(x) + 1

    assert told_apart(two, one) != told_apart(two, two)


@pytest.mark.parametrize(
    ("some", "other"), [(_Rate, _Fast), (_Rate.SLOW, _Fast.SLOW), (_Ab(1, 2), _Ba(1, 2))]
)
def test_constants_of_other_kinds_are_told_apart(some: Any, other: Any) -> None:
    for one in (some, other):
        if isinstance(one, type):
            one.__qualname__ = "Same"
    assert told_apart(_says(some)) != told_apart(_says(other))


def test_a_module_in_a_module_is_followed() -> None:
    def nested(rate: float) -> Callable[[], Any]:
        outer, inner = types.ModuleType("outer"), types.ModuleType("inner")
        outer.inner, inner.RATE = inner, rate  # type: ignore[attr-defined]
        return lambda: outer.inner.RATE

    assert told_apart(nested(1.0)) == told_apart(nested(1.0))
    assert told_apart(nested(1.0)) != told_apart(nested(2.0))


TELL = """
import numpy as np
from paofed.core.parts import draws
from paofed.core.selection import window
from paofed.simulate.engines.fast.own.compiled_rules import told_apart
print(told_apart(window, np.argsort, np.sqrt, draws))
"""


def test_a_rule_is_the_same_in_every_process() -> None:
    """Otherwise the kernel would never be found on disk."""
    command = [sys.executable, "-c", TELL]
    made = subprocess.run(  # noqa: S603 (our own program)
        command, capture_output=True, text=True, check=True
    )
    assert made.stdout.strip() == told_apart(window, np.argsort, np.sqrt, draws)


def test_what_cannot_be_told_apart_is_not_compiled() -> None:
    with pytest.raises(NotCompiledError, match="cannot be told apart"):
        told_apart(_says(Lock()))


def test_closures_and_defaults_are_told_apart() -> None:
    def with_rate(rate: float, default: float = 0.0) -> Callable[..., float]:
        def rule(x: float, more: float = default) -> float:
            return rate * x + more

        return rule

    assert told_apart(with_rate(1.0)) == told_apart(with_rate(1.0))
    assert told_apart(with_rate(1.0)) != told_apart(with_rate(2.0))
    assert told_apart(with_rate(1.0)) != told_apart(with_rate(1.0, default=1.0))
    assert told_apart(partial(with_rate, 1.0)) != told_apart(partial(with_rate, 2.0))


def test_functions_reached_are_compiled_too() -> None:
    rule = written()
    own = compiled(rule, {})
    assert njit(lambda x: own(x))(5.0) == rule(5.0) == 2 * 6 + 3 + 4 + 5


def test_first_arguments_may_be_given() -> None:
    def scaled(rate: float, x: float) -> float:
        return rate * x

    own = compiled(partial(scaled, 3.0), {})
    assert njit(lambda x: own(x))(2.0) == 6.0
    with pytest.raises(NotCompiledError, match="gives keywords"):
        compiled(partial(scaled, rate=3.0), {})


class Callable_:  # noqa: N801 (an object that can be called)
    def __call__(self, x: float) -> float:
        return x


def _keyword_only(x: float, *, more: float = 1.0) -> float:
    return x + more


def _unknown(x: float) -> Any:
    return x + nowhere  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (Callable_(), "is no plain function"),
        (_keyword_only, "has keyword-only arguments"),
        (_unknown, "speaks of an unknown nowhere"),
    ],
)
def test_what_numba_cannot_be_given(rule: Any, reason: str) -> None:
    with pytest.raises(NotCompiledError, match=reason):
        compiled(rule, {})


def test_a_wrong_index_is_an_error() -> None:
    def beyond(x: Any) -> Any:
        return x[5]

    own = compiled(beyond, {})
    with pytest.raises(IndexError):
        njit(lambda x: own(x))(np.zeros(3))
