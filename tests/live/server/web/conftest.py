"""A port that is closed is closed at once."""

import pytest

from paofed.live.server.web import listener


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "_LOOK", 0.01)
