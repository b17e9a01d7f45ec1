"""What is compiled when: said once, where somebody waits for it."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from numba.core import event


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
