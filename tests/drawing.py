"""Pages without what takes long in drawing them, but in CI."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import pytest

from tests.effort import in_ci


@contextmanager
def as_svg_alone() -> Iterator[None]:
    """Pages made inside have their figures as SVG alone; in CI as PNG, too."""
    with pytest.MonkeyPatch.context() as patch:
        if not in_ci():
            patch.setattr("paofed.report.shared.figures.save", lambda *_: None)
        yield


@contextmanager
def without_drawing() -> Iterator[None]:
    """Figures made inside are files with nothing in them; not in CI."""

    def savefig(_: object, file: BinaryIO, **options: Any) -> None:
        assert options["format"] in ("svg", "png", "pdf")
        file.write(b"<svg></svg>")

    with pytest.MonkeyPatch.context() as patch:
        if not in_ci():
            patch.setattr("matplotlib.figure.Figure.savefig", savefig)
        yield
