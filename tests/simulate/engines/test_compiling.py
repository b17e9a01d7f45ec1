"""While numba compiles, the garbage collector rests; that numba compiles is said once."""

import gc
from collections.abc import Callable
from typing import Any

import numba
import pytest
from numba.core import event

from paofed.simulate.engines.fast.compiling import note_compilation


class Witness(event.Listener):
    """Sees whether the collector is on whenever a compilation begins."""

    def __init__(self) -> None:
        self.seen: list[bool] = []

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 (the listener's interface)
        self.seen.append(gc.isenabled())

    def on_end(self, event: event.Event) -> None:
        """See nothing."""


def compiled(function: Callable[[float], Any]) -> list[bool]:
    """Compile a function and one that calls it; what a witness saw."""
    inner = numba.njit(function)

    @numba.njit
    def outer(x: float) -> Any:
        return inner(x)

    with event.install_listener("numba:compile", Witness()) as witness:
        outer(1.0)
    assert isinstance(witness, Witness)
    return witness.seen


def half(x: float) -> float:
    return x / 2


def test_it_rests_meanwhile() -> None:
    assert compiled(half) == [False, False]
    assert gc.isenabled()


def test_whoever_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        assert compiled(half) == [False, False]
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_comes_back_after_a_failure() -> None:
    with pytest.raises(numba.TypingError):
        compiled(lambda x: x.nothing)  # type: ignore[attr-defined]
    assert gc.isenabled()


def test_compiling_is_said_once_and_only_if_it_happens() -> None:
    """Kernels are kept beside the package, so every environment compiles its own."""
    said: list[str] = []
    with note_compilation(said.append):
        assert said == []
        compiled(half)
    assert said == ["compiling the kernels: once in this environment, about ten seconds"]
