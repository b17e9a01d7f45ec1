"""When the server was started: remembered, and of no importance."""

from pathlib import Path

from paofed.live.server.starts import FILE, started, starts


def test_starts_are_remembered_and_the_oldest_forgotten(tmp_path: Path) -> None:
    assert starts(tmp_path) == []
    for time in range(120):
        started(tmp_path, float(time))
    assert starts(tmp_path) == [float(time) for time in range(20, 120)]


def test_a_damaged_file_says_nothing_and_the_next_start_begins_another(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\xff\x00")
    assert starts(tmp_path) == []
    started(tmp_path, 7.0)
    assert starts(tmp_path) == [7.0]


def test_a_start_that_cannot_be_noted_is_no_error(tmp_path: Path) -> None:
    started(tmp_path / "nowhere", 7.0)
