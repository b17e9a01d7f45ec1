"""`paofed fleet verify`, `repair`, `model` and `export` as an operator meets them."""

import json
import shutil
import sqlite3
import time
import zlib
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.journal.confirmation import CONFIRMED
from paofed.live.journal.database import FILE, locked
from paofed.live.journal.exports import replay_messages
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.coordinator import TOLERANCE
from tests.live.fleets import f32, live, opened, stored


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three devices, 25 ticks, snapshots after 10 and 20; no test changes it."""
    folder = tmp_path_factory.mktemp("kept") / "greenhouse"
    with stored(folder) as store:
        live(store, store.recover(), range(25), snapshots=10)
    return folder


@pytest.fixture
def fleet(kept: Path, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return Path(shutil.copytree(kept, tmp_path / "greenhouse"))


def execute(fleet: Path, sql: str, *values: object) -> None:
    connection = sqlite3.connect(fleet / FILE)
    try:
        with connection:
            connection.execute(sql, values)
    finally:
        connection.close()


def said(capsys: pytest.CaptureFixture[str]) -> str:
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_verify_says_that_all_is_well(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        f"{kept}: the model recomputed from 30 lines of the journal equals the snapshot of tick 20"
    )
    assert main(["fleet", "verify", str(kept)]) == 0
    assert said(capsys) == f"{text}\n"
    assert main(["fleet", "verify", str(kept), "--json"]) == 0
    assert json.loads(said(capsys)) == {"tick": 20, "lines": 30, "agrees": True, "text": text}


def test_verify_says_that_it_is_not(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = f32(0.25, 0.5).tobytes()
    checksum = zlib.crc32(b"10 0 10 %s 0" % values)
    execute(fleet, "UPDATE journal SET vals = ?, checksum = ? WHERE line = 31", values, checksum)
    assert main(["fleet", "verify", str(fleet)]) == 1
    assert "DOES NOT EQUAL the snapshot of tick 20" in said(capsys)
    assert main(["fleet", "verify", str(fleet), "--json"]) == 1
    assert json.loads(said(capsys))["agrees"] is False


def test_verify_needs_a_snapshot(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fleet is made with one."""
    execute(fleet, "DELETE FROM snapshot")
    for action, *rest in (["verify"], ["model", "--out", "x"], ["export", "--messages", "x"]):
        assert main(["fleet", action, str(fleet), *rest]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert "has no snapshot: restore a backup with `paofed fleet restore`" in err


def test_the_model_is_that_of_the_server(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model.npz"
    with opened(kept) as store:
        coordinator = store.recover()
    waiting = coordinator.w.copy()
    coordinator.close(25 + TOLERANCE)
    assert coordinator.w.tobytes() != waiting.tobytes()  # what waited for its tick counts by now
    assert main(["fleet", "model", str(kept), "--out", str(out)]) == 0
    model = FleetModel.load(out)
    assert said(capsys) == f"wrote the model of tick {model.tick} to {out}\n"
    assert model.tick == pytest.approx(time.time() - 1.0, abs=60)  # this fleet began in 1970
    assert model.w.tobytes() == coordinator.w.tobytes()
    assert main(["fleet", "model", str(kept), "--out", str(out), "--json"]) == 0
    answer = json.loads(said(capsys))
    assert answer["text"] == f"wrote the model of tick {answer['tick']} to {out}"
    assert answer["out"] == str(out)


def test_the_messages_make_the_model(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "messages.npz"
    assert main(["fleet", "export", str(kept), "--messages", str(out)]) == 0
    assert said(capsys) == f"wrote 45 messages to {out}\n"
    with opened(kept) as store:
        coordinator = store.recover()
    coordinator.close(25)
    replayed = replay_messages(out)
    assert (replayed.tick, replayed.w.tobytes()) == (25, coordinator.w.tobytes())
    assert main(["fleet", "export", str(kept), "--messages", str(out), "--json"]) == 0
    assert json.loads(said(capsys))["messages"] == 45


def test_repair_says_what_was_lost(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    execute(fleet, "UPDATE journal SET checksum = checksum + 1 WHERE line = 70")
    for action in ("verify", "repair"):
        assert main(["fleet", action, str(fleet)]) == (2 if action == "verify" else 0)
        out, err = capsys.readouterr()
        if action == "verify":
            assert (out, err.count("\n")) == ("", 1)
            assert err.startswith("paofed fleet verify: error: line 70 of ")
            assert "`paofed fleet repair` goes on from" in err
        else:
            assert err == ""
            assert out == f"{fleet} is usable again; lost: 6 confirmed updates\n"
    assert main(["fleet", "verify", str(fleet)]) == 0
    assert "equals" in said(capsys)


def test_a_copy_that_is_older_is_refused_until_it_is_repaired(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = (fleet / FILE).read_bytes()
    with opened(fleet) as store:
        live(store, store.recover(), range(25, 26))
        store.roster.quarantine(2)
    (fleet / FILE).write_bytes(copy)
    for action, *rest in (["verify"], ["model", "--out", "x"], ["export", "--messages", "x"]):
        assert main(["fleet", action, str(fleet), *rest]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert " lacks 3 confirmed updates and 1 confirmed change of who is in the fleet" in err
        assert (
            "restore a newer backup with `paofed fleet restore`, or let `paofed fleet repair`"
            in err
        )
    assert main(["fleet", "repair", str(fleet)]) == 0
    lost = "3 confirmed updates and 1 confirmed change of who is in the fleet or of what it has "
    lost += "agreed on"
    assert said(capsys) == f"{fleet} is usable again; lost: {lost}\n"
    assert main(["fleet", "verify", str(fleet)]) == 0
    assert "equals" in said(capsys)


def test_a_copy_without_what_was_confirmed(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (fleet / CONFIRMED).unlink()
    execute(fleet, "UPDATE device SET quarantined = 1 WHERE id = 2")
    assert main(["fleet", "verify", str(fleet)]) == 2
    assert "-confirmed is missing or damaged, so nobody can tell" in capsys.readouterr().err
    assert main(["fleet", "repair", str(fleet)]) == 0
    assert said(capsys) == (
        f"{fleet} is usable again; lost: nothing; whether more was confirmed cannot be told; "
        f"rows of devices were damaged, and these are quarantined: 2\n"
    )
    assert main(["fleet", "verify", str(fleet)]) == 0


def test_there_is_nothing_to_repair(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"{kept} is intact: there is nothing to repair"
    assert main(["fleet", "repair", str(kept)]) == 0
    assert said(capsys) == f"{text}\n"
    assert main(["fleet", "repair", str(kept), "--json"]) == 0
    assert json.loads(said(capsys)) == {
        "lost": 0,
        "changes": 0,
        "complete": True,
        "devices": [],
        "regained": 0,
        "unknown": False,
        "text": text,
    }


def test_what_is_served_is_not_repaired(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    execute(fleet, "UPDATE journal SET checksum = checksum + 1 WHERE line = 70")
    with locked(fleet):
        assert main(["fleet", "repair", str(fleet)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"a server of {fleet} is running: stop it first" in err
    assert main(["fleet", "verify", str(fleet)]) == 2
    assert "line 70 of " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["verify", "DIR", "--out", "x.npz"],
            "unexpected '--out' (see paofed fleet verify --help)",
        ),
        (["model", "DIR", "--out", "no/such/place.npz"], "is not a directory"),
        (["model", "DIR/missing", "--out", "no/such/place.npz"], "is not a directory"),
        (["export", "DIR", "--messages", "DIR"], "is a directory"),
        (["verify", "DIR/missing"], "holds no fleet: there is no fleet.sqlite in it"),
        (["add", "DIR"], "the following arguments are required: LABEL"),
        (["verify", "DIR", "--jsn"], "did you mean --json?"),
    ],
)
def test_bad_input(
    arguments: list[str], text: str, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (kept / FILE).read_bytes()
    try:
        code = main(["fleet", *(word.replace("DIR", str(kept)) for word in arguments)])
    except SystemExit as stop:
        code = int(str(stop.code))
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith(f"paofed fleet {arguments[0]}: error: ")
    assert err.count("\n") == 1
    assert text in err
    assert (kept / FILE).read_bytes() == before


def test_a_model_that_failed_leaves_no_file(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(fleet, "UPDATE snapshot SET checksum = checksum + 1")
    out = tmp_path / "model.npz"
    assert main(["fleet", "model", str(fleet), "--out", str(out)]) == 2
    assert "a snapshot in " in capsys.readouterr().err
    assert not out.exists()
