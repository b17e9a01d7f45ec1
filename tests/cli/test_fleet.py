"""`paofed fleet` as an operator meets it."""

import json
import re
import shutil
import socket
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.cli import main
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.journal.database import CONFIRMED, FILE, locked
from paofed.live.journal.exports import replay_messages
from paofed.live.model.fleet_model import FleetModel
from paofed.live.network.credential import Credential
from paofed.live.protocol.coordinator import TOLERANCE
from paofed.live.protocol.scaling import Scaling
from paofed.live.server.judgement import Trouble
from paofed.live.server.status import DeviceStatus, FleetError, ServiceStatus, Status
from paofed.live.server.web.listener import Listener
from paofed.live.server.web.site import of_health
from tests.live.fleets import f32, live, opened, records, stored, update


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
        store.quarantine(2)
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
        (["model", "DIR"], "the following arguments are required: --out"),
        (["export", "DIR"], "the following arguments are required: --messages"),
        (
            ["verify", "DIR", "--out", "x.npz"],
            "unexpected '--out' (see paofed fleet verify --help)",
        ),
        (["repair", "DIR", "--messages", "x.npz"], "unexpected '--messages'"),
        (["model", "DIR", "--messages", "x.npz", "--out", "y"], "unexpected '--messages'"),
        (["model", "DIR", "--out", "no/such/place.npz"], "is not a directory"),
        (["model", "DIR/missing", "--out", "no/such/place.npz"], "is not a directory"),
        (["export", "DIR", "--messages", "DIR"], "is a directory"),
        (["verify", "DIR/missing"], "holds no fleet: there is no fleet.sqlite in it"),
        (["add", "DIR"], "the following arguments are required: LABEL"),
        (["add", "DIR", "north"], "holds no fleet: there is no fleet.toml in it"),
        (["status", "DIR"], "holds no fleet: there is no fleet.toml in it"),
        (["verify"], "the following arguments are required: DIR"),
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


