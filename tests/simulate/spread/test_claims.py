"""Claims: one holder, signs of life, and an end to those of the dead."""

import os
from pathlib import Path

import pytest

from paofed.simulate.spread import store as claims
from paofed.simulate.spread.store import Claims
from tests.live.brokers import until

GONE = 2**22 + 1  # no process of Linux has a larger number than 2^22


def test_one_holder_until_it_gives_back(tmp_path: Path) -> None:
    with Claims(tmp_path) as one, Claims(tmp_path) as other:
        assert one.take("a")
        assert not other.take("a")
        assert not one.take("a")
        assert other.take("b")
        one.release("a")
        one.release("b")  # not its own
        assert other.take("a")
        assert not one.take("b")
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    with Claims(tmp_path) as one:
        one.take("a")
        text = (tmp_path / "a.claim").read_text()
        assert f" {os.getpid()} " in text
    (tmp_path / "a.claim").write_text(text.replace(f" {os.getpid()} ", f" {GONE} "))
    (tmp_path / "b.claim").write_text(f"another-machine {GONE} 0\n")
    with Claims(tmp_path) as other:
        assert other.take("a")
        assert not other.take("b")


def test_a_claim_that_is_not_written_yet_is_somebody_s(tmp_path: Path) -> None:
    (tmp_path / "a.claim").touch()
    with Claims(tmp_path) as watcher:
        assert not watcher.take("a")


def test_signs_of_life_count_by_the_watcher_s_own_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("paofed.simulate.spread.store.time.monotonic", lambda: now[0])
    path = tmp_path / "a.claim"
    path.write_text("elsewhere 1 0\n")
    os.utime(path, (0, 0))  # whatever the clock of the other machine says
    with Claims(tmp_path) as watcher:
        for second in range(0, 120, 30):
            now[0] = float(second)
            path.write_text(f"elsewhere 1 {second}\n")
            assert not watcher.take("a")
        now[0] += claims.DEAD_AFTER
        assert not watcher.take("a")
        now[0] += 1.0
        assert watcher.take("a")


def test_a_holder_shows_signs_of_life_and_does_not_revive_what_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "BEAT", 0.01)
    with Claims(tmp_path) as one:
        one.take("a")
        one.take("b")
        first = (tmp_path / "a.claim").read_text()
        (tmp_path / "b.claim").unlink()
        until(lambda: (tmp_path / "a.claim").read_text() != first)
        until(lambda: (tmp_path / "a.claim").read_text().endswith("9\n"))
        assert not (tmp_path / "b.claim").exists()


def test_others_are_seen_until_they_are_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("paofed.simulate.spread.store.time.monotonic", lambda: now[0])
    (tmp_path / "a.claim").write_text("elsewhere 1 0\n")
    with Claims(tmp_path) as one, Claims(tmp_path) as other:
        one.take("b")
        other.take("c")
        assert sorted(one.others()) == ["a", "c"]
        now[0] += claims.DEAD_AFTER + 1.0
        (tmp_path / "c.claim").write_text("here 1 1\n")  # a sign of life
        assert one.others() == ["c"]
        assert not (tmp_path / "a.claim").exists()
