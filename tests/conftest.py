import gc
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import pytest
from hypothesis import settings
from numba.core.dispatcher import Dispatcher

from tests.drawing import as_svg_alone
from tests.effort import effort, in_ci

# Machines are noisy: an example that took long is no failure.
settings.register_profile("paofed", deadline=None, max_examples=effort(everyday=20, thorough=60))
settings.load_profile("paofed")

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


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are files with nothing in them, for tests of what stands beside them; not in CI."""

    def savefig(_: object, file: BinaryIO, **options: Any) -> None:
        assert options["format"] in ("svg", "png", "pdf")
        file.write(b"<svg></svg>")

    if not in_ci():
        monkeypatch.setattr("matplotlib.figure.Figure.savefig", savefig)


@pytest.fixture
def without_png() -> Iterator[None]:
    """Pages have their figures as SVG alone; in CI as PNG, too."""
    with as_svg_alone():
        yield
