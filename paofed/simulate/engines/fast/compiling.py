"""Compilation: tells whoever waits for it, and calls its result without detours."""

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from numba import typeof
from numba.core import event


def entry_of(function: Any, *arguments: Any) -> Callable[..., Any]:
    """Return the machine code of a function for arguments of these very types.

    A call of the compiled function itself would spend half a millisecond on finding out the types
    of the arrays. The machine code trusts its arguments: later ones must have the same types and
    layout.
    """
    signature = tuple(typeof(argument) for argument in arguments)
    function.compile(signature)
    entry: Callable[..., Any] = function.overloads[signature].entry_point
    return entry


class _WithoutCollecting(event.Listener):
    """Pauses the garbage collector while numba compiles.

    The compiler makes millions of small objects that live on. The collector would look through all
    of them again and again, which would take nearly as long as compiling.
    """

    def __init__(self) -> None:
        self._depth = 0  # compilations nest; numba's lock lets one thread at a time compile
        self._was_on = False

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 (the listener's interface)
        if self._depth == 0:
            self._was_on = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002 (likewise)
        self._depth -= 1
        if self._depth == 0 and self._was_on:
            gc.enable()


event.register("numba:compile", _WithoutCollecting())


class _CompilationNote(event.Listener):
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said = False

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 (the listener's interface)
        if not self._said:
            self._said = True
            self._say("compiling the kernels: once in this environment, about ten seconds")

    def on_end(self, event: event.Event) -> None:
        """Say nothing when a compilation ends."""


def note_compilation(say: Callable[[str], None]) -> AbstractContextManager[object]:
    """While inside, call `say` if kernels must be compiled; later runs find them on disk."""
    return event.install_listener("numba:compile", _CompilationNote(say))
