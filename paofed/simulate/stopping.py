"""Work that is ended before its time: what is kept of it, and threads that end soon after."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from paofed.simulate.results.result import Result
from paofed.words import counted

Report = Callable[[float], None]  # told a share of the work that is done


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while algorithms ran. `result` holds what was finished; None: not even one run."""

    def __init__(self, result: Result | None = None) -> None:
        super().__init__()
        self.result = result

    def __str__(self) -> str:
        finished = counted(self.result.runs if self.result else 0, "finished run")
        return f"interrupted, with {finished} in its `result`"


def ignored(_: float) -> None:
    """Hear nothing."""


class _Stopped(Exception):  # noqa: N818 (not an error)
    """Ends work that nobody waits for."""


@contextmanager
def stoppable(report: Report) -> Iterator[Report]:
    """Yield what work reports to; once this block is left, reporting ends the work.

    Leave it before the pool of threads, which waits for them.
    """
    stop = threading.Event()

    def heard(part: float) -> None:
        if stop.is_set():
            raise _Stopped
        report(part)

    try:
        yield heard
    finally:
        stop.set()
