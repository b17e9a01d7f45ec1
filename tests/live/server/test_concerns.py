"""Who needs somebody to look, what for, and since when."""

import logging
from collections.abc import Iterable

from paofed.live.protocol.coordinator import REPORT_AFTER, Coordinator, Record
from paofed.live.protocol.level import IMPLAUSIBLE
from paofed.live.protocol.messages import Hello, Read, Update, encode
from paofed.live.protocol.wellbeing import FAR_FOR
from paofed.live.server.concerns import KINDS, News, Trouble, judged
from tests.live.fleets import f32, records, server

GOOD, BAD = 110, 130


def lived(
    coordinator: Coordinator,
    ticks: Iterable[int],
    devices: Iterable[int] = range(6),
    level: int = GOOD,
) -> Coordinator:
    """Let each device be heard in each tick, device 5 with a level of its own."""
    devices = list(devices)
    for tick in ticks:
        coordinator.close(tick)
        for k in devices:
            own = level if k == 5 else GOOD
            coordinator.receive(k, encode(Update(3, tick, f32(1.0, 2.0), (), own)))
        coordinator.close(tick + 1)
    return coordinator


def test_a_fleet_in_order() -> None:
    assert judged(lived(server(6), range(100))) == {}
    assert judged(server(0)) == judged(server(6)) == {}


def test_samples_that_are_not_plausible_are_told_with_the_first_contact() -> None:
    coordinator = lived(lived(server(6), range(50)), [50], level=IMPLAUSIBLE)
    words = "measures what is not plausible, time and again"
    assert judged(coordinator) == {5: (Trouble("implausible", 50, words),)}
    lived(coordinator, range(51, 66))  # and remembered for 16 contacts
    assert judged(coordinator) == {5: (Trouble("implausible", 50, words),)}
    assert judged(lived(coordinator, [66])) == {}


def test_one_that_predicts_far_worse() -> None:
    coordinator = lived(server(6), range(50))
    lived(coordinator, range(50, 50 + FAR_FOR - 1), level=BAD)
    assert judged(coordinator) == {}
    lived(coordinator, [50 + FAR_FOR - 1], level=BAD)
    words = "predicts far worse than the fleet: 4.75 y against 0.845 y"
    assert judged(coordinator) == {5: (Trouble("worse", 50, words),)}


def test_one_that_is_refused() -> None:
    coordinator = lived(server(6), range(50))
    for number in range(REPORT_AFTER):
        assert judged(coordinator) == {}
        lived(coordinator, [50 + number], range(5))
        coordinator.receive(5, b"\x20")
    assert judged(coordinator) == {
        5: (Trouble("refused", 51, "is refused again and again: length"),)
    }
    lived(coordinator, range(60, 100), range(5))  # it is not called silent as well
    assert [fault.kind for fault in judged(coordinator)[5]] == ["refused"]


def test_one_that_is_silent() -> None:
    coordinator = lived(lived(server(6), range(50)), range(50, 65), range(5))
    assert judged(coordinator) == {}
    lived(coordinator, [65], range(5))
    words = "is silent for longer than is usual for it, 1 ticks"
    assert judged(coordinator) == {5: (Trouble("silent", 49, words),)}
    assert judged(lived(coordinator, [66])) == {}


def reading(
    coordinator: Coordinator, ticks: Iterable[int], readers: Iterable[int], level: int = GOOD
) -> Coordinator:
    """Let devices 0 to 3 be heard in each tick, and some others read."""
    readers = list(readers)
    for tick in ticks:
        coordinator.close(tick)
        for k in readers:
            coordinator.receive(k, encode(Read(3, level)))
        lived(coordinator, [tick], range(4))
    return coordinator


def test_one_that_only_reads_is_not_silent_and_makes_nobody_silent() -> None:
    coordinator = reading(lived(server(6), range(50)), range(50, 150), [4, 5])
    assert judged(coordinator) == {}
    reading(coordinator, range(150, 165), [4])
    assert judged(coordinator) == {}
    reading(coordinator, [165], [4])  # device 5 does not even read any more
    words = "is silent for longer than is usual for it, 1 ticks"
    assert judged(coordinator) == {5: (Trouble("silent", 149, words),)}


def test_one_that_has_only_ever_read_is_silent_when_it_reads_no_more() -> None:
    coordinator = reading(server(6), range(50), [5])
    assert judged(coordinator) == {}
    assert sorted(judged(reading(coordinator, range(50, 70), []))) == [5]


def test_one_that_reads_can_tell_of_samples_that_are_not_plausible() -> None:
    coordinator = reading(reading(server(6), range(50), [5]), [50], [5], IMPLAUSIBLE)
    assert [(k, faults[0].kind) for k, faults in judged(coordinator).items()] == [
        (5, "implausible")
    ]
    assert judged(reading(coordinator, range(51, 67), [5])) == {}


def test_who_reads_is_known_after_a_restart() -> None:
    """The reads since the snapshot are not: nobody is called silent for that."""
    coordinator = reading(reading(server(6), range(50), range(6)), range(50, 60), [4, 5])
    lines: list[Record] = []
    again = server(6)
    again.restore(coordinator.state())
    for tick in range(60, 100):
        coordinator.close(tick)
        for k in range(4):
            lines += records(coordinator, k, encode(Update(3, tick, f32(1.0, 2.0), (), GOOD)))
        for k in (4, 5):
            coordinator.receive(k, encode(Read(3, GOOD)))
    again.recover(lines)
    for one in (coordinator, again):
        one.close(100)
        assert judged(one) == {}
    assert again.digest() == coordinator.digest()


