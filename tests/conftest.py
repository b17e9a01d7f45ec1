import gc
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from numba.core.dispatcher import Dispatcher

from paofed.cli.shared import progress
from tests.drawing import as_svg_alone, without_drawing
from tests.effort import effort

# Machines are noisy: an example that took long is no failure. The same examples are tried each
# time, so that what fails is of the change at hand; PAOFED_RANDOM=1 looks for others.
settings.register_profile(
    "paofed",
    deadline=None,
    derandomize=not os.environ.get("PAOFED_RANDOM"),
    max_examples=effort(everyday=12, thorough=60),
)
settings.load_profile("paofed")

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would all programs
# that they start, and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The tests and what they import stay: while they are read, the garbage collector finds nothing.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


_compile = Dispatcher.compile


def _compile_unmeasured(self: Any, signature: Any) -> Any:
    """Compile without being followed by coverage, which would take half as long again."""
    following = sys.gettrace()
    sys.settrace(None)
    try:
        return _compile(self, signature)
    finally:
        sys.settrace(following)


Dispatcher.compile = _compile_unmeasured  # type: ignore[method-assign, assignment]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line of progress, however long a busy machine takes: tests read all of stderr."""
    monkeypatch.setattr(progress, "_ELSEWHERE", float("inf"))


@pytest.fixture
def undrawn() -> Iterator[None]:
    """Figures are files with nothing in them, for tests of what stands beside them; not in CI."""
    with without_drawing():
        yield


@pytest.fixture
def without_png() -> Iterator[None]:
    """Pages have their figures as SVG alone; in CI as PNG, too."""
    with as_svg_alone():
        yield
