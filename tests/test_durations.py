"""Lengths of time and moments: what is written is read again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.durations import duration, duration_text, moment, seconds


@given(st.sampled_from(["ms", "s", "min", "h", "d", "w"]), st.integers(1, 10_000))
def test_a_duration_is_read_back(unit: str, count: int) -> None:
    length = seconds(f"{count}{unit}")
    assert length is not None
    assert seconds(duration_text(length)) == pytest.approx(length)


@pytest.mark.parametrize("text", ["", "h", "1", "-1h", "1y", "0h", "2014-03-01"])
def test_what_is_no_duration(text: str) -> None:
    assert seconds(text) is None


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 00 s"), (7265, "2 h 01 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_moment_is_a_date_or_so_long_from_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1e9)
    assert moment("2h", ago=True) == 1e9 - 7200
    assert moment("14d", ago=False) == 1e9 + 14 * 86400
    assert moment("2026-12-24T18:00+00:00", ago=True) == 1_798_135_200
    assert moment("soon", ago=False) is None
