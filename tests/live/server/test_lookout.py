"""A fleet's history from its journal, and by looking."""

import time
from pathlib import Path

import numpy as np

from paofed.live.protocol.coordinator import REPORT_AFTER
from paofed.live.server.history import HOURS, History, SeenAs
from paofed.live.server.lookout import STARTS, Watch, remembered, started, starts
from tests.live.fleets import live, records, server, stored, update


def test_looking_sees_who_is_heard_and_who_is_refused() -> None:
    coordinator, history = server(3), History(0.0, 1.0)
    watch = Watch(history, coordinator)
    records(coordinator, 0, update(0))
    coordinator.receive(1, b"\x20")
    watch.look(coordinator, 0.0, 100, 50)
    assert history.states[0].tolist() == [SeenAs.HEARD, SeenAs.REFUSED, SeenAs.NOTHING]
    assert history.hours.latest(1) == (1, 100, 50)
    watch.look(coordinator, 3.0, 100, 50)  # nothing more
    assert not history.states[1].any()
    coordinator.add(40)  # there is room for whoever joins
    records(coordinator, 40, update(0))
    watch.look(coordinator, 3.0, 130, 60)
    assert history.states[1, 40] == SeenAs.HEARD
    assert history.hours.latest(1) == (2, 130, 60)


def test_a_trouble_is_seen_since_it_began() -> None:
    coordinator, history = server(2, start=3.0), History(3.0, 1.0)
    watch = Watch(history, coordinator)
    for tick in range(60):
        coordinator.close(tick)
        for device in (0, 1) if tick < 30 else (0,):
            records(coordinator, device, update(tick))
        watch.look(coordinator, 3.0 + tick, 0, 0)
    silent = np.flatnonzero(history.states[:, 1] == SeenAs.SILENT)
    assert silent.tolist() == list(range(10, 20))  # from the bin of tick 30, told at tick 46
    for _ in range(REPORT_AFTER):
        coordinator.receive(0, b"\x20")
    watch.look(coordinator, 63.0, 0, 0)
    assert history.states[20].tolist() == [SeenAs.REFUSED, SeenAs.SILENT]


def test_after_a_restart_the_journal_tells_who_was_heard(tmp_path: Path) -> None:
    now = time.time()
    with stored(tmp_path / "fleet", start=now - 60.0, max_age=200) as store:
        coordinator = store.recover()
        live(store, coordinator, range(30))
        coordinator.close(60)
        history = remembered(store, coordinator, "g", now)
        later = remembered(store, coordinator, "g", now + 1e7)
    heard = (history.states[: history.size] == SeenAs.HEARD).sum(axis=0)
    assert set(heard.tolist()) <= {10, 11}
    assert len(set(heard.tolist())) == 1
    assert history.hours.latest(HOURS).contacts == 90
    assert history.hours.latest(HOURS).received > 90 * 15
    assert history.hours.latest(2).contacts == 90
    assert later.hours.latest(HOURS).contacts == 0  # too long ago
    assert (later.states != SeenAs.HEARD).all()


def test_starts_are_remembered_and_the_oldest_forgotten(tmp_path: Path) -> None:
    assert starts(tmp_path) == []
    for second in range(120):
        started(tmp_path, float(second))
    assert starts(tmp_path) == [float(second) for second in range(20, 120)]


def test_a_damaged_file_says_nothing_and_the_next_start_begins_another(tmp_path: Path) -> None:
    (tmp_path / STARTS).write_bytes(b"\xff\x00")
    assert starts(tmp_path) == []
    started(tmp_path, 7.0)
    assert starts(tmp_path) == [7.0]


def test_a_start_that_cannot_be_noted_is_no_error(tmp_path: Path) -> None:
    started(tmp_path / "nowhere", 7.0)
