"""Work that is ended before its time: what is kept of it, and threads that end soon after."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import accumulate, pairwise
from types import FrameType
from typing import Any

from paofed.simulate.results.result import Result
from paofed.words import counted

Report = Callable[[float], None]  # told the share of the work that is done


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during long work; what was finished is its `result`, `race`, `swept` or `plan`.

    All others are None, and so is this one where nothing was finished. `said` says what was.
    """

    def __init__(
        self,
        result: Result | None = None,
        *,
        race: Any = None,  # these three are records of rooms above, which this one does not know
        swept: Any = None,
        plan: Any = None,
        said: str = "",
    ) -> None:
        super().__init__()
        self.result, self.race, self.swept, self.plan = result, race, swept, plan
        finished = counted(result.runs if result else 0, "finished run")
        self._said = said or f"{finished} in its `result`"

    def __str__(self) -> str:
        return f"interrupted, with {self._said}"


def _known(found: object) -> str:
    """Say whether anything is known."""
    return "nothing" if found is None else "what is known"


@contextmanager
def keeping(
    name: str, known: Callable[[], Any], said: Callable[[Any], str] = _known
) -> Iterator[None]:
    """Let Ctrl-C in this block raise Interrupted, whose field `name` holds what `known` returns.

    `said` says in words what that is.
    """
    try:
        yield
    except KeyboardInterrupt:
        found = known()
        raise Interrupted(**{name: found}, said=f"{said(found)} in its `{name}`") from None


def ignored(_: float) -> None:
    """Do nothing with a report of progress."""


def part_of(report: Report, begin: float, end: float) -> Report:
    """Return what reports the share of one part of the work, which goes from `begin` to `end`."""
    return lambda share: report(min(end, begin + (end - begin) * share))


def parts_of(report: Report, parts: Iterable[float]) -> list[Report]:
    """Return what reports the share of each part of the work, from how long the parts take.

    Their lengths may be in any unit.
    """
    ends = [0.0, *accumulate(parts)]
    return [part_of(report, begin / ends[-1], end / ends[-1]) for begin, end in pairwise(ends)]


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


@contextmanager
def signals_wait(wake: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Let Ctrl-C and SIGTERM wait until the yielded function is called; each calls `wake`.

    Python drops what the handler of a signal raises while an object is being deleted. Futures of
    executors run code of their own as they are deleted, as Dask's do: a Ctrl-C would be lost there.
    A second signal does not wait, since what it interrupts may be stuck.
    """
    here = threading.current_thread() is threading.main_thread()  # the only one that gets signals
    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM) if here}
    handlers = {int(number): handler for number, handler in found.items() if callable(handler)}
    waiting = list[Callable[[], object]]()

    def heard(number: int, frame: FrameType | None) -> None:
        if waiting:
            handlers[number](number, frame)
        else:
            waiting.append(partial(handlers[number], number, frame))
            wake()

    def handle() -> None:
        while waiting:
            waiting.pop()()

    with ExitStack() as stack:
        for number, handler in handlers.items():
            stack.callback(signal.signal, number, handler)
            signal.signal(number, heard)
        yield handle
    handle()
