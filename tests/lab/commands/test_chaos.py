"""`python -m lab chaos`: what it prints, and when it fails."""

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from lab.commands import chaos, main
from lab.rehearsal.auditor import BrokenPromiseError
from lab.rehearsal.rehearsal import POINTS
from paofed.live.journal.database import StoreError


def test_one_seed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chaos", "--seeds", "1", "--first", "5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["seeds"] == 1
    assert list(told["tried"]) == list(POINTS)


def all_points(seed: int, folder: Path) -> Counter[str]:
    assert folder.parent.is_dir()
    return Counter(dict.fromkeys(POINTS, seed))


def test_hits_are_summed_over_the_seeds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chaos, "rehearse", all_points)
    assert main(["chaos", "--seeds", "3", "--first", "1000", "--json"]) == 0
    tried = json.loads(capsys.readouterr().out)["tried"]
    assert tried == dict.fromkeys(POINTS, 1000 + 1001 + 1002)
    assert main(["chaos", "--seeds", "3", "--first", "1000"]) == 0
    head, *lines, _, last = capsys.readouterr().out.splitlines()
    assert head.split() == ["fault", "or", "power", "cut", "times"]
    assert last == "3 federations kept every promise"
    for point, line in zip(POINTS, lines, strict=True):
        assert line.startswith(f"{point} ")
        assert line.endswith(" 3,003")


def test_a_fault_that_was_never_tried_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *rest = POINTS
    monkeypatch.setattr(chaos, "rehearse", lambda *_: Counter(dict.fromkeys(rest, 1)))
    assert main(["chaos", "--seeds", "2"]) == 1
    assert capsys.readouterr().err == f"never tried: {first}; run more seeds\n"


@pytest.mark.parametrize("memory", [True, False])
def test_its_folders_are_in_memory_where_possible_and_go_away(
    memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = []

    def noted(seed: int, folder: Path) -> Counter[str]:
        folders.append(folder.parent)
        return all_points(seed, folder)

    monkeypatch.setattr(chaos, "rehearse", noted)
    monkeypatch.setattr(chaos, "_MEMORY", tmp_path if memory else tmp_path / "missing")
    assert main(["chaos", "--seeds", "2", "--first", "1"]) == 0
    assert len(set(folders)) == 2
    for folder in folders:
        assert (folder.parent == tmp_path) == memory
        assert not folder.exists()


def test_a_seed_that_fails_says_how_to_run_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = []

    def fails(seed: int, folder: Path) -> Counter[str]:
        seeds.append(seed)
        if seed == 12:
            raise BrokenPromiseError("update 3 of device 1 is lost, yet confirmed")
        return all_points(seed, folder)

    monkeypatch.setattr(chaos, "rehearse", fails)
    assert main(["chaos", "--first", "10", "--seeds", "5"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "seed 12: update 3 of device 1 is lost, yet confirmed\n"
        "again: python -m lab chaos --first 12 --seeds 1\n"
    )
    assert seeds == [10, 11, 12]


@pytest.mark.parametrize("error", [StoreError("line 3 is damaged"), IndexError("4")], ids=repr)
def test_a_seed_that_fails_otherwise_is_named_too(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> Counter[str]:
        raise error

    monkeypatch.setattr(chaos, "rehearse", fails)
    with suppress(IndexError):
        main(["chaos", "--first", "10", "--seeds", "1"])
    assert "python -m lab chaos --first 10 --seeds 1" in capsys.readouterr().err
