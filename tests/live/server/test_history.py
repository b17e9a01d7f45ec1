"""What was heard over time: bounded, and never better than it was."""

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.live.protocol.coordinator import REPORT_AFTER
from paofed.live.protocol.level import IMPLAUSIBLE, UNKNOWN
from paofed.live.server.history import (
    BINS,
    HOUR,
    HOURS,
    MOST,
    Exchanged,
    History,
    Hours,
    SeenAs,
    Watch,
    remembered,
)
from tests.live.fleets import live, records, server, stored, update

START = 1_000_000_000.0
steps = st.lists(
    st.tuples(
        st.floats(0, 40_000) | st.floats(0, 5),  # seconds that pass
        st.lists(st.integers(0, 9), max_size=4),  # devices
        st.sampled_from(SeenAs),
    ),
    max_size=60,
)


def begun(now: float = START, tick_seconds: float = 1.0) -> History:
    history = History(now, tick_seconds)
    history.make_room(10)
    return history


@given(steps, st.sampled_from([0.05, 1.0, 60.0, 3600.0]))
def test_each_device_is_as_bad_as_it_was_at_worst(
    happened: list[tuple[float, list[int], SeenAs]], tick_seconds: float
) -> None:
    history, now = begun(tick_seconds=tick_seconds), START
    seen: list[tuple[float, int, SeenAs]] = []
    for passed, devices, state in happened:
        now += passed
        history.go_on(now)
        history.saw(state, np.array(devices, dtype=np.int64))
        seen += [(now, device, state) for device in devices]
    expected = np.zeros((BINS, 10), dtype=np.uint8)
    for at, device, state in seen:
        place = int(at // history.width) - history.first
        if place >= 0:
            expected[place, device] = max(expected[place, device], state)
    np.testing.assert_array_equal(history.states, expected)
    assert history.size <= BINS
    assert int(now // history.width) - history.first == history.size - 1
    assert history.width >= tick_seconds


@given(st.lists(st.floats(0, 1e6), max_size=30))
def test_it_covers_the_whole_life_or_a_day(passed: list[float]) -> None:
    history, now = begun(), START
    for seconds in passed:
        now += seconds
        history.go_on(now)
    covered = now - history.first * history.width
    assert covered >= min(now - START, 86_400)


def test_what_has_been_so_for_long_is_told_of_the_past() -> None:
    history = begun()
    history.go_on(START + 100)
    history.saw(SeenAs.SILENT, np.array([3]), since=START + 50)
    history.saw(SeenAs.ASIDE, np.array([4]), since=0.0)  # before there was anything
    silent = history.states[: history.size, 3] == SeenAs.SILENT
    assert silent.sum() == int((START + 100) // 3) - int((START + 50) // 3) + 1
    assert silent[-1]
    assert (history.states[: history.size, 4] == SeenAs.ASIDE).all()


def test_a_clock_that_goes_back_changes_nothing() -> None:
    history = begun()
    history.go_on(START + 100)
    size = history.size
    history.go_on(START + 50)
    assert history.size == size


def test_only_so_many_devices_have_a_place() -> None:
    history = begun()
    history.make_room(MOST + 5)
    history.saw(SeenAs.HEARD, np.array([MOST - 1, MOST, MOST + 4]))
    assert history.devices == MOST
    assert history.states.nbytes <= 1_200_000
    assert history.states.sum() == SeenAs.HEARD
    history.make_room(3)
    assert history.devices == MOST


def test_the_band_is_that_of_what_devices_said() -> None:
    history = begun()
    levels = [UNKNOWN, *[120] * 10, *[124] * 80, *[132] * 10, IMPLAUSIBLE]
    history.say(np.array(levels, dtype=np.uint8))
    assert history.band() == [(-6.0, -3.0, -3.0)]
    history.go_on(START + 3)
    assert history.band()[-1] is None
    history.say(np.array([UNKNOWN, IMPLAUSIBLE], dtype=np.uint8))
    assert history.band()[-1] is None


def test_a_copy_stays_as_it_was() -> None:
    history = begun()
    copy = history.copy()
    history.saw(SeenAs.REFUSED, np.array([0]))
    history.go_on(START + 1000)
    assert copy.states.shape == (1, 10)
    assert not copy.states.any()
    assert copy.size == 1


@pytest.mark.parametrize(("seconds", "size"), [(0, 1), (30, 11), (86_400, 226), (1e7, BINS)])
def test_it_can_begin_in_the_past(seconds: float, size: int) -> None:
    history = begun()
    since = history.reach_back(seconds)
    assert history.size == size
    assert since == history.first * history.width
    assert since <= START - min(seconds, 86_400) + history.width


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 1000)), max_size=30))
def test_every_contact_of_the_last_days_is_in_its_hour(said: list[tuple[float, int]]) -> None:
    hours, now, expected = Hours(0.0), 0.0, dict[int, int]()
    for passed, contacts in said:
        now += passed
        hours.go_on(now)
        hours.add(Exchanged(contacts, 2 * contacts, 3 * contacts))
        hour = int(now // HOUR)
        expected[hour] = expected.get(hour, 0) + contacts
    kept = {hour: n for hour, n in expected.items() if hour >= hours.first and n}
    found = {hours.first + n: int(row[0]) for n, row in enumerate(hours.counts) if row[0]}
    assert found == kept
    assert hours.latest(HOURS) == (sum(kept.values()), *(k * sum(kept.values()) for k in (2, 3)))


def test_other_hours_can_be_counted_too() -> None:
    hours = Hours(HOUR * 5000)
    hours.add(Exchanged(1, 2, 3), 4999)
    hours.add(Exchanged(1, 2, 3), 5000 - HOURS)  # older than all
    assert hours.latest(1) == (0, 0, 0)
    assert hours.latest(2) == hours.latest(HOURS) == (1, 2, 3)
    copy = hours.copy()
    hours.add(Exchanged(1, 1, 1))
    assert copy.latest(HOURS) == (1, 2, 3)


# By looking, and from the journal


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