def aside(coordinator: Coordinator, *devices: int) -> Coordinator:
    """As if the rule had set them aside at the tick that closed last."""
    coordinator.wellbeing.devices["aside_since"] = -1
    coordinator.wellbeing.devices["aside_since"][list(devices)] = coordinator.tick - 1
    return coordinator


def test_one_that_is_set_aside() -> None:
    coordinator = aside(lived(server(6), range(50)), 2, 4)
    words = (
        "is set aside: its updates lie far outside those of the others, and count as at most "
        "0.1 usual differences, on trial; it is broken (mend it, or `paofed fleet quarantine`), or "
        "alone where it measures (wait, or `paofed fleet trust`)"
    )
    fault = Trouble("aside", 49, words)
    assert judged(coordinator) == {2: (fault,), 4: (fault,)}


def test_several_things_at_once() -> None:
    coordinator = aside(lived(server(6), range(50), level=BAD), 5)
    lived_on = lived(coordinator, range(50, 70), range(5))
    aside(lived_on, 5)
    kinds = [fault.kind for fault in judged(lived_on)[5]]
    assert kinds == ["aside", "worse", "silent"]
    assert set(kinds) <= set(KINDS)


def test_of_those_whom_somebody_has_looked_at_nothing_is_said() -> None:
    coordinator = lived(lived(server(6), range(50)), range(50, 100), range(3))
    assert sorted(judged(coordinator)) == [3, 4, 5]
    coordinator.quarantine(3)
    coordinator.remove(4)
    assert sorted(judged(coordinator)) == [5]


def test_devices_that_were_added_a_moment_ago() -> None:
    coordinator = lived(server(6), range(50))
    coordinator.add(300)
    assert judged(coordinator) == {}
    for _ in range(REPORT_AFTER):
        coordinator.receive(300, b"")
    assert sorted(judged(coordinator)) == [300]


# News


def told(news: News, coordinator: Coordinator) -> list[tuple[int, str]]:
    return [(line.level, line.text) for line in news.of(coordinator, "name-{}".format)]


def test_each_change_is_told_once() -> None:
    news, coordinator = News(), lived(server(6), range(50))
    assert told(news, coordinator) == []
    lived(coordinator, [50], level=IMPLAUSIBLE)
    words = "device 5 (name-5) measures what is not plausible, time and again"
    assert told(news, coordinator) == [(logging.WARNING, words)]
    assert told(news, coordinator) == []
    lived(coordinator, range(51, 67))
    words = "device 5 (name-5) measures what is plausible again"
    assert told(news, coordinator) == [(logging.INFO, words)]
    assert told(news, coordinator) == []


def test_who_comes_back_is_told_unless_somebody_has_taken_it_out() -> None:
    news, coordinator = News(), lived(lived(server(6), range(50)), range(50, 100), range(3))
    assert len(told(news, coordinator)) == 3
    coordinator.quarantine(3)
    lived(coordinator, [100], [4])
    assert told(news, coordinator) == [(logging.INFO, "device 4 (name-4) is heard again")]


def test_one_that_is_refused_has_not_come_back() -> None:
    """Its hellos are answered, and end nothing: no update of it was taken."""
    news, coordinator = News(), lived(lived(server(6), range(50)), range(50, 100), range(5))
    assert len(told(news, coordinator)) == 1  # silent
    for number in range(2 * REPORT_AFTER):
        coordinator.receive(5, b"\x20" if number % 3 else encode(Hello(3)))
        lived(coordinator, [100 + number], range(5))
    assert [fault.kind for fault in judged(coordinator)[5]] == ["refused"]
    assert told(news, coordinator) == []


def test_refusals_are_told_elsewhere() -> None:
    news, coordinator = News(), server(1)
    for _ in range(REPORT_AFTER):
        coordinator.receive(0, b"")
    assert judged(coordinator)
    assert told(news, coordinator) == []


def test_a_site_that_is_cut_off_is_no_hundred_lines() -> None:
    coordinator = lived(lived(server(40), range(50), range(40)), range(50, 100), range(5))
    lines = told(News(), coordinator)
    assert len(lines) == 11
    assert lines[-1] == (logging.WARNING, "and 25 more changes (`paofed fleet status`)")


def test_a_fleet_that_becomes_worse_and_better_again() -> None:
    news, coordinator = News(), lived(server(6), range(100))
    trend = coordinator.wellbeing.error
    for tick in range(100, 130):
        trend.follow(tick, -5.0)
    (line,) = told(news, coordinator)
    assert line[0] == logging.WARNING
    assert line[1].startswith("the fleet predicts worse than it did: 1.95 y, usually 0.9")
    assert told(news, coordinator) == []
    for tick in range(130, 200):
        trend.follow(tick, -13.5)
    (line,) = told(news, coordinator)
    assert line[0] == logging.INFO
    assert line[1].startswith("the fleet predicts as it used to again: 0.8")
