"""A device that floods, while the broker's files cannot be written."""

import logging
from pathlib import Path

import pytest

from paofed.errors import FileError
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.issuing import AUTHORITY
from paofed.live.fleet.settings import Settings
from paofed.live.server.service import Service
from tests.live.fleets import manifest, update


def look(fleet: Fleet, messages: int, seconds: float) -> tuple[list[str], list[bool]]:
    """Let a server hear so many messages of device 1, then look who floods it."""
    now = [100.0]
    log, said = logging.Logger("server"), list[str]()
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    service = Service(fleet, log, steady=lambda: now[0])
    with fleet.store() as store:
        service._start(store)
        service._look()
        for device, count in ((0, 3), (1, messages), (77, 3)):
            for _ in range(count):
                service._inbox.message(device, b"")
        now[0] += seconds
        service._look()
        service._host.receive(1, update(0))
        refused = service._host.coordinator.counts["refused: quarantined"]
        members = store.roster.members()
    assert bool(refused) == bool(said)
    return said, [member.quarantined for member in members]


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    fleet = Fleet.create(tmp_path / "fleet", Settings(name="g", http=""), manifest())
    list(fleet.add(["north", "south"]))
    return fleet


@pytest.mark.parametrize(("messages", "seconds"), [(1001, 1.0), (2500, 2.0)])
def test_one_that_floods_is_shut_out(messages: int, seconds: float, fleet: Fleet) -> None:
    said, quarantined = look(fleet, messages, seconds)
    rate = messages / seconds
    assert said == [f"device 1 (south) sends {rate:.0f} messages a second: it is quarantined"]
    assert quarantined == [False, True]
    assert "user g/1\n" in (fleet.folder / "broker" / "access").read_text()


def test_a_server_refuses_whom_its_broker_refuses(fleet: Fleet) -> None:
    """A journal that was restored from a copy does not know of a quarantine since."""
    fleet.quarantine("south")
    with fleet.store() as store:
        store.roster.quarantine(1, on=False)
    said, quarantined = look(fleet, 0, 1.0)
    (warning,) = said
    assert warning == (
        "south is quarantined: the broker refuses it, which this journal did not know (a copy "
        "that was restored?)"
    )
    assert quarantined == [False, True]


def test_a_server_that_cannot_tell_its_broker_starts(fleet: Fleet) -> None:
    (fleet.folder / AUTHORITY).unlink()
    with fleet.store() as store:
        store.roster.quarantine(1)
    said, quarantined = look(fleet, 0, 1.0)
    (warning,) = said
    assert warning.startswith("the broker cannot be told who is refused: ")
    assert quarantined == [False, True]


def test_whom_a_server_quarantines_is_told_though_its_broker_cannot_be(fleet: Fleet) -> None:
    fleet.quarantine("south")
    (fleet.folder / AUTHORITY).unlink()
    with fleet.store() as store:
        store.roster.quarantine(0)
        store.roster.quarantine(1, on=False)
    said, quarantined = look(fleet, 0, 1.0)
    assert [line.partition(":")[0] for line in said] == [
        "south is quarantined",
        "the broker cannot be told who is refused",
    ]
    assert quarantined == [True, True]


@pytest.mark.parametrize(("messages", "seconds"), [(1000, 1.0), (1999, 2.0)])
def test_one_that_sends_much_is_not(messages: int, seconds: float, fleet: Fleet) -> None:
    assert look(fleet, messages, seconds) == ([], [False, False])


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), FileError("the authority is elsewhere")]
)
def test_a_server_that_cannot_tell_its_broker_of_a_quarantine_goes_on(
    error: Exception, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise error

    monkeypatch.setattr("paofed.live.fleet.mosquitto.write_access", full)
    said, quarantined = look(fleet, 5000, 1.0)
    assert said[1] == f"the broker cannot be told: {error}"
    assert quarantined == [False, True]
