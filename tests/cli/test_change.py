"""`paofed fleet change` as an operator meets it."""

import json
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.database import locked
from paofed.live.protocol.manifest import Manifest

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, capsys: Capsys) -> Path:
    place = tmp_path / "greenhouse"
    numbers = "--input a --input b:0.5:2:-8:8 --target y:10:4 --features 8 --tick 60 --seed 1"
    words = f"fleet init {place} {numbers} --security none".split()
    assert main(words) == 0
    capsys.readouterr()
    return place


def agreed(folder: Path) -> Manifest:
    with Fleet(folder).store() as store:
        return store.manifest()


def done(capsys: Capsys, folder: Path, *words: object) -> str:
    assert main(["fleet", "change", str(folder), *map(str, words)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def refusal(capsys: Capsys, folder: Path, *words: str) -> str:
    try:
        code = main(["fleet", "change", str(folder), *words])
    except SystemExit as stop:
        code = int(str(stop.code))
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err.removeprefix("paofed fleet change: error: ").rstrip("\n")


def test_a_change_in_words(folder: Path, capsys: Capsys) -> None:
    before = agreed(folder)
    words = ("--step-size", 0.2, "--tick", 30)
    told = done(capsys, folder, *words, "--dry-run").splitlines()
    after = f"{before.epoch} -> {(before.epoch + 1) % 256}"
    assert told[:3] == ["step size: 0.4 -> 0.2", "tick: 60 -> 30", f"epoch: {after}"]
    assert "kept: the server's model, and who is in the fleet" in told
    assert "kept: tick numbers: they go on with 3" in told
    assert any(line.startswith("lost: updates that were not confirmed") for line in told)
    assert told[-1] == f"{folder}: nothing was changed yet (--dry-run)"
    assert agreed(folder) == before
    again = done(capsys, folder, *words).splitlines()
    assert (again[:-1], again[-1]) == (told[:-1], f"{folder}: start its server again")
    assert (agreed(folder).step_size, agreed(folder).tick_seconds) == (0.2, 30.0)
    assert done(capsys, folder, *words) == f"{folder}: nothing is different, and nothing was done\n"


def test_a_change_as_json(folder: Path, capsys: Capsys) -> None:
    words = ("--input", "wind:3:2:0:60", "--range", "b::5", "--range", "y:-1:")
    answer = json.loads(done(capsys, folder, *words, "--json"))
    assert {"what": "range of b", "before": "-8 to 8", "after": "-inf to 5"} in answer["changes"]
    assert {"what": "range of y", "before": "-30 to 50", "after": "-1 to inf"} in answer["changes"]
    assert {"what": "lineage", "before": "0", "after": "1"} in answer["changes"]
    assert answer["dry_run"] is False
    assert answer["tick"] == agreed(folder).from_tick
    assert any("wind" in words for words in answer["kept"])
    wind = agreed(folder).inputs[2]
    assert (wind.name, wind.offset, wind.scale, wind.low, wind.high) == ("wind", 3, 2, 0, 60)


def test_every_value_that_can_be_changed(folder: Path, capsys: Capsys) -> None:
    words = "--shared 3 --algorithm pao-fed-c2 --max-age 20 --step-size 0.3 --tick 5"
    bounds = "--clip 3 --aside no --bound none"
    done(capsys, folder, *words.split(), *bounds.split())
    now = agreed(folder)
    assert (now.shared, now.algorithm, now.max_age) == (3, "pao-fed-c2", 20)
    assert (now.step_size, now.tick_seconds) == (0.3, 5.0)
    assert (now.clip, now.aside, now.bound) == (3.0, False, None)


def test_a_manifest_that_outgrows_the_broker_s_packets(folder: Path, capsys: Capsys) -> None:
    for count, outgrown in ((1, False), (30, True), (1, False)):
        before = len(agreed(folder).inputs)
        names = [f"number-{before + k}" for k in range(count)]
        told = done(capsys, folder, *(word for name in names for word in ("--input", name)))
        assert ("start its broker and its server again" in told) == outgrown
        assert not Fleet(folder).make_room(agreed(folder))  # nothing is left to do


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "fleet change needs something to change (see --help)"),
        ("--features 9", "features cannot be changed from 8 to 9: the model has learned with"),
        ("--kernel-width 2", "kernel width cannot be changed from 1 to 2"),
        ("--seed 5", "seed cannot be changed from 1 to 5"),
        ("--input a:1:2", "a (offset 0 and scale 1) cannot become a (offset 1 and scale 2)"),
        ("--input wind:1", "'wind:1' is not NAME[:OFFSET:SCALE[:LOW:HIGH]]"),
        ("--range a:1", "'a:1' is not NAME:LOW:HIGH"),
        ("--range a:x:1", "'a:x:1' is not NAME:LOW:HIGH"),
        ("--range c:0:1", "there is no 'c' to give a range (known: a, b, y)"),
        ("--clip much", "argument --clip: 'much' is neither a number nor none"),
        ("--aside maybe", "argument --aside: 'maybe' is neither yes nor no"),
        ("--algorithm pso-fed", "pso-fed cannot be served"),
        ("--setp-size 1", "unexpected '--setp-size': did you mean --step-size?"),
    ],
)
def test_what_is_refused(words: str, says: str, folder: Path, capsys: Capsys) -> None:
    before = agreed(folder)
    assert says in refusal(capsys, folder, *words.split())
    assert agreed(folder) == before


def test_while_the_server_runs(folder: Path, capsys: Capsys) -> None:
    with locked(folder):
        says = refusal(capsys, folder, "--step-size", "0.1")
        assert says == f"a server of {folder} is running: stop it first, or leave it at work"
        assert "--dry-run" in done(capsys, folder, "--step-size", "0.1", "--dry-run")


def test_of_no_fleet(tmp_path: Path, capsys: Capsys) -> None:
    says = refusal(capsys, tmp_path, "--step-size", "0.1")
    assert says == f"{tmp_path} holds no fleet: there is no fleet.toml in it"
