import io

import pytest

from paofed.cli.shared import progress
from paofed.cli.shared.progress import Progress


class Terminal(io.StringIO):
    def __init__(self, live: bool) -> None:
        super().__init__()
        self._live = live

    def isatty(self) -> bool:
        return self._live


@pytest.fixture(autouse=True)
def quiet() -> None:
    """Here, progress is as people see it."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])  # type: ignore[attr-defined]
    return now


def test_time_left_counts_from_the_first_word(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten seconds of compiling before the first word must not spoil the estimate."""
    screen = Terminal(live=True)
    monkeypatch.setattr("sys.stderr", screen)
    with Progress("work") as report:
        clock[0] += 10
        report(0.1)
        clock[0] += 10
        report(0.2)
        assert "work:  20%, 1 min 20 s left" in screen.getvalue()
    assert screen.getvalue().endswith("\r\033[K")  # the line is gone when the work is


def test_elsewhere_a_line_now_and_then(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal(live=False)
    monkeypatch.setattr("sys.stderr", screen)
    with Progress("work") as report:
        for step in range(1, 101):
            clock[0] += 1
            report(step / 100)
    assert screen.getvalue().count("\n") == 6
    assert "\r" not in screen.getvalue()