def test_what_was_taken_out_predicts(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, inputs = tmp_path / "model.npz", tmp_path / "x.csv"
    inputs.write_text("0.5,1.5\n")
    assert main(["fleet", "model", str(kept), "--out", str(out)]) == 0
    said(capsys)
    assert main(["predict", str(out), "--input", str(inputs)]) == 0
    expected = FleetModel.load(out).predict(np.array([0.5, 1.5]))
    assert said(capsys) == f"{float(expected):.9g}\n"


# The folder, its members, and how they are doing

Capsys = pytest.CaptureFixture[str]
NUMBERS = ("--input", "a", "--input", "b:0.5:2", "--target", "y:10:4")


UNTOLD = "no broker runs with these files here: start it, or have it read them (kill -HUP)\n"


def done(capsys: Capsys, *words: object, warns: str = "") -> str:
    """What an action says that succeeds, and on stderr."""
    assert main(["fleet", *map(str, words)]) == 0
    out, err = capsys.readouterr()
    assert err == warns
    return out


def refusal(capsys: Capsys, *words: object) -> str:
    """The one line of an action that fails."""
    try:
        code = main(["fleet", *map(str, words)])
    except SystemExit as stop:
        code = int(str(stop.code))
    out, err = capsys.readouterr()
    assert (code, err.count("\n")) == (2, 1)
    prefix = f"paofed fleet {words[0]}: error: "
    assert err.startswith(prefix)
    assert out == "" or words[0] == "add"
    return err.removeprefix(prefix).rstrip("\n")


def founded(place: Path) -> Path:
    """A fleet that shows its health nowhere, with two devices."""
    small = ("--features", "8", "--shared", "2", "--tick", "60", "--http", "")
    assert main(["fleet", "init", str(place), *NUMBERS, *small]) == 0
    assert main(["fleet", "add", str(place), "north", "south"]) == 0
    return place


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that no test changes."""
    return founded(tmp_path_factory.mktemp("unchanged") / "greenhouse")


@pytest.fixture
def folder(unchanged: Path, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return Path(shutil.copytree(unchanged, tmp_path / "greenhouse"))


# init


def test_init_makes_a_fleet_and_says_what_comes_next(tmp_path: Path, capsys: Capsys) -> None:
    place = tmp_path / "greenhouse"
    configuration = place.resolve() / "broker" / "mosquitto.conf"
    lines = done(capsys, "init", place, *NUMBERS).splitlines()
    assert lines == [
        f"made {place}",
        f"start the broker:  mosquitto -c {configuration}",
        f"start the server:  paofed fleet serve {place}",
        f"add devices:       paofed fleet add {place} LABEL ...",
    ]
    assert configuration.is_file()
    fleet = Fleet(place)
    assert fleet.settings == Settings(name="greenhouse")
    with fleet.store() as store:
        agreed = store.manifest()
    assert agreed.inputs == (
        Scaling(name="a", low=-10.0, high=10.0),
        Scaling(name="b", offset=0.5, scale=2.0, low=-19.5, high=20.5),
    )
    assert agreed.target == Scaling(name="y", offset=10.0, scale=4.0, low=-30.0, high=50.0)
    assert (agreed.algorithm, agreed.features, agreed.shared) == ("pao-fed-u1", 200, 4)
    assert agreed.tick_seconds == 60.0
    assert agreed.start > 1_700_000_000
    assert (agreed.clip, agreed.aside, agreed.bound) == (6.0, True, 6.0)


@pytest.mark.parametrize(
    ("words", "bounds"),
    [
        (("--clip", "none", "--bound", "none"), (None, True, None)),
        (("--clip", "4.5", "--aside", "no"), (4.5, False, 6.0)),
    ],
)
def test_init_bounds_what_one_device_can_do(
    words: tuple[str, ...], bounds: tuple[object, ...], tmp_path: Path, capsys: Capsys
) -> None:
    done(capsys, "init", tmp_path / "x", *NUMBERS, "--security", "none", *words)
    with Fleet(tmp_path / "x").store() as store:
        agreed = store.manifest()
    assert (agreed.clip, agreed.aside, agreed.bound) == bounds


def test_fleets_do_not_understand_each_other(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []

    def draw(below: int) -> int:
        drawn.append(below)
        return 200 + len(drawn)

    monkeypatch.setattr("paofed.live.fleet.founding.secrets.randbelow", draw)
    for name, epoch in (("x", 201), ("y", 202)):
        done(capsys, "init", tmp_path / name, *NUMBERS, "--security", "none")
        with Fleet(tmp_path / name).store() as store:
            assert store.manifest().epoch == epoch
    assert drawn == [256, 256]


def test_init_as_json(tmp_path: Path, capsys: Capsys) -> None:
    place = tmp_path / "greenhouse"
    answer = json.loads(done(capsys, "init", place, *NUMBERS, "--json"))
    text = answer.pop("text")
    assert text.startswith(f"made {place}\n")
    configuration = place.resolve() / "broker" / "mosquitto.conf"
    assert answer == {"folder": str(place), "configuration": str(configuration)}


def test_init_takes_every_number(tmp_path: Path, capsys: Capsys) -> None:
    place = tmp_path / "a folder"
    numbers = {
        "--tick": 2.5,
        "--algorithm": "pao-fed-c2",
        "--features": 30,
        "--shared": 3,
        "--kernel-width": 0.7,
        "--step-size": 0.25,
        "--max-age": 17,
        "--seed": 99,
    }
    places = {
        "--name": "house",
        "--host": "broker.example",
        "--port": 1884,
        "--security": "password",
        "--http": "127.0.0.1:9000",
    }
    options = [word for pair in (numbers | places).items() for word in pair]
    done(capsys, "init", place, *NUMBERS, *options)
    fleet = Fleet(place)
    with fleet.store() as store:
        agreed = store.manifest()
    assert [
        agreed.tick_seconds,
        agreed.algorithm,
        agreed.features,
        agreed.shared,
        agreed.kernel_width,
        agreed.step_size,
        agreed.max_age,
        agreed.seed,
    ] == list(numbers.values())
    settings = fleet.settings
    found = [settings.name, settings.host, settings.port, settings.security, settings.http]
    assert found == list(places.values())


@pytest.mark.parametrize(("more", "shared"), [((), 8), (("--shared", 8), 8)])
def test_init_of_a_fleet_that_shares_everything(
    more: tuple[object, ...], shared: int, tmp_path: Path, capsys: Capsys
) -> None:
    whole = ("--algorithm", "online-fedsgd", "--features", 8)
    done(capsys, "init", tmp_path / "x", *NUMBERS, *whole, *more)
    with Fleet(tmp_path / "x").store() as store:
        assert store.manifest().shared == shared


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--target", "y"), "fleet init needs --input, or --from"),
        (("--input", "a"), "fleet init needs --target, or --from"),
        (("--input", "a:1", "--target", "y"), "'a:1' is not NAME[:OFFSET:SCALE[:LOW:HIGH]]"),
        (
            ("--input", "a:1:2:3", "--target", "y"),
            "'a:1:2:3' is not NAME[:OFFSET:SCALE[:LOW:HIGH]]",
        ),
        (("--input", "a:x:2", "--target", "y"), "'a:x:2' is not NAME[:OFFSET:SCALE[:LOW:HIGH]]"),
        (("--input", "a:1:0", "--target", "y"), "scale of a is 0.0: expected a number above 0"),
        (("--input", "a:1:-2", "--target", "y"), "scale of a is -2.0: expected a number above 0"),
        (("--input", "a:nan:1", "--target", "y"), "scaling of a is nan: expected a finite number"),
        ((*NUMBERS, "--tick", "0"), "tick_seconds is 0.0: expected a finite number above 0"),
        ((*NUMBERS, "--tick", "0.0001"), "tick_seconds is 0.0001: expected at least 0.001 seconds"),
        ((*NUMBERS, "--features", "2000000"), "features is 2000000: expected 1 to 1,000,000"),
        (
            (*NUMBERS, "--input", "y"),
            "list of names is ['a', 'b', 'y', 'y']: expected each one once",
        ),
        ((*NUMBERS, "--input", "a,b"), "'a,b': expected text without , or"),
        ((*NUMBERS, "--input", ":1:2"), "'': expected text without , or"),
        ((*NUMBERS, "--http", "localhost:0"), "the setting http is 'localhost:0': expected"),
        ((*NUMBERS, "--host", "a:8883"), "the setting host is 'a:8883': expected a host name or"),
        ((*NUMBERS, "--tick", "soon"), "--tick is 'soon': expected a number"),
        ((*NUMBERS, "--max-age", "201"), "max_age is 201: expected 0 to 200"),
        ((*NUMBERS, "--shared", "300"), "300"),
        ((*NUMBERS, "--algorithm", "pso-fed"), "pso-fed cannot be served: its server picks"),
        ((*NUMBERS, "--algorithm", "pao-fed-u3"), "did you mean 'pao-fed-u"),
        ((*NUMBERS, "--port", "0"), "the setting port is 0: expected 1 to 65535"),
        ((*NUMBERS, "--host", "a b"), "the setting host is 'a b': expected a host name"),
        ((*NUMBERS, "--http", 'x"y:80'), "the setting http is "),
        ((*NUMBERS, "--name", "my fleet"), "the setting name is 'my fleet': expected 1 to 32"),
        ((*NUMBERS, "--security", "tls"), "argument --security: invalid choice: 'tls'"),
        ((*NUMBERS, "--inptu", "c"), "unexpected '--inptu': did you mean --input?"),
    ],
)
def test_init_with_bad_input_makes_nothing(
    words: tuple[str, ...], says: str, tmp_path: Path, capsys: Capsys
) -> None:
    assert says in refusal(capsys, "init", tmp_path / "x", *words)
    assert list(tmp_path.iterdir()) == []


def test_init_in_a_folder_that_cannot_name_a_fleet(tmp_path: Path, capsys: Capsys) -> None:
    says = refusal(capsys, "init", tmp_path / "my fleet", *NUMBERS)
    assert says.startswith("the setting name is 'my fleet'")
    assert not (tmp_path / "my fleet").exists()


def test_init_twice(unchanged: Path, capsys: Capsys) -> None:
    before = (unchanged / "authority.pem").read_bytes()
    says = refusal(capsys, "init", unchanged, *NUMBERS)
    assert says == f"{unchanged} is not an empty folder: choose another"
    assert (unchanged / "authority.pem").read_bytes() == before


# add, rotate, remove, quarantine


def labels(folder: Path) -> dict[str, str]:
    with Fleet(folder).store() as store:
        return {
            m.label: "removed" if m.removed else "quarantined" if m.quarantined else "member"
            for m in store.members()
        }


def test_add_says_where_each_file_is(folder: Path, capsys: Capsys) -> None:
    paths = [folder / "devices" / name for name in ("2-east.json", "3-far-west.json")]
    assert done(capsys, "add", folder, "east", "far west") == "".join(
        f"put {path} on its device\n" for path in paths
    )
    assert [Credential.load(path).label for path in paths] == ["east", "far west"]
    lines = done(capsys, "add", folder, "x", "y", "--json").splitlines()
    assert [json.loads(line)["file"] for line in lines] == [
        str(folder / "devices" / name) for name in ("4-x.json", "5-y.json")
    ]


def test_no_secret_is_shown(folder: Path, capsys: Capsys) -> None:
    shown = done(capsys, "add", folder, "east", "--json")
    shown += done(capsys, "rotate", folder, "east", warns=UNTOLD)
    shown += done(capsys, "status", folder) + done(capsys, "status", folder, "--json")
    credential = Credential.load(folder / "devices" / "2-east.json")
    assert credential.key is not None
    assert "PRIVATE" not in shown
    assert credential.key.splitlines()[1] not in shown


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("south", "there is a device 'south' already (`paofed fleet rotate` makes a new file)"),
        ("east", "the label 'east' is given twice"),
        ("", "the label '' is no name: expected at most 64 characters of printable text"),
    ],
)
def test_add_of_several_with_a_bad_one_adds_none(
    bad: str, says: str, folder: Path, capsys: Capsys
) -> None:
    assert main(["fleet", "add", str(folder), "east", bad, "west"]) == 2
    assert capsys.readouterr() == ("", f"paofed fleet add: error: {says}\n")
    assert list(labels(folder)) == ["north", "south"]
    assert len(list((folder / "devices").iterdir())) == 2


@pytest.mark.parametrize(("security", "needed"), [("password", True), ("none", False)])
def test_add_says_whether_the_broker_has_to_be_told(
    security: str, needed: bool, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    done(capsys, "init", tmp_path / "x", *NUMBERS, "--security", security)
    done(capsys, "add", tmp_path / "x", "north", "south", warns=UNTOLD if needed else "")
    monkeypatch.setattr("paofed.live.fleet.mosquitto.reload", lambda _: True)
    done(capsys, "add", tmp_path / "x", "east")


def a_broker_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that can be told, and whose connections can be taken over."""
    monkeypatch.setattr("paofed.live.fleet.mosquitto.reload", lambda _: True)
    monkeypatch.setattr("paofed.live.fleet.folder.take_over", lambda _: True)


def test_rotate_writes_a_new_file(
    folder: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "devices" / "0-north.json"
    before = path.read_text()
    said = done(capsys, "rotate", folder, "north", warns=UNTOLD)
    assert said == f"put {path} on its device\n"
    assert path.read_text() != before
    answer = json.loads(done(capsys, "rotate", folder, "north", "--json", warns=UNTOLD))
    text = f"put {path} on its device"
    assert answer == {"file": str(path), "broker_told": False, "text": text}
    a_broker_runs(monkeypatch)
    answer = json.loads(done(capsys, "rotate", folder, "north", "--json"))
    assert answer == {"file": str(path), "broker_told": True, "text": text}


def test_rotate_of_the_server(folder: Path, capsys: Capsys) -> None:
    before = (folder / "server.json").read_text(), (folder / "broker" / "key.pem").read_text()
    device = (folder / "devices" / "0-north.json").read_text()
    text = f"restart the broker and the server of {folder}"
    assert done(capsys, "rotate", folder, "--server") == f"{text}\n"
    assert (folder / "server.json").read_text() != before[0]
    assert (folder / "broker" / "key.pem").read_text() != before[1]
    assert (folder / "devices" / "0-north.json").read_text() == device
    assert json.loads(done(capsys, "rotate", folder, "--server", "--json")) == {"text": text}


@pytest.mark.parametrize(
    "words", [(), ("north", "--server"), ("north", "--all"), ("--all", "--server")]
)
def test_rotate_of_nothing_or_of_both(
    words: tuple[str, ...], unchanged: Path, capsys: Capsys
) -> None:
    before = (unchanged / "server.json").read_text()
    says = "fleet rotate needs one of: some LABEL, --all, --server"
    assert refusal(capsys, "rotate", unchanged, *words) == says
    assert (unchanged / "server.json").read_text() == before


def test_remove_says_whether_the_broker_knows(
    folder: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    done(capsys, "add", folder, "east", "west")
    text = f"north is no longer part of {folder}\nsouth is no longer part of {folder}\n"
    assert done(capsys, "remove", folder, "north", "south", warns=UNTOLD) == text  # once
    assert labels(folder)["north"] == labels(folder)["south"] == "removed"
    answer = json.loads(done(capsys, "remove", folder, "east", "--json", warns=UNTOLD))
    assert answer == {"broker_told": False, "text": f"east is no longer part of {folder}"}
    a_broker_runs(monkeypatch)
    answer = json.loads(done(capsys, "remove", folder, "west", "--json"))
    assert answer == {"broker_told": True, "text": f"west is no longer part of {folder}"}


def test_quarantine_and_its_end(
    folder: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert done(capsys, "quarantine", folder, "north", "south", warns=UNTOLD) == (
        "north: what it sends is refused\nsouth: what it sends is refused\n"
    )
    assert labels(folder) == {"north": "quarantined", "south": "quarantined"}
    # The broker denies it until it is told otherwise.
    said = done(capsys, "quarantine", folder, "north", "--off", warns=UNTOLD)
    assert said == "north: what it sends is taken\n"
    assert labels(folder) == {"north": "member", "south": "quarantined"}
    a_broker_runs(monkeypatch)
    answer = json.loads(done(capsys, "quarantine", folder, "south", "--off", "--json"))
    assert answer == {"broker_told": True, "text": "south: what it sends is taken"}


def test_trust_and_its_end(folder: Path, capsys: Capsys) -> None:
    assert done(capsys, "trust", folder) == "trusted: nobody\n"
    assert done(capsys, "trust", folder, "south", "north") == "trusted: north, south\n"
    assert done(capsys, "trust", folder, "north", "--off") == "trusted: south\n"
    assert [line.split()[-1] for line in said_by_status(capsys, folder)[-2:]] == ["0", "trusted"]
    answer = json.loads(done(capsys, "trust", folder, "--json"))
    assert answer == {"trusted": ["south"], "text": "trusted: south"}


@pytest.mark.parametrize("action", ["rotate", "remove", "quarantine", "trust"])
def test_somebody_unknown(action: str, folder: Path, capsys: Capsys) -> None:
    says = refusal(capsys, action, folder, "norht")
    assert says == "unknown device 'norht': did you mean 'north'? (known: north, south)"


@pytest.mark.parametrize("action", ["add", "rotate", "remove", "quarantine", "status", "serve"])
def test_a_folder_without_a_fleet(action: str, tmp_path: Path, capsys: Capsys) -> None:
    label = () if action in ("status", "serve") else ("north",)
    says = f"{tmp_path} holds no fleet: there is no fleet.toml in it"
    assert refusal(capsys, action, tmp_path, *label) == says


@pytest.mark.parametrize("action", ["add", "remove", "quarantine"])
def test_labels_are_needed(action: str, folder: Path, capsys: Capsys) -> None:
    says = "the following arguments are required: LABEL"
    assert refusal(capsys, action, folder) == says


@pytest.mark.parametrize("action", ["add", "status"])
def test_settings_that_cannot_be_followed(action: str, folder: Path, capsys: Capsys) -> None:
    with (folder / "fleet.toml").open("a") as file:
        file.write("sanpshot_every = 5\n")
    label = ("east",) if action == "add" else ()
    says = refusal(capsys, action, folder, *label)
    assert "unknown setting 'sanpshot_every': did you mean 'snapshot_every'?" in says


# status


def lived(folder: Path, ticks: int = 12) -> FleetModel:
    """Let the two devices be heard for some ticks."""
    with Fleet(folder).store() as store:
        coordinator = store.recover()
        epoch = coordinator.manifest.epoch
        for tick in range(ticks):
            for device in (0, 1):
                values = np.sin([device + 3.0 * tick, device - tick])
                store.write(records(coordinator, device, update(tick, *values, epoch=epoch)))
            coordinator.close(tick + 1)
        store.snapshot(coordinator)
        return FleetModel.of(coordinator)


def said_by_status(capsys: Capsys, folder: Path, *words: str) -> list[str]:
    """What is said of a fleet, but for its ticks: those of these fleets are ahead of the clock."""
    lines = done(capsys, "status", folder, *words).splitlines()
    return [line for line in lines if not line.startswith("PROBLEM      ticks are ")]


def test_status_of_a_new_fleet(tmp_path: Path, capsys: Capsys) -> None:
    folder = founded(tmp_path / "greenhouse")
    capsys.readouterr()
    lines = done(capsys, "status", folder).splitlines()
    size = r"[0-9.]+ (B|kB|MB)"
    reach = r"back to tick 0 \([0-9]+ s ago\)"
    says = rf"disk         {size}, {reach}; 30 days take about {size}, at most {size}"
    assert re.fullmatch(says, lines.pop(4))
    assert lines == [
        "greenhouse: pao-fed-u1, tick 0; nobody serves it",
        "updates      0 accepted, 0 repeated, 0 reads, 0 hellos",
        "refused      nothing",
        "bounds       clip 6, aside yes, bound 6",
        "",
        "index  label  last seen  messages  error  standing",
        "    0  north  never             0",
        "    1  south  never             0",
    ]


def test_status_without_devices(tmp_path: Path, capsys: Capsys) -> None:
    done(capsys, "init", tmp_path / "x", *NUMBERS, "--http", "")
    assert "label" not in done(capsys, "status", tmp_path / "x")


def test_status_of_what_is_on_disk(folder: Path, capsys: Capsys) -> None:
    lived(folder)
    done(capsys, "quarantine", folder, "south", warns=UNTOLD)
    done(capsys, "add", folder, "east", "west")
    done(capsys, "remove", folder, "west", warns=UNTOLD)
    lines = said_by_status(capsys, folder)
    assert lines[0] == "greenhouse: pao-fed-u1, tick 12; nobody serves it"
    assert lines[1] == "updates      24 accepted, 0 repeated, 0 reads, 0 hellos"
    assert lines[2] == "how late     half within 0 ticks, 90 % within 0, 99 % within 0"
    assert lines[3] == "refused      nothing"
    assert [line.split() for line in lines[7:]] == [
        ["index", "label", "last", "seen", "messages", "error", "standing"],
        ["2", "east", "never", "0"],
        ["0", "north", "1", "min", "00", "s", "ago", "12"],
        ["1", "south", "1", "min", "00", "s", "ago", "12", "quarantined"],
    ]


def test_status_as_json(folder: Path, capsys: Capsys) -> None:
    lived(folder)
    answer = json.loads(done(capsys, "status", folder, "--json"))
    assert answer.pop("validation_error") is answer.pop("validation_held") is None
    disk = answer.pop("disk")
    assert 0 < disk["expected"] <= disk["most"]
    assert disk["back_to"] == 0
    status = Status.from_json(json.dumps(answer))
    assert (status.fleet, status.tick, status.service) == ("greenhouse", 12, None)
    assert [(d.label, d.last_seen, d.messages) for d in status.devices] == [
        ("north", 11, 12),
        ("south", 11, 12),
    ]


SAMPLES = [(0.5, 1.5, 11.0), (-2.0, 1e-3, 9.0), (0.0, 0.0, 10.5)]


@pytest.mark.parametrize("form", ["csv", "header", "json"])
def test_status_judges_the_model(form: str, folder: Path, tmp_path: Path, capsys: Capsys) -> None:
    model = lived(folder)
    path = tmp_path / "measured"
    lines = {
        "csv": [f"{a},{b},{y}" for a, b, y in SAMPLES],
        "header": ["y,x,a,b", *(f"{y},?,{a},{b}" for a, b, y in SAMPLES)],
        "json": [json.dumps({"a": a, "b": b, "y": y}) for a, b, y in SAMPLES],
    }[form]
    path.write_text("\n".join(lines))
    answer = json.loads(done(capsys, "status", folder, "--validation", path, "--json"))
    errors = [y - float(model.predict(np.array([a, b]))) for a, b, y in SAMPLES]
    expected = float(np.sqrt(np.mean(np.square(errors))))
    assert answer["validation_error"] == pytest.approx(expected, rel=1e-12)
    (line,) = [
        line
        for line in done(capsys, "status", folder, "--validation", path).splitlines()
        if line.startswith("error")
    ]
    decibels = 20 * np.log10(expected / 4.0)
    assert line == (
        f"error        {expected:.4g} y (root mean square), {decibels:.2f} dB of its scale squared"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", " holds no samples: expected lines of a, b, y"),
        (b"a,b,y\n", " holds no samples: expected lines of a, b, y"),
        (b"1,2\n", "line 1 is '1,2': expected 3 finite numbers (a, b, y)"),
        (b"a,b\n1,2\n", "the header has no column 'y': it has a, b"),
        (b"1,2,\xff\n", " is not text: "),
        (None, " cannot be read: No such file"),
    ],
)
def test_samples_that_judge_nothing(
    content: bytes | None, says: str, unchanged: Path, tmp_path: Path, capsys: Capsys
) -> None:
    path = tmp_path / "measured.csv"
    if content is not None:
        path.write_bytes(content)
    assert says in refusal(capsys, "status", unchanged, "--validation", path)


def test_status_shows_the_longest_silent_first(folder: Path, capsys: Capsys) -> None:
    done(capsys, "add", folder, *(f"device-{k}" for k in range(2, 45)))
    with Fleet(folder).store() as store:
        coordinator = store.recover()
        epoch = coordinator.manifest.epoch
        for tick, device in enumerate((1, 0, 7)):
            coordinator.close(tick)
            store.write(records(coordinator, device, update(tick, epoch=epoch)))
        store.snapshot(coordinator)
    lines = said_by_status(capsys, folder)
    shown = [line.split()[0] for line in lines[8:]]
    assert shown == [*map(str, [*range(2, 7), *range(8, 43)]), "and"]
    assert lines[-1] == "and 5 more, heard later (--all shows them)"
    every = said_by_status(capsys, folder, "--all")
    assert [line.split()[0] for line in every[-3:]] == ["1", "0", "7"]
    assert "  2 min 00 s ago  " in every[-3]
    assert "  1 min 00 s ago  " in every[-2]
    assert "  in this tick  " in every[-1]
    assert len(every) == 8 + 45


@contextmanager
def served(folder: Path, **changes: Any) -> Iterator[None]:
    """Somebody answers where the fleet's settings say."""
    fleet = Fleet(folder)
    with fleet.store() as store:
        status = Status.of("greenhouse", store.recover(), store.members())
    status = replace(status, **changes)
    with Listener("127.0.0.1", 0, of_health(lambda: status)) as monitor:
        replace(fleet.settings, http=f"127.0.0.1:{monitor.port}").save(folder)
        yield


SERVICE = ServiceStatus(
    seconds=7500.0,
    problems=("the broker is away", "the clock is behind"),
    dropped=1234,
    clock_jumps=1,
    bytes_received=56_789,
    bytes_sent=123_456,
    broker_refused={"certificate": 2, "topic": 3},
)


def test_status_of_a_server_that_runs(folder: Path, capsys: Capsys) -> None:
    counts = {
        "accepted": 1500,
        "hellos": 1,
        "refused: flood": 1,
        "refused: length": 20,
        "repeats too old": 9,
    }
    ages = {0: 60, 1: 35, 4: 5}
    with served(folder, tick=4321, service=SERVICE, counts=counts, ages=ages):
        lines = done(capsys, "status", folder).splitlines()
        answer = json.loads(done(capsys, "status", folder, "--json"))
    assert lines[:9] == [
        "greenhouse: pao-fed-u1, tick 4,321; served for 2 h 05 min",
        "PROBLEM      the broker is away",
        "PROBLEM      the clock is behind",
        "updates      1,500 accepted, 0 repeated, 0 reads, 1 hello",
        "how late     half within 0 ticks, 90 % within 1, 99 % within 4",
        "refused      flood 1, length 20",
        "by broker    certificate 2, topic 3",
        "bytes        56,789 in, 123,456 out (MQTT messages, since the server started)",
        "dropped      1,234 messages, to be repeated by devices",
    ]
    assert (answer["tick"], answer["service"]["seconds"]) == (4321, 7500.0)


FAULTY = DeviceStatus(
    device=1,
    label="south",
    standing="aside",
    last_seen=4320,
    messages=70,
    refused_in_a_row=0,
    refused=3,
    left_out=0,
    implausible=0,
    error=1.5,
    usual_gap=2.0,
    faults=(Trouble("aside", 4000, "is set aside"), Trouble("worse", 4100, "predicts badly")),
)
SOUND = replace(FAULTY, device=0, label="north", standing="member", last_seen=3, faults=())


def test_status_names_who_is_broken_and_shows_them_first(folder: Path, capsys: Capsys) -> None:
    devices = (SOUND, FAULTY, replace(SOUND, device=2, label="east", error=None))
    history = ((100, -3.0), (4200, -12.5), (4300, -12.4))
    error = FleetError(now=-9.04, usual=-12.3, worse_since=4310, history=history)
    service = replace(SERVICE, problems=(), dropped=0)
    with served(folder, tick=4321, devices=devices, error=error, service=service):
        text = done(capsys, "status", folder)
        answer = json.loads(done(capsys, "status", folder, "--json"))
    before, table = text.split("\n\n")
    said = "1.41 y now, usually 0.971 y, 2.83 y a day ago"
    worse = "the fleet predicts worse than it did: 1.41 y, usually 0.971 y (since tick 4,310)"
    assert before.splitlines()[1:5] == [
        f"PROBLEM      {worse}",
        "ATTENTION    south is set aside (since tick 4,000)",
        "ATTENTION    south predicts badly (since tick 4,100)",
        f"fleet error  {said} (-9.0 dB; as the median device says)",
    ]
    assert [line.split()[:2] for line in table.splitlines()[1:]] == [
        ["1", "south"],
        ["0", "north"],
        ["2", "east"],
    ]
    assert table.splitlines()[1].endswith("  70  4.75 y  aside, worse")
    assert answer["devices"][1]["faults"][0]["kind"] == "aside"
    assert answer["error"]["worse_since"] == 4310


@pytest.mark.parametrize(
    ("tick_seconds", "says"),
    [(60.0, "2.83 y a day ago"), (6.0, "2.83 y an hour ago"), (0.1, "2.83 y a minute ago")],
)
def test_what_the_fleet_s_error_was(
    tick_seconds: float, says: str, folder: Path, capsys: Capsys
) -> None:
    error = FleetError(now=-9.0, usual=-9.0, worse_since=None, history=((1000, -3.0), (4320, -9.0)))
    with served(folder, tick=4321, tick_seconds=tick_seconds, error=error):
        lines = done(capsys, "status", folder).splitlines()
    said = f"1.42 y now, usually 1.42 y, {says} (-9.0 dB; as the median device says)"
    assert lines[1] == f"fleet error  {said}"


@pytest.mark.parametrize(
    ("seconds", "span"),
    [
        (0.0, "0 s"),
        (119.0, "1 min 59 s"),
        (120.0, "2 min 00 s"),
        (7199.0, "1 h 59 min"),
        (7200.0, "2 h 00 min"),
        (86400.0 * 2, "2 d 00 h"),
    ],
)
def test_how_long_it_has_been_served(
    seconds: float, span: str, folder: Path, capsys: Capsys
) -> None:
    with served(folder, service=replace(SERVICE, seconds=seconds, problems=(), dropped=0)):
        text = done(capsys, "status", folder)
    assert text.splitlines()[0].endswith(f"; served for {span}")
    assert "PROBLEM" not in text
    assert "dropped" not in text


@pytest.mark.parametrize("changes", [{"fleet": "other"}, {"start": 5.0}])
def test_another_fleets_server_is_not_believed(
    changes: dict[str, Any], folder: Path, capsys: Capsys
) -> None:
    with served(folder, tick=4321, **changes):
        assert "tick 0; nobody serves it" in done(capsys, "status", folder)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.0 503 no\r\n\r\nlater\n",
        b"HTTP/1.0 200 OK\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nContent-Length: 50\r\n\r\n{}",
        *(
            b"HTTP/1.0 200 OK\r\n\r\n" + text
            for text in (b"{}", b"[]", b'"hello"', b"5", b'{"devices": [], "ages": []}')
        ),
        b'HTTP/1.0 200 OK\r\n\r\n{"devices": [], "ages": {}, "service": null, "more": 1}',
        b"HTTP/1.0 200 OK\r\n\r\n\xff",
    ],
)
def test_somebody_else_who_answers_there_is_not_believed(
    answer: bytes, folder: Path, capsys: Capsys
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def respond() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(10)
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=respond)
        thread.start()
        http = f"127.0.0.1:{listener.getsockname()[1]}"
        replace(Settings.load(folder), http=http).save(folder)
        text = done(capsys, "status", folder)
        thread.join()
    assert "tick 0; nobody serves it" in text


def test_a_server_that_does_not_run(folder: Path, capsys: Capsys) -> None:
    with served(folder, tick=4321):
        pass
    assert "tick 0; nobody serves it" in done(capsys, "status", folder)


def test_a_server_that_runs_and_does_not_answer(folder: Path, capsys: Capsys) -> None:
    lived(folder)
    with locked(folder):
        lines = said_by_status(capsys, folder)
        assert json.loads(done(capsys, "status", folder, "--json"))["service"] is None
    how = "its server does not answer; this is from disk"
    assert lines[0] == f"greenhouse: pao-fed-u1, tick 12; {how}"
    assert lines[1] == "updates      24 accepted, 0 repeated, 0 reads, 0 hellos"
    assert "tick 12; nobody serves it" in done(capsys, "status", folder)


def test_a_server_that_answers_needs_no_disk(folder: Path, capsys: Capsys) -> None:
    with locked(folder), served(folder, tick=4321, service=replace(SERVICE, seconds=3.0)):
        text = done(capsys, "status", folder)
    assert text.splitlines()[0] == "greenhouse: pao-fed-u1, tick 4,321; served for 3 s"


def test_status_after_a_power_cut_counts_what_is_in_the_journal(
    folder: Path, capsys: Capsys
) -> None:
    lived(folder)
    with Fleet(folder).store() as store:
        coordinator = store.recover()
        late = update(10, epoch=coordinator.manifest.epoch)
        coordinator.devices.forget(10, 10)  # as if that one had never come
        store.write(records(coordinator, 0, late))
    lines = said_by_status(capsys, folder)
    assert lines[1] == "updates      25 accepted, 0 repeated, 0 reads, 0 hellos"
    assert lines[2] == "how late     half within 0 ticks, 90 % within 0, 99 % within 2"
