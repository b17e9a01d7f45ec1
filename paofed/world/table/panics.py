"""Panics of polars, which is written in Rust: its backtraces do not reach the terminal."""

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STANDARD_ERROR = 2
_one_at_a_time = threading.Lock()  # two threads at a time would restore each other's standard error


@contextmanager
def without_backtraces(panic: type[BaseException]) -> Iterator[None]:
    """Collect standard error while inside; pass it on at the end, but not after a panic.

    Rust writes pages of backtrace there by itself before Python hears of a panic.
    """
    with _one_at_a_time, tempfile.TemporaryFile() as aside:
        try:
            real = os.dup(_STANDARD_ERROR)
        except OSError:  # this process has no standard error
            yield
            return
        os.dup2(aside.fileno(), _STANDARD_ERROR)
        try:
            yield
        except panic:
            aside.truncate(0)
            raise
        finally:
            os.dup2(real, _STANDARD_ERROR)
            aside.seek(0)
            with os.fdopen(real, "wb") as stderr:
                shutil.copyfileobj(aside, stderr)
