"""`paofed fleet` as an operator meets it."""

import json
import sqlite3
import zlib
from pathlib import Path

import numpy as np
import pytest

from paofed.cli import main
from paofed.live.exports import FleetModel, replay_messages
from paofed.live.store import FILE
from tests.live.fleets import f32, live, opened, stored


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Three devices, 25 ticks, snapshots after 10 and 20."""
    folder = tmp_path / "greenhouse"
    with stored(folder) as store:
        live(store, store.recover(), range(25), snapshots=10)
    return folder


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


def test_verify_says_that_all_is_well(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        f"{fleet}: the model recomputed from 30 lines of the journal equals the snapshot of tick 20"
    )
    assert main(["fleet", "verify", str(fleet)]) == 0
    assert said(capsys) == f"{text}\n"
    assert main(["fleet", "verify", str(fleet), "--json"]) == 0
    assert json.loads(said(capsys)) == {"tick": 20, "lines": 30, "agrees": True, "text": text}


def test_verify_says_that_it_is_not(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = f32(0.25, 0.5).tobytes()
    checksum = zlib.crc32(b"10 0 10 " + values)
    execute(fleet, "UPDATE journal SET vals = ?, checksum = ? WHERE line = 31", values, checksum)
    assert main(["fleet", "verify", str(fleet)]) == 1
    assert "DOES NOT EQUAL the snapshot of tick 20" in said(capsys)
    assert main(["fleet", "verify", str(fleet), "--json"]) == 1
    assert json.loads(said(capsys))["agrees"] is False


def test_the_model_is_that_of_the_server(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model.npz"
    with opened(fleet) as store:
        coordinator = store.recover()
    text = f"wrote the model of tick {coordinator.tick} to {out}"
    assert main(["fleet", "model", str(fleet), "--out", str(out)]) == 0
    assert said(capsys) == f"{text}\n"
    model = FleetModel.load(out)
    assert model.tick == coordinator.tick
    assert model.w.tobytes() == coordinator.w.tobytes()
    assert main(["fleet", "model", str(fleet), "--out", str(out), "--json"]) == 0
    expected = {"tick": coordinator.tick, "out": str(out), "text": text}
    assert json.loads(said(capsys)) == expected


def test_the_messages_make_the_model(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "messages.npz"
    assert main(["fleet", "export", str(fleet), "--messages", str(out)]) == 0
    assert said(capsys) == f"wrote 45 messages to {out}\n"
    with opened(fleet) as store:
        coordinator = store.recover()
    coordinator.close(25)
    replayed = replay_messages(out)
    assert (replayed.tick, replayed.w.tobytes()) == (25, coordinator.w.tobytes())
    assert main(["fleet", "export", str(fleet), "--messages", str(out), "--json"]) == 0
    assert json.loads(said(capsys))["messages"] == 45


def test_repair_says_what_was_lost(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    execute(fleet, "UPDATE journal SET checksum = checksum + 1 WHERE line = 70")
    for action in ("verify", "repair"):
        assert main(["fleet", action, str(fleet)]) == (2 if action == "verify" else 0)
        out, err = capsys.readouterr()
        if action == "verify":
            assert (out, err.count("\n")) == ("", 1)
            assert err.startswith("paofed fleet: error: line 70 of ")
            assert "`paofed fleet repair` goes on from" in err
        else:
            assert (out, err) == (f"{fleet} is usable again; 6 accepted updates were lost\n", "")
    assert main(["fleet", "verify", str(fleet)]) == 0
    assert "equals" in said(capsys)


def test_repair_as_json(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "repair", str(fleet), "--json"]) == 0
    assert json.loads(said(capsys))["lost"] == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["model", "DIR"], "fleet model needs --out"),
        (["export", "DIR"], "fleet export needs --messages"),
        (["verify", "DIR", "--out", "x.npz"], "fleet verify takes no --out"),
        (["repair", "DIR", "--messages", "x.npz"], "fleet repair takes no --messages"),
        (["model", "DIR", "--messages", "x.npz", "--out", "y"], "fleet model takes no --messages"),
        (["export", "DIR", "--out", "x.npz"], "fleet export takes no --out"),
        (["model", "DIR", "--out", "no/such/place.npz"], "is not a directory"),
        (["model", "DIR/missing", "--out", "no/such/place.npz"], "is not a directory"),
        (["export", "DIR", "--messages", "DIR"], "is a directory"),
        (["verify", "DIR/missing"], "holds no fleet: there is no fleet.sqlite in it"),
        (["mend", "DIR"], "invalid choice: 'mend'"),
        (["verify"], "the following arguments are required: DIR"),
        (["verify", "DIR", "--jsn"], "did you mean --json?"),
    ],
)
def test_bad_input(
    arguments: list[str], text: str, fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (fleet / FILE).read_bytes()
    try:
        code = main(["fleet", *(word.replace("DIR", str(fleet)) for word in arguments)])
    except SystemExit as stop:
        code = int(str(stop.code))
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("paofed fleet: error: ")
    assert err.count("\n") == 1
    assert text in err
    assert (fleet / FILE).read_bytes() == before


def test_a_model_that_failed_leaves_no_file(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(fleet, "UPDATE snapshot SET checksum = checksum + 1")
    out = tmp_path / "model.npz"
    assert main(["fleet", "model", str(fleet), "--out", str(out)]) == 2
    assert "a snapshot in " in capsys.readouterr().err
    assert not out.exists()


def test_what_was_taken_out_predicts(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, inputs = tmp_path / "model.npz", tmp_path / "x.csv"
    inputs.write_text("0.5,1.5\n")
    assert main(["fleet", "model", str(fleet), "--out", str(out)]) == 0
    said(capsys)
    assert main(["predict", str(out), "--input", str(inputs)]) == 0
    expected = FleetModel.load(out).predict(np.array([0.5, 1.5]))
    assert said(capsys) == f"{float(expected):.9g}\n"
