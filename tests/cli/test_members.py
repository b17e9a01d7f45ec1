"""`paofed fleet add`, `rotate`, `remove`, `quarantine` and `trust` as an operator meets them."""

import json
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.fleet.folder import Fleet
from paofed.live.network.credential import Credential
from tests.cli.operators import NUMBERS, UNTOLD, Capsys, done, refusal, said_by_status


def labels(folder: Path) -> dict[str, str]:
    with Fleet(folder).store() as store:
        return {
            m.label: "removed" if m.removed else "quarantined" if m.quarantined else "member"
            for m in store.roster.members()
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


@pytest.mark.parametrize("action", ["add", "status", "serve"])
def test_a_folder_without_a_fleet(action: str, tmp_path: Path, capsys: Capsys) -> None:
    label = () if action in ("status", "serve") else ("north",)
    says = f"{tmp_path} holds no fleet: there is no fleet.toml in it"
    assert refusal(capsys, action, tmp_path, *label) == says
