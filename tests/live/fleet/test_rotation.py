"""New files for all devices, while the old ones are good for a while."""

import time
from pathlib import Path

import pytest

from paofed.errors import InputError
from paofed.live.fleet import folder as module
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Security
from paofed.live.network.credential import Credential
from tests.live.folders import EVERY, add, create, members, number, revoked

LATER = 100.0  # seconds


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names whose connections were ended, at a broker that can be told."""
    names: list[str] = []
    monkeypatch.setattr("paofed.live.fleet.mosquitto.reload", lambda _: True)
    monkeypatch.setattr(module, "end_connections", lambda all_: names.extend(c.name for c in all_))
    return names


def rotated(fleet: Fleet, until: float | None = None) -> list[Credential]:
    return [Credential.load(path) for path in fleet.rotate_all(until)]


@pytest.mark.parametrize("security", EVERY)
def test_everybody_gets_a_new_file_at_once(
    security: Security, tmp_path: Path, taken: list[str]
) -> None:
    fleet = create(tmp_path, security)
    old = add(fleet, "north", "south", "west")
    fleet.quarantine("west")
    fleet.remove("south") if security != "certificate" else None
    new = rotated(fleet)
    present = [c for c in old if c.label != "south" or security == "certificate"]
    assert [(c.name, c.label) for c in new] == [(c.name, c.label) for c in present]
    if security == "certificate":
        assert {number(c.certificate) for c in old} <= revoked(fleet)
        assert not {number(c.certificate) for c in new} & revoked(fleet)
        assert taken == [c.name for c in new]
    if security == "password":
        assert not {c.password for c in old} & {c.password for c in new}


def test_the_old_files_are_good_until_a_time(tmp_path: Path, taken: list[str]) -> None:
    fleet, now = create(tmp_path), time.time()
    old = add(fleet, "north", "south")
    before = revoked(fleet)
    new = rotated(fleet, now + LATER)
    assert (revoked(fleet), taken) == (before, [])
    assert not {number(c.certificate) for c in new} & {number(c.certificate) for c in old}
    with fleet.store() as store:
        assert fleet.revoke_due(store, now + LATER - 2) == []
        assert revoked(fleet) == before
        enders = fleet.revoke_due(store, now + LATER)
        # They take the devices' names to end what is connected, and are good for a minute.
        assert [c.name for c in enders] == [c.name for c in old]
        gone = before | {number(c.certificate) for c in old}
        assert revoked(fleet) == gone
        assert fleet.revoke_due(store, now + LATER + 1) == []
        assert fleet.revoke_due(store, now + LATER + 61) == []
        assert revoked(fleet) == gone | {number(c.certificate) for c in enders}
        assert store.credentials.expiring() == []
    assert not {number(c.certificate) for c in new} & revoked(fleet)


def test_whatever_tells_the_broker_revokes_what_is_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, now = create(tmp_path), time.time()
    (old,) = add(fleet, "north")
    rotated(fleet, now + LATER)
    monkeypatch.setattr("paofed.live.fleet.issuing.time.time", lambda: now + LATER + 1)
    add(fleet, "south")
    assert number(old.certificate) in revoked(fleet)


def test_a_rotation_that_is_cut_off_can_be_done_again(
    tmp_path: Path, taken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_GROUP", 1)
    fleet, now = create(tmp_path), time.time()
    old = add(fleet, "north", "south")
    paths = fleet.rotate_all(now + LATER)
    first = Credential.load(next(paths))
    paths.close()
    with fleet.store() as store:
        assert [found.device for found in store.credentials.expiring()] == [0]
    again = rotated(fleet, now + 2 * LATER)
    good = {number(c.certificate) for c in (*old, first, *again)}
    assert not good & revoked(fleet)
    with fleet.store() as store:
        fleet.revoke_due(store, now + 3 * LATER)
    good -= {number(c.certificate) for c in again}
    assert good <= revoked(fleet)
    assert taken == []


def test_one_device_s_rotation_ends_its_old_files_at_once(tmp_path: Path) -> None:
    fleet = create(tmp_path)
    old = add(fleet, "north", "south")
    rotated(fleet, time.time() + LATER)
    fleet.rotate("north")
    fleet.remove("south")
    assert {number(c.certificate) for c in old} <= revoked(fleet)


@pytest.mark.parametrize("security", ["password", "none"])
def test_without_certificates_there_is_no_until(security: Security, tmp_path: Path) -> None:
    fleet = create(tmp_path, security)
    add(fleet, "north")
    before = members(fleet)
    with pytest.raises(InputError, match=f"with security '{security}', old files cannot be good"):
        rotated(fleet, time.time() + LATER)
    assert members(fleet) == before
