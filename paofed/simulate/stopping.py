"""Work on threads that ends soon after nobody waits for it any more."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[float], None]  # told a share of the work that is done


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
