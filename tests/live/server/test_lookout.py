"""When a server was started: noted for people, and nothing depends on it."""

from pathlib import Path

from paofed.live.server.history import STARTS, started, starts


def test_starts_are_remembered_and_the_oldest_forgotten(tmp_path: Path) -> None:
    assert starts(tmp_path) == []
    for second in range(120):
        started(tmp_path, float(second))
    assert starts(tmp_path) == [float(second) for second in range(20, 120)]


def test_a_damaged_file_says_nothing_and_the_next_start_begins_another(tmp_path: Path) -> None:
    (tmp_path / STARTS).write_bytes(b"\xff\x00")
    assert starts(tmp_path) == []
    started(tmp_path, 7.0)
    assert starts(tmp_path) == [7.0]


def test_a_start_that_cannot_be_noted_is_no_error(tmp_path: Path) -> None:
    started(tmp_path / "nowhere", 7.0)
