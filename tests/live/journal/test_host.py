"""The order in which disk and network are touched, and what a power cut at each step costs."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from lab.rehearsal.operations import CRASHES
from paofed.live.journal import confirmation
from paofed.live.journal.confirmation import CONFIRMED
from paofed.live.journal.database import StoreError, TakenOverError
from paofed.live.journal.host import Host
from paofed.live.journal.roster import Roster
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import REPORT_AFTER, Send, Suspect
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.messages import MODEL, REPLY, REREAD, Hello, encode
from tests.effort import some
from tests.live.fleets import manifest, opened, records, stored, update
from tests.live.in_memory import folder_in_memory
from tests.live.stores import PowerCutError


def test_replies_leave_after_the_commit_of_their_group(tmp_path: Path) -> None:
    log: list[str] = []
    with stored(tmp_path) as store:
        host = Host(
            store,
            lambda send: log.append(f"to {send.device}, {store.lines.count()} on disk"),
            snapshot_every=2,
            sync=log.append,
        )
        host.receive(1, update(0))
        host.receive(0, update(0))
        assert log == []
        assert [record.device for record in host.group] == [1, 0]
        host.flush()
        assert log == [
            "before write",
            "before commit",
            "after commit",
            "inside confirmation",
            "after confirmation",
            "before reply",
            "to 1, 2 on disk",
            "before reply",
            "to 0, 2 on disk",
        ]
        assert host.group == []
        log.clear()
        host.flush()
        assert log == []
        host.receive(1, update(0))
        host.flush()
        assert log == ["before reply", "to 1, 2 on disk"]


def test_a_tick_closes_after_what_arrived_in_it_is_on_disk(tmp_path: Path) -> None:
    log: list[str] = []
    with stored(tmp_path) as store:
        host = Host(store, lambda _: log.append("sent"), snapshot_every=2, sync=log.append)
        host.receive(0, update(0))
        host.advance(1)
        confirmed = ["inside confirmation", "after confirmation"]
        write = [
            "before write",
            "before commit",
            "after commit",
            *confirmed,
            "before reply",
            "sent",
        ]
        assert log == [*write, "after close"]
        assert host.coordinator.w.any()
        log.clear()
        host.advance(2)
        snapshot = ["inside snapshot", "before snapshot's commit", "after snapshot"]
        assert log == ["after close", *snapshot]
        log.clear()
        host.advance(1)
        assert host.coordinator.tick == 2
        assert log == ["after close"]
        log.clear()
        host.advance(9)
        assert log == ["after close", *snapshot]
        assert set(CRASHES) == {*write, "after close", *snapshot} - {"sent"}


def test_hellos_and_advice_need_no_disk_and_a_suspect_is_reported(tmp_path: Path) -> None:
    sent: list[Send] = []
    told: list[Suspect] = []
    with stored(tmp_path) as store:
        host = Host(store, sent.append, suspect=told.append)
        host.receive(0, encode(Hello(3)))
        host.receive(1, encode(Hello(4)))
        for _ in range(REPORT_AFTER):
            host.receive(2, b"")
    assert [(device, payload[0] & 15) for device, payload in sent] == [(0, MODEL), (1, REREAD)]
    assert told == [Suspect(2, "length")]


def test_what_cannot_be_confirmed_is_not_answered_and_not_written_twice(tmp_path: Path) -> None:
    sent: list[Send] = []
    with stored(tmp_path) as store:
        host = Host(store, sent.append)
        host.receive(0, update(0))
        (tmp_path / CONFIRMED).rename(tmp_path / "elsewhere")
        for _ in range(2):
            with pytest.raises(StoreError, match="cannot be used: No such file"):
                host.flush()
        assert (sent, store.lines.count()) == ([], 1)
        (tmp_path / "elsewhere").rename(tmp_path / CONFIRMED)
        host.flush()
        assert ([send.device for send in sent], store.lines.count()) == ([0], 1)
        # A line is on disk, and the power fails before it is confirmed: a server that begins does
        # it, and only then answers a repeat.
        store.write(records(store.recover(), 1, update(0)))
        for lines in (1, 2):
            assert (known := confirmation.read(tmp_path / CONFIRMED)) is not None
            assert known.lines == lines
            Host(store, lambda _: None)


class Federation:
    """Three devices and a server whose power fails at one sync point."""

    ticks = 8

    def __init__(self, folder: Path, point: str, when: int) -> None:
        self.folder = folder
        self.fatal, self.when = point, when
        self.reached: Counter[str] = Counter()
        self.answers: list[Send] = []
        self.believed: set[tuple[int, int]] = set()
        self.edges = [Edge(manifest(), k) for k in range(3)]
        self.now = 0

    def run(self) -> None:
        """Live through all ticks, with a restart where the power fails."""
        with stored(self.folder) as store:
            self._until_the_end(store)
        while self.now < self.ticks:
            with opened(self.folder) as store:
                assert self.believed <= self.known(store)
                self._until_the_end(store)

    def known(self, store: Store) -> set[tuple[int, int]]:
        """What a server that starts now has heard of (of what it must still know)."""
        devices = store.recover().devices
        return {
            (k, tick)
            for k in range(3)
            for tick in range(self.ticks)
            if tick < self.now - 4 or devices.has(k, tick)
        }

    def _until_the_end(self, store: Store) -> None:
        try:
            host = Host(store, self.answers.append, snapshot_every=3, sync=self._sync)
            host.advance(self.now)
            while self.now < self.ticks:
                for k, edge in enumerate(self.edges):
                    edge.learn(np.array([k, self.now], dtype=float), 11.0 + k)
                    payload = edge.contact(float(self.now))
                    if payload is not None:
                        host.receive(k, payload)
                host.flush()
                self._answer()
                host.advance(self.now + 1)
                self.now += 1
            recovered = store.recover()
            recovered.close(self.ticks)
            assert recovered.digest() == host.coordinator.digest()
            assert store.verify().agrees
        except PowerCutError:
            self._answer()
            self.now += 1

    def _answer(self) -> None:
        for device, payload in self.answers:
            edge = self.edges[device]
            before = {u.tick for u in edge.unconfirmed}
            edge.receive(payload, float(self.now))
            if payload[0] & 15 == REPLY:
                gone = before - {u.tick for u in edge.unconfirmed}
                self.believed |= {(device, tick) for tick in gone}
        self.answers.clear()

    def _sync(self, point: str) -> None:
        self.reached[point] += 1
        if point == self.fatal and self.reached[point] == self.when:
            raise PowerCutError


@pytest.fixture(scope="module")
def quiet() -> Federation:
    """One whose power does not fail."""
    with folder_in_memory() as folder:
        federation = Federation(folder / "quiet", "nowhere", 0)
        federation.run()
    assert len(federation.believed) >= 3 * (federation.ticks - 2)
    return federation


@pytest.mark.parametrize("point", CRASHES)
def test_a_power_cut_loses_nothing_that_a_device_believes_safe(
    point: str, quiet: Federation, tmp_path: Path
) -> None:
    assert quiet.reached[point] >= 2
    for when in some(range(1, quiet.reached[point] + 1), everyday=3):
        federation = Federation(tmp_path / f"cut-{when}", point, when)
        federation.run()
        assert federation.reached[point] >= when
        # Whatever the cut left unconfirmed travelled again and is confirmed now, or nearly so.
        assert len(federation.believed) >= len(quiet.believed) - 6


def test_what_others_change_in_the_store_is_noticed(tmp_path: Path) -> None:
    sent: list[Send] = []
    with stored(tmp_path) as store, opened(tmp_path) as theirs:
        host = Host(store, sent.append)
        coordinator = host.coordinator
        host.receive(2, b"")
        before = coordinator.digest()
        index = theirs.roster.add("one more")
        assert not coordinator.devices.knows(index)
        host.refresh()
        assert coordinator.devices.knows(index)
        assert (coordinator.digest(), coordinator.devices.refused[2]) == (before, 1)
        host.receive(index, update(0))
        theirs.roster.quarantine(0)
        theirs.roster.remove(1)
        host.refresh()
        for device in range(4):
            host.receive(device, update(0))
        assert [record.device for record in host.group] == [index, 2]
        assert coordinator.counts["refused: quarantined"] == 1
        assert coordinator.counts["refused: removed"] == 1
        theirs.roster.quarantine(0, on=False)
        host.refresh()
        host.receive(0, update(0))
        host.advance(3)
        host.snapshot()
        assert [device for device, _ in sent] == [index, 2, index, 0]
        assert Host(theirs, lambda _: None).coordinator.removed == {1}


def test_nobody_is_asked_again_while_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    with stored(tmp_path) as store, opened(tmp_path) as theirs:
        host = Host(store, lambda _: None, snapshot_every=1)
        monkeypatch.setattr(Roster, "introduce", lambda _, coordinator: asked.append(coordinator))
        host.receive(0, update(0))
        host.advance(1)  # writes, but is no news to itself
        for _ in range(3):
            host.refresh()
        assert asked == []
        theirs.roster.quarantine(0)
        for _ in range(3):
            host.refresh()
        assert asked == [host.coordinator]


def test_of_two_servers_past_the_lock_the_first_to_write_goes_on(tmp_path: Path) -> None:
    """However both came to run: the journal is never written by two."""
    with stored(tmp_path):
        pass
    with opened(tmp_path) as one, opened(tmp_path) as two:
        first, second = (Host(store, lambda _: None) for store in (one, two))
        second.receive(0, update(0))
        second.flush()
        first.receive(1, update(0))
        for writes in (first.flush, first.snapshot, lambda: one.begin_epoch(first.coordinator, "")):
            with pytest.raises(TakenOverError, match="another process has written to the journal"):
                writes()
        second.advance(3)
        second.snapshot()
        second.receive(1, update(2))
        second.advance(6)
        expected = second.coordinator.digest()
    with opened(tmp_path) as store:
        assert store.is_intact()
        again = Host(store, lambda _: None)
        again.advance(6)
        assert again.coordinator.digest() == expected
        with opened(tmp_path) as other:
            third = Host(other, lambda _: None)
            third.advance(9)
            third.snapshot()  # which is noticed as lines are
        again.receive(1, update(6))
        with pytest.raises(TakenOverError):
            again.flush()
