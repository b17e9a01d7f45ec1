"""Programs that run until they are told to stop: their log, and the signals that end them."""

import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def log_to_stderr(name: str) -> logging.Logger:
    """Return a logger that writes to stderr, with the time of every line."""
    log = logging.Logger(name, logging.INFO)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    return log


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C call `stop` while the block lasts."""
    before = [
        (number, signal.signal(number, lambda *_: stop()))
        for number in (signal.SIGTERM, signal.SIGINT)
    ]
    try:
        yield
    finally:
        for number, handle in before:
            signal.signal(number, handle)
