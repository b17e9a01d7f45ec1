"""Compilation: said once, where somebody waits for it; and its result, called without detours."""

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from numba import typeof
from numba.core import event


def entry_of(function: Any, *arguments: Any) -> Callable[..., Any]:
    """Return the machine code of a function for arguments of these very types.

    Called as a compiled function, half a millisecond would go into finding out the types of the
    arrays each time. The code trusts its arguments: later ones must have the same types and layout.
    """
    signature = tuple(typeof(argument) for argument in arguments)
    function.compile(signature)
    entry: Callable[..., Any] = function.overloads[signature].entry_point
    return entry


class _WithoutCollecting(event.Listener):
    """Pauses the garbage collector while numba compiles.

    The compiler makes millions of small objects that live on; looking through all of them for
    garbage again and again would take nearly as long as compiling.
    """

    def __init__(self) -> None:
        self._depth = 0  # one compilation leads to others; numba's lock lets one thread compile
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
            self._say("compiling the kernels: once on this machine, about ten seconds")

    def on_end(self, event: event.Event) -> None:
        """Say nothing."""


def note_compilation(say: Callable[[str], None]) -> AbstractContextManager[object]:
    """While inside, say so if kernels must be compiled (later uses find them on disk)."""
    return event.install_listener("numba:compile", _CompilationNote(say))
