"""How a fleet is doing, as its updates say."""

from collections.abc import Iterable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.live.protocol.coordinator import Coordinator, Record
from paofed.live.protocol.level import IMPLAUSIBLE, UNKNOWN, decibels
from paofed.live.protocol.messages import Update, encode
from paofed.live.protocol.trend import NEVER
from paofed.live.protocol.wellbeing import FAR_FOR, Wellbeing
from tests.effort import effort
from tests.live.fleets import f32, manifest, records, server

NOBODY = np.zeros(0, dtype=bool)
GOOD, BAD = 110, 130  # levels: -13.5 dB and 1.5 dB


def heard(
    ticks: Iterable[int],
    devices: Iterable[int] = range(6),
    level: int = GOOD,
    to: Wellbeing | None = None,
) -> Wellbeing:
    """Let each device be heard in each tick."""
    wellbeing, devices = to or Wellbeing(), list(devices)
    for tick in ticks:
        wellbeing.note(tick, [(k, tick, level) for k in devices], NOBODY)
    return wellbeing


def names(flags: np.ndarray) -> list[int]:
    return np.flatnonzero(flags).tolist()


# Silence


def test_who_is_silent_is_told_after_sixteen_times_its_usual_gap() -> None:
    wellbeing = heard(range(100))
    told = 0
    for tick in range(100, 200):
        heard([tick], [0, 1, 2, 3, 5], to=wellbeing)
        told += names(wellbeing.silent(tick)) == []
        assert names(wellbeing.silent(tick)) in ([], [4])
    assert told == 16
    heard([200], [4], to=wellbeing)
    assert names(wellbeing.silent(200)) == []


def test_what_is_usual_is_each_device_s_own() -> None:
    wellbeing = Wellbeing()
    for tick in range(1000):
        heard([tick], [0, 1] if tick % 20 == 0 else [0], to=wellbeing)
    assert wellbeing.devices["gap"].tolist() == pytest.approx([1.0, 20.0])
    heard(range(1000, 1280), [0], to=wellbeing)
    assert names(wellbeing.silent(1280)) == []
    heard(range(1280, 1320), [0], to=wellbeing)
    assert names(wellbeing.silent(1320)) == [1]


