"""Pages without what takes their figures long."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.effort import in_ci


@contextmanager
def as_svg_alone() -> Iterator[None]:
    """Pages made inside have their figures as SVG alone; in CI as PNG, too."""
    with pytest.MonkeyPatch.context() as patch:
        if not in_ci():
            patch.setattr("paofed.report.shared.figures.save", lambda *_: None)
        yield
