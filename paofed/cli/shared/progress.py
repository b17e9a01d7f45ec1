"""What people are told on stderr: remarks, and progress as a line that moves on a terminal."""

import sys
import threading
import time
from collections.abc import Sequence
from typing import Self

from paofed.durations import duration

_ON_TERMINAL, _ELSEWHERE = 0.2, 15.0  # seconds between two reports


def say(text: str) -> None:
    """Tell people, on stderr, something that is not a result."""
    print(text, file=sys.stderr)


class Progress:
    """Shows the share done and the time left; silent where the work is short."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._first: tuple[float, float] | None = None  # time and share of the first report
        self._said = time.monotonic()
        self._live = sys.stderr.isatty()
        self._lock = threading.Lock()

    def __call__(self, share: float) -> None:
        """Tell the share of the work that is done, from 0 to 1."""
        now = time.monotonic()
        with self._lock:
            # Speed counts from the first report on: before it, kernels may have been compiled.
            begin, share_then = self._first = self._first or (now, share)
            quiet = now - self._said < (_ON_TERMINAL if self._live else _ELSEWHERE)
            if quiet or share <= share_then:
                return
            self._said = now
            left = (now - begin) * (1 - share) / (share - share_then)
            text = f"{self._what}: {share:4.0%}, {duration(left)} left"
            print(f"\r\033[K{text}" if self._live else text, end="" if self._live else "\n",
                  file=sys.stderr, flush=True)  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Screen:
    """Several lines on stderr that change in place; without a terminal, the first now and then."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._height = 0
        self._said = -_ELSEWHERE

    def show(self, lines: Sequence[str]) -> None:
        """Draw the lines over those shown before."""
        if self._live:
            up = f"\033[{self._height}A" if self._height else ""
            text = "".join(f"\033[K{line}\n" for line in lines)
            print(f"{up}\r{text}\033[J", end="", file=sys.stderr, flush=True)
            self._height = len(lines)
        elif time.monotonic() - self._said >= _ELSEWHERE:
            self._said = time.monotonic()
            print(lines[0], file=sys.stderr, flush=True)
