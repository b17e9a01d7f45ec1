"""The server's loop, turn by turn, without a broker."""

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.journal.database import StoreError
from paofed.live.journal.store import Store
from paofed.live.network.in_process import Hub
from paofed.live.server.inbox import Inbox
from paofed.live.server.service import Service
from tests.live.brokers import now_manifest
from tests.live.fleets import update


class Loop:
    """A service whose turns are taken one by one; its link is never opened."""

    def __init__(self, fleet: Fleet, store: Store) -> None:
        self.store = store
        self.hub = Hub()
        self.passed = 0.0  # seconds since the fleet began, by all clocks: nothing else moves them
        begins = store.epochs.manifest().begins(0)
        self.service = Service(
            fleet,
            logging.Logger("server"),
            wall=lambda: begins + self.passed,
            steady=lambda: self.passed,
            transport=self.hub,
        )
        self.service._start(store)
        self.host = self.service._host
        self.service._turn()
        self.tick = self.host.coordinator.tick

    def forward(self, ticks: int) -> None:
        """Let time go on, while the loop is busy elsewhere."""
        self.tick += ticks
        self.passed += ticks * self.host.coordinator.manifest.tick_seconds

    def hear(self, device: int, values: float = 1.0) -> None:
        """As the network's thread does."""
        payload = update(self.tick, values, values)
        self.service._heard(f"g/{device}/u", payload)

    def elsewhere(self, does: Callable[[], object]) -> None:
        """Do something in another thread, and wait for its end."""
        thread = threading.Thread(target=does)
        thread.start()
        thread.join()

    def counts(self) -> dict[str, int]:
        return dict(self.service._broker.counts(1e9))


@pytest.fixture
def loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    monkeypatch.setattr("paofed.live.server.inbox._GROUP", 0.0)
    monkeypatch.setattr("paofed.live.server.service._LONGEST_WAIT", 0.0)
    settings = Settings(name="g", security="none", http="", snapshot_every=1_000_000)
    fleet = Fleet.create(tmp_path / "fleet", settings, now_manifest(tick_seconds=3600.0))
    list(fleet.add(["north", "south", "east"]))
    with fleet.store() as store:
        yield Loop(fleet, store)


def test_what_arrives_is_on_disk_after_its_turn(loop: Loop) -> None:
    loop.hear(0)
    loop.hear(1)
    assert loop.store.lines.count() == 0
    loop.service._turn()
    assert loop.store.lines.count() == 2


def test_a_loop_that_was_held_up_judges_by_the_tick_that_it_is_now(loop: Loop) -> None:
    """Its device's clock is right: it is neither refused nor set back."""
    loop.forward(5)
    loop.hear(0)
    loop.service._turn()
    assert loop.host.coordinator.counts == {"accepted": 1}
    assert [(line.sent, line.arrived) for line in loop.store.lines.read()] == [(loop.tick,) * 2]


def test_a_journal_that_cannot_be_used_when_something_comes_loses_no_question(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    answers: list[str] = []
    loop.forward(1_000_000)  # a snapshot is due
    loop.hear(0)
    loop.service._inbox.request(lambda: answers.append("answered"))
    with monkeypatch.context() as patch:
        patch.setattr(loop.store, "snapshot", full)
        for _ in range(3):
            loop.service._looked -= 3600.0  # long ago
            loop.service._turn()
            assert loop.service._stuck
    assert (answers, loop.service._inbox.dropped) == (["answered"], 1)
    loop.service._looked -= 3600.0
    loop.service._turn()
    assert not loop.service._stuck
    loop.hear(0)
    loop.service._turn()
    assert loop.store.lines.count() == 1


def test_messages_are_not_kept_while_the_disk_is_full(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    loop.hear(0)
    with monkeypatch.context() as patch:
        patch.setattr(loop.store, "write", full)
        loop.service._turn()
        assert len(loop.host.group) == 1  # it waits for room
        for _ in range(3):
            loop.hear(1)
            loop.hear(2)
            loop.service._turn()
        assert [record.device for record in loop.host.group] == [0]
        assert loop.service._inbox.dropped == 6
    loop.service._looked -= 3600.0  # long ago
    loop.service._turn()
    assert loop.store.lines.count() == 1
    loop.hear(1)
    loop.service._turn()
    assert loop.store.lines.count() == 2
    assert loop.service._inbox.dropped == 6


def test_the_last_snapshot_is_of_what_the_journal_holds(loop: Loop) -> None:
    loop.service._turn()
    loop.host.receive(0, update(loop.tick))
    loop.service._finish()
    assert loop.store.lines.count() == 1
    recovered = loop.store.recover()
    assert recovered.devices.has(0, loop.tick)
    assert loop.store.verify().agrees


def test_only_the_loop_changes_what_is_known_of_the_broker(loop: Loop) -> None:
    says = b"1712: Client 5 disconnected, not authorised."
    loop.elsewhere(lambda: loop.service._heard("$SYS/broker/log/N", says))
    assert loop.counts() == {}
    loop.service._turn()
    assert loop.counts() == {"password": 1}


def test_only_the_loop_begins_to_count_anew(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    owners: list[threading.Thread] = []
    restart = loop.service._broker.restart

    def watched() -> None:
        owners.append(threading.current_thread())
        restart()

    monkeypatch.setattr(loop.service._broker, "restart", watched)
    loop.service._link.open()
    loop.elsewhere(lambda: loop.hub.cut("g/server"))
    loop.service._link.close()
    assert owners == []
    loop.service._turn()
    assert owners == [threading.current_thread()]


def test_strays_are_counted_by_what_was_heard_when_the_broker_spoke(loop: Loop) -> None:
    """Not by what was heard when the loop got to it."""
    received = "$SYS/broker/publish/messages/received"
    loop.service._heard(received, b"100")
    for device in (0, 1, 2):
        loop.hear(device)
    loop.service._heard(received, b"103")
    loop.hear(0)
    loop.service._heard(received, b"106")
    loop.service._turn()
    assert loop.counts() == {"topic": 2}


def test_nothing_is_lost_between_threads() -> None:
    inbox, each, found = Inbox(), 2000, 0

    def sends(device: int) -> None:
        for _ in range(each):
            inbox.message(device, b"")

    threads = [threading.Thread(target=sends, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    heard = dict.fromkeys(range(3), 0)
    while found < 3 * each:
        found += len(inbox.take(5.0))
        for device, count in inbox.heard_of().items():
            heard[device] += count
    for thread in threads:
        thread.join()
    assert heard == dict.fromkeys(range(3), each)
    assert (inbox.heard, inbox.dropped) == (3 * each, 0)
