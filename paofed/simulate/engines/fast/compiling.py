"""Compilation: keeps its result where nobody else can change it, and tells whoever waits for it."""

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from numba import njit, typeof
from numba.core import event

from paofed.files import is_ours_alone


def kept(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator like numba's `njit`, which keeps machine code on disk where it can.

    Numba runs what it finds on disk. Beside the function's own file is as good a place as that file
    itself; any other folder must be ours alone. Where there is no such place, every process
    compiles the function again.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        with suppress(RuntimeError):  # numba found no folder that it can write to
            found = njit(cache=True, **options)(function)
            place = Path(found.stats.cache_path)
            beside = Path(function.__code__.co_filename).parent
            if place.parent == beside or is_ours_alone(place):
                return found
        return njit(**options)(function)

    return compiled


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


_LASTING = "once in this environment, ten seconds to a minute"
_PASSING = (
    "ten seconds to a minute, and every time again, since no folder was found that is yours alone "
    "to write; NUMBA_CACHE_DIR=FOLDER keeps them there"
)


class _CompilationNote(event.Listener):
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said = False

    def on_start(self, event: event.Event) -> None:
        if not self._said:
            self._said = True
            lasts = event.data["dispatcher"].stats.cache_path is not None
            self._say(f"compiling the kernels: {_LASTING if lasts else _PASSING}")

    def on_end(self, event: event.Event) -> None:
        """Say nothing when a compilation ends."""


def note_compilation(say: Callable[[str], None]) -> AbstractContextManager[object]:
    """While inside, call `say` if kernels must be compiled; later runs find them on disk."""
    return event.install_listener("numba:compile", _CompilationNote(say))
