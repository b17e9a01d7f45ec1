"""Work that is ended before its time: what is kept of it, and threads that end soon after."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from paofed.simulate.results.result import Result
from paofed.words import counted

Report = Callable[[float], None]  # told the share of the work that is done


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while algorithms ran; `result` holds the finished runs, or None if there is none."""

    def __init__(self, result: Result | None = None) -> None:
        super().__init__()
        self.result = result

    def __str__(self) -> str:
        finished = counted(self.result.runs if self.result else 0, "finished run")
        return f"interrupted, with {finished} in its `result`"


def ignored(_: float) -> None:
    """Do nothing with a report of progress."""


class _Stopped(Exception):  # noqa: N818 (not an error)
    """Ends a thread's work that nobody waits for."""


@contextmanager
def stoppable(report: Report) -> Iterator[Report]:
    """Yield a function for reports of progress; once this block is left, calling it ends the work.

    Leave the block before the pool of threads is closed, which waits for its threads.
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
