"""`paofed fleet change` as an operator meets it."""

import io
import json
import shutil
import sys
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.database import locked
from paofed.live.protocol.manifest import Manifest
from tests.cli import operators
from tests.cli.operators import Capsys


def founded(place: Path) -> Path:
    numbers = "--input a --input b:0.5:2:-8:8 --target y:10:4 --features 8 --tick 60 --seed 1"
    words = f"fleet init {place} {numbers} --security none".split()
    assert main(words) == 0
    return place


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet that no test changes."""
    return founded(tmp_path_factory.mktemp("unchanged") / "greenhouse")


@pytest.fixture
def folder(unchanged: Path, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return Path(shutil.copytree(unchanged, tmp_path / "greenhouse"))


def agreed(folder: Path) -> Manifest:
    with Fleet(folder).store() as store:
        return store.epochs.manifest()


def done(capsys: Capsys, folder: Path, *words: object) -> str:
    return operators.done(capsys, "change", folder, *words)


def refusal(capsys: Capsys, folder: Path, *words: str) -> str:
    return operators.refusal(capsys, "change", folder, *words)


def test_a_change_in_words(tmp_path: Path, capsys: Capsys) -> None:
    folder = founded(tmp_path / "greenhouse")  # in its first tick
    capsys.readouterr()
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
        ("--kernel-width 2", "--kernel-width cannot be changed from 1 to 2"),
        ("--seed 5", "seed cannot be changed from 1 to 5"),
        ("--input a:1:2", "a (offset 0 and scale 1) cannot become a (offset 1 and scale 2)"),
        ("--range a:1", "'a:1' is not NAME:LOW:HIGH"),
        ("--range a:x:1", "'a:x:1' is not NAME:LOW:HIGH"),
        ("--range c:0:1", "there is no 'c' to give a range (known: a, b, y)"),
        ("--clip much", "argument --clip: 'much' is neither a number nor none"),
        ("--aside maybe", "argument --aside: 'maybe' is neither yes nor no"),
    ],
)
def test_what_is_refused(words: str, says: str, unchanged: Path, capsys: Capsys) -> None:
    before = agreed(unchanged)
    assert says in refusal(capsys, unchanged, *words.split())
    assert agreed(unchanged) == before


def test_while_the_server_runs(folder: Path, capsys: Capsys) -> None:
    with locked(folder):
        says = refusal(capsys, folder, "--step-size", "0.1")
        assert says == f"a server of {folder} is running: stop it first, or leave it at work"
        assert "--dry-run" in done(capsys, folder, "--step-size", "0.1", "--dry-run")


@pytest.mark.parametrize("clip", ["6", "2.5", "none"])
def test_going_back_to_a_bounded_method_restores_its_bound(
    clip: str, folder: Path, capsys: Capsys
) -> None:
    done(capsys, folder, "--clip", clip) if clip != "6" else None
    done(capsys, folder, "--algorithm", "fed-async:alpha=0.1", "--shared", 4)
    assert agreed(folder).clip is None
    assert main(["fleet", "status", str(folder)]) == 0
    assert "bounds       clip none: one device can ruin the model" in capsys.readouterr().out
    done(capsys, folder, "--step-size", 0.3)  # another epoch without a bound
    told = done(capsys, folder, "--algorithm", "pao-fed-u1")
    assert agreed(folder).clip == (None if clip == "none" else float(clip))
    assert ("which comes back: clip" in told) == (clip != "none")
    assert main(["fleet", "status", str(folder), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["clip"], said["aside"], said["bound"]) == (agreed(folder).clip, True, 6.0)


def test_a_fleet_that_never_had_a_bound_gets_the_usual_one(tmp_path: Path, capsys: Capsys) -> None:
    words = f"fleet init {tmp_path / 'f'} --input a --target y --security none"
    assert main([*words.split(), "--algorithm", "fed-async"]) == 0
    capsys.readouterr()
    done(capsys, tmp_path / "f", "--algorithm", "pao-fed-u1")
    assert agreed(tmp_path / "f").clip == 6.0


# Firmware in C


@pytest.fixture
def with_firmware(folder: Path, capsys: Capsys) -> Path:
    assert main(["fleet", "add", str(folder), "north", "south", "west"]) == 0
    capsys.readouterr()
    assert main(["fleet", "firmware", str(folder), "west", "north"]) == 0
    assert capsys.readouterr().out == "firmware in C: north, west\n"
    return folder


CUT_OFF = "cut off: 2 devices with firmware in C, until it is built anew (`paofed device c`)"


def test_a_change_that_firmware_cannot_follow_is_refused_without_yes(
    with_firmware: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))  # no terminal
    before = agreed(with_firmware)
    says = refusal(capsys, with_firmware, "--step-size", "0.2")
    assert says.startswith(f"{CUT_OFF}: north, west; --yes")
    assert agreed(with_firmware) == before
    assert f"{CUT_OFF}: north, west" in done(capsys, with_firmware, "--tick", 30, "--dry-run")
    assert agreed(with_firmware) == before
    answer = json.loads(done(capsys, with_firmware, "--step-size", 0.2, "--yes", "--json"))
    assert answer["cut_off"] == ["north", "west"]
    assert agreed(with_firmware).step_size == 0.2


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "goes_on"), [("yes\n", True), ("\n", False)])
def test_at_a_terminal_the_command_asks(
    typed: str,
    goes_on: bool,
    with_firmware: Path,
    capsys: Capsys,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", _Terminal(typed))
    code = main(["fleet", "change", str(with_firmware), "--step-size", "0.2"])
    out, err = capsys.readouterr()
    assert "change the fleet all the same? [y/N]" in out
    assert (code, agreed(with_firmware).step_size) == ((0, 0.2) if goes_on else (2, 0.4))
    assert ("nothing was changed" in err) != goes_on


@pytest.mark.parametrize("words", ["--clip 3", "--aside no", "--clip none"])
def test_what_firmware_can_follow_is_not_asked(
    words: str, with_firmware: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert "cut off" not in done(capsys, with_firmware, *words.split())


def test_firmware_that_is_gone_is_not_asked_for(
    with_firmware: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert main(["fleet", "firmware", str(with_firmware), "north", "--off"]) == 0
    assert capsys.readouterr().out == "firmware in C: west\n"
    assert main(["fleet", "remove", str(with_firmware), "west"]) == 0
    assert main(["fleet", "firmware", str(with_firmware)]) == 0
    assert "firmware in C: no device\n" in capsys.readouterr().out
    assert "cut off" not in done(capsys, with_firmware, "--step-size", 0.2)
    assert main(["fleet", "firmware", str(with_firmware), "nort"]) == 2
    assert "did you mean" in capsys.readouterr().err
    with Fleet(with_firmware).store() as store:
        assert store.is_intact()