def test_a_night_is_usual_after_the_first() -> None:
    """A device that is off for a third of each day, in a fleet that never sleeps."""
    wellbeing, told, day = Wellbeing(), [], effort(everyday=480, thorough=1440)
    for tick in range(effort(everyday=3, thorough=6) * day):
        asleep = 3 * (tick % day) >= 2 * day
        heard([tick], [0] if asleep else [0, 1], to=wellbeing)
        if names(wellbeing.silent(tick + 1)):
            told.append(tick // day)
    assert set(told) == {0}


def test_nobody_is_silent_when_the_server_was_away() -> None:
    wellbeing = heard(range(200))
    assert names(wellbeing.silent(10_000)) == []
    assert not wellbeing.is_quiet(215)
    assert wellbeing.is_quiet(216)
    for tick in range(10_000, 10_020):
        heard([tick], to=wellbeing)
        assert names(wellbeing.silent(tick + 1)) == []
        assert not wellbeing.is_quiet(tick + 1)
    heard(range(10_020, 10_100), range(5), to=wellbeing)
    assert names(wellbeing.silent(10_100)) == [5]  # as soon as without the pause, or nearly


def test_a_device_that_has_hardly_been_heard_has_nothing_usual() -> None:
    wellbeing = heard(range(5))
    heard(range(5, 200), [0], to=wellbeing)
    assert names(wellbeing.silent(200)) == []


@pytest.mark.parametrize("seconds", [0.1, 1.0, 10.0])
def test_what_is_usual_takes_as_much_time_when_ticks_have_another_length(seconds: float) -> None:
    """A device that was silent before stays so, one that comes as before is none."""
    wellbeing, every = Wellbeing(), 20
    for tick in range(0, 4000, every):
        devices = [0, 1, 2] if tick < 3000 else [0, 1]
        heard([tick], devices, to=wellbeing)
    assert names(wellbeing.silent(4000)) == [2]
    changed = wellbeing.with_ticks(1 / seconds)
    every = round(every / seconds)
    for tick in range(4000 + every, 4000 + 60 * every, every):
        assert names(changed.silent(tick)) == [2]
        heard([tick], [0, 1], to=changed)
    heard(range(4000 + 60 * every, 4000 + 80 * every, every), [0], to=changed)
    assert names(changed.silent(4000 + 80 * every)) == [1, 2]
    assert wellbeing.clock == 3980  # a copy


def test_random_contacts_are_rarely_called_silent() -> None:
    """Once in 400,000 contacts or so by (1 + 16/31)^-31; 3 of these 80,000 are a chance of 1e-3."""
    random, wellbeing = np.random.default_rng(3), Wellbeing()
    before, alarms = np.zeros(200, dtype=bool), 0
    for tick in range(effort(everyday=500, thorough=1600)):
        devices = np.flatnonzero(random.random(200) < 0.25).tolist()
        heard([tick], devices, to=wellbeing)
        now = np.zeros(200, dtype=bool)
        silent = wellbeing.silent(tick + 1)
        now[: silent.size] = silent
        alarms += int((now & ~before).sum())
        before = now
    assert alarms < 3


# Errors


def test_the_fleet_s_error_is_the_median_of_those_that_say() -> None:
    wellbeing = Wellbeing()
    levels = [100, 104, 120, UNKNOWN, IMPLAUSIBLE, 250]
    aside = np.array([False, False, False, False, False, True])
    wellbeing.note(0, [(k, 0, level) for k, level in enumerate(levels)], aside)
    assert wellbeing.error.late == decibels(104)


def test_who_has_left_counts_no_longer() -> None:
    wellbeing = heard(range(50), [0, 1, 2], level=BAD)
    heard(range(50, 200), [3, 4], to=wellbeing)
    assert wellbeing.error.late == pytest.approx(decibels(GOOD), abs=0.1)


def test_who_predicts_far_worse_is_told_after_32_contacts_and_no_sooner() -> None:
    wellbeing = heard(range(100))
    for tick in range(100, 100 + FAR_FOR):
        assert names(wellbeing.far_worse()) == []
        heard([tick], range(5), to=wellbeing)
        wellbeing.note(tick + 1000, [(5, tick, BAD)], NOBODY)
    assert names(wellbeing.far_worse()) == [5]


def both(tick: int, wellbeing: Wellbeing, level: int) -> None:
    said = [*((k, tick, GOOD) for k in range(5)), (5, tick, level)]
    wellbeing.note(tick, said, NOBODY)


@pytest.mark.parametrize("level", [GOOD, GOOD + 8, UNKNOWN])
def test_one_that_is_no_worse_is_not_told(level: int) -> None:
    """6 dB are 8 steps."""
    wellbeing = heard(range(100))
    for tick in range(100, 200):
        both(tick, wellbeing, level)
    assert names(wellbeing.far_worse()) == []


def test_it_is_over_with_the_first_good_level() -> None:
    wellbeing = Wellbeing()
    for tick in range(100):
        both(tick, wellbeing, BAD)
    assert names(wellbeing.far_worse()) == [5]
    assert wellbeing.devices["far_since"].tolist() == [NEVER] * 5 + [0]
    both(100, wellbeing, GOOD)
    assert names(wellbeing.far_worse()) == []
    assert wellbeing.devices["far_since"].tolist() == [NEVER] * 6


def test_a_fleet_whose_devices_differ_has_no_worst() -> None:
    wellbeing = Wellbeing()
    for tick in range(200):
        wellbeing.note(tick, [(k, tick, 80 + 12 * k) for k in range(6)], NOBODY)
    assert names(wellbeing.far_worse()) == []


def test_since_when_a_device_is_aside_and_how_many_updates_were_left_out() -> None:
    wellbeing = heard(range(10), [0, 1])
    wellbeing.note(10, [(0, 10, GOOD), (1, 10, GOOD)], np.array([False, True]))
    wellbeing.note(11, [(1, 11, GOOD), (1, 9, GOOD)], np.array([False, True]))
    assert wellbeing.devices["aside_since"].tolist() == [NEVER, 10]
    assert wellbeing.devices["left_out"].tolist() == [0, 2]
    wellbeing.note(12, [(0, 12, GOOD), (1, 12, GOOD)], np.array([False, False]))
    assert wellbeing.devices["aside_since"].tolist() == [NEVER, NEVER]
    wellbeing.note(13, [(1, 13, GOOD)], np.array([False, False]))
    assert wellbeing.devices["left_out"].tolist() == [0, 3]


def test_implausible_samples_are_counted_and_remembered_for_16_contacts() -> None:
    wellbeing = heard(range(10), [0, 1])
    heard([10, 12], [0], level=IMPLAUSIBLE, to=wellbeing)
    heard(range(13, 28), to=wellbeing)
    assert wellbeing.devices["implausible_since"].tolist()[:2] == [10, NEVER]
    heard([28], to=wellbeing)
    assert wellbeing.devices["implausible_since"].tolist()[:2] == [NEVER, NEVER]
    assert wellbeing.devices["implausible"].tolist()[:2] == [2, 0]


def test_what_comes_late_says_how_it_was() -> None:
    wellbeing = heard([5], [0], level=100)
    wellbeing.note(6, [(0, 3, 200)], NOBODY)
    assert (wellbeing.devices["level"][0], wellbeing.devices["said"][0]) == (100, 5)
    wellbeing.note(7, [(0, 7, 90), (0, 6, 80)], NOBODY)
    assert (wellbeing.devices["level"][0], wellbeing.devices["said"][0]) == (90, 7)
    assert wellbeing.devices["contacts"][0] == 3


# A function of the journal

said = st.tuples(st.integers(0, 4), st.integers(0, 3), st.sampled_from([0, 90, 100, 150, 255]))
ticks = st.lists(st.lists(said, max_size=8, unique_by=lambda s: s[:2]), max_size=30)


@given(ticks, st.randoms(use_true_random=False), st.integers(0, 30))
def test_order_changes_nothing_and_it_comes_back_from_arrays(
    history: list[list[tuple[int, int, int]]], random: Random, cut: int
) -> None:
    straight, shuffled = Wellbeing(), Wellbeing()
    for tick, updates in enumerate(history):
        mixed = list(updates)
        random.shuffle(mixed)
        if updates:
            straight.note(tick, [(k, tick - age, level) for k, age, level in updates], NOBODY)
            shuffled.note(tick, [(k, tick - age, level) for k, age, level in mixed], NOBODY)
        if tick == cut:
            shuffled = Wellbeing.of(shuffled.arrays())
    for name, array in straight.arrays().items():
        assert shuffled.arrays()[name].tobytes() == array.tobytes()


def message(tick: int, level: int) -> bytes:
    return encode(Update(3, tick, f32(1.0, -2.0), (), level))


def lived(coordinator: Coordinator, ticks: Iterable[int]) -> list[Record]:
    """Levels that are a function of (device, tick), from devices that come now and then."""
    lines = []
    for tick in ticks:
        coordinator.close(tick)
        for device in range(3):
            if (tick * 7 + device * 5) % 3:
                lines += records(coordinator, device, message(tick, 90 + (tick * device) % 40))
    return lines


def test_the_journal_gives_it_again() -> None:
    coordinator = server()
    lines = lived(coordinator, range(60))
    again = server()
    again.recover(lines)
    for one in (coordinator, again):
        one.close(61)
    assert again.digest() == coordinator.digest()
    assert again.wellbeing.error.values > 0


def test_it_goes_on_under_another_manifest() -> None:
    coordinator = server()
    lived(coordinator, range(60))
    coordinator.close(63)
    after = coordinator.under(manifest(epoch=4, tick_seconds=0.5))
    assert after.wellbeing.error.history() == coordinator.wellbeing.error.history()
    assert after.wellbeing.pace == 2 * coordinator.wellbeing.pace
    assert after.digest() != coordinator.under(manifest(epoch=4)).digest()


def test_the_digest_knows_of_it() -> None:
    coordinator = server()
    lived(coordinator, range(20))
    before = coordinator.digest()
    coordinator.wellbeing.devices["gap"][1] += 1e-9
    assert coordinator.digest() != before


def test_what_is_usual_begins_anew_with_the_server_s_model() -> None:
    """A fleet that went back, or was given an input, is not worse than it was: it is another."""
    coordinator = server()
    for tick in range(200):
        level = GOOD if tick < 150 else BAD
        coordinator.wellbeing.note(tick, [(k, tick, level) for k in range(3)], NOBODY)
    assert coordinator.wellbeing.error.worse_since >= 150
    same = coordinator.under(manifest(epoch=4))
    assert same.wellbeing.error.worse_since == coordinator.wellbeing.error.worse_since
    anew = coordinator.under(manifest(epoch=4, lineage=1))
    assert anew.wellbeing.error.worse_since == -1
    anew.wellbeing.error.follow(201, 9.0)
    assert (anew.wellbeing.error.usual, anew.wellbeing.error.worse_since) == (9.0, -1)
