"""What was revoked stays revoked, whatever the database has forgotten."""

from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.fleet import mosquitto
from paofed.live.fleet.authority import is_number
from paofed.live.fleet.folder import Fleet
from tests.live.folders import add, create, number, revoked
from tests.live.stores import execute


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """A fleet in which one certificate is revoked, as `was_revoked` says."""
    fleet = create(tmp_path)
    add(fleet, "north", "south")
    fleet.rotate("north")
    return fleet


def repaired(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["fleet", "repair", str(fleet.folder)]) == 0
    return capsys.readouterr().out.removeprefix(f"{fleet.folder} ").rstrip("\n")


@pytest.mark.parametrize("damage", ["DELETE FROM revoked", "UPDATE revoked SET credential = '00'"])
def test_lost_rows_are_taken_over_from_the_broker_s_list(
    damage: str, fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    before = revoked(fleet)
    assert len(before) == 1
    execute(fleet.folder, (damage, ()))
    assert repaired(fleet, capsys) == (
        "is usable again; lost: nothing; taken over from the broker's list: 1 revoked certificate"
    )
    for words in (["quarantine", "south"], ["rotate", "south"], ["rotate", "--server"]):
        assert main(["fleet", words[0], str(fleet.folder), *words[1:]]) == 0
        assert before <= revoked(fleet)


@pytest.mark.parametrize("damage", ["DELETE FROM revoked", "UPDATE revoked SET credential = '00'"])
def test_without_that_list_what_is_lost_is_told(
    damage: str, fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(fleet.folder, (damage, ()))
    (fleet.folder / mosquitto.FOLDER / "revoked.pem").unlink()
    says = repaired(fleet, capsys)
    assert says.startswith(
        "is usable again; lost: rows of devices or credentials, nobody can tell whose; compare "
        "`paofed fleet status` with what you know"
    )
    assert main(["fleet", "rotate", str(fleet.folder), "--server"]) == 0  # and nothing breaks


def test_a_store_that_was_copied_back_brings_nobody_back(fleet: Fleet) -> None:
    """A command writes the broker's files before any server has looked at them."""
    before = revoked(fleet)
    execute(
        fleet.folder,
        ("UPDATE seal SET total = total - (SELECT sum(checksum) FROM revoked)", ()),
        ("DELETE FROM revoked", ()),
    )
    fleet.quarantine("south")
    assert revoked(fleet) == before
    with fleet.store() as store:
        assert {int(mark, 16) for mark in store.credentials.revoked()} == before


@pytest.mark.parametrize("text", ["", "0", "00", "g", "-1", "f" * 40, "8" + "0" * 39, "1" * 41])
def test_what_is_no_serial_number(text: str) -> None:
    assert not is_number(text)


def test_what_is_one(fleet: Fleet) -> None:
    for credential in add(fleet, "east", "west"):
        assert is_number(f"{number(credential.certificate):x}")
    assert is_number("7" + "f" * 39)
