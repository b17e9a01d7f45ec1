"""Many devices that begin to predict otherwise at the same time."""

from collections.abc import Callable, Iterable

import numpy as np
import pytest
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.change import Changes, change
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.level import Recent
from paofed.live.protocol.messages import Update, encode
from paofed.live.protocol.trend import NEVER
from paofed.live.protocol.wellbeing import Wellbeing
from paofed.live.server.status import Status
from tests.effort import effort, long
from tests.live.broken import Fault, Sensor, contact, error, manifest
from tests.live.fleets import f32, records, server

NOBODY = np.zeros(0, dtype=bool)
Levels = Callable[[int], Iterable[int]]


def lived(ticks: Iterable[int], levels: Levels, to: Wellbeing | None = None) -> Wellbeing:
    """Let devices be heard in each tick, with the levels of the tick."""
    wellbeing = to or Wellbeing()
    for tick in ticks:
        wellbeing.note(tick, [(k, tick, level) for k, level in enumerate(levels(tick))], NOBODY)
    return wellbeing


def usual(tick: int, devices: int = 12) -> NDArray[np.int64]:
    """Levels that go up and down by 0.75 dB, each device in its own time."""
    return 105 + (np.arange(devices) * 7 + tick) // 5 % 3


def risen(count: int, since: int, by: int = 7, apart: int = 0, until: int = 10**9) -> Levels:
    """Let the first devices be worse by so many steps of 0.75 dB, one after the other."""

    def levels(tick: int) -> list[int]:
        late = [since + apart * k <= tick < until for k in range(count)]
        return [int(level) + by * (k < count and late[k]) for k, level in enumerate(usual(tick))]

    return levels


def test_a_third_that_gets_worse_at_once_is_told_until_it_is_over() -> None:
    shifts = lived(range(200), risen(4, 150, until=190)).shifts
    assert (shifts.since, shifts.most, shifts.of) == (150, 4, 12)
    assert (shifts.until, shifts.lasts) == (190, False)
    assert lived(range(170), risen(7, 150)).shifts.lasts


def test_a_third_that_gets_far_better_at_once_is_told_too() -> None:
    assert lived(range(200), risen(5, 150, by=-20)).shifts.since == 150


@pytest.mark.parametrize(
    "levels",
    [
        risen(0, 0),
        risen(3, 150),  # fewer than a third
        risen(12, 150, by=3),  # no more than 2.25 dB
        risen(6, 150, apart=9),  # one after the other
        risen(12, 40),  # before anything is usual
    ],
)
def test_what_is_not_many_at_once_is_not_told(levels: Levels) -> None:
    assert lived(range(240), levels).shifts.since == NEVER


def test_who_joins_is_not_compared_with_anything() -> None:
    wellbeing = lived(range(150), usual)
    joined = lived(range(150, 260), lambda tick: [*usual(tick), *[130 - tick // 6] * 12], wellbeing)
    assert joined.shifts.since == NEVER


@pytest.mark.parametrize(("count", "expected"), [(2, NEVER), (3, 150)])
def test_a_small_fleet_needs_three(count: int, expected: int) -> None:
    levels = risen(count, 150)
    assert lived(range(200), lambda tick: list(levels(tick))[:4]).shifts.since == expected


def test_a_change_of_the_fleet_is_no_shift() -> None:
    coordinator = server(devices=6)
    after = None
    for tick in range(300):
        coordinator.close(tick)
        if tick == 150:
            after = change(coordinator, Changes(values={"step_size": 0.1}), tick + 1.0)
            assert after is not None
            coordinator = after.server
        level = 105 if after is None else 118
        for k in range(6):
            message = Update(coordinator.manifest.epoch, coordinator.tick, f32(1.0, 2.0), (), level)
            records(coordinator, k, encode(message))
    assert coordinator.counts["accepted"] > 6 * 280
    assert coordinator.wellbeing.shifts.since == NEVER


def noise(kind: str, random: np.random.Generator, size: tuple[int, int]) -> FloatArray:
    """Errors of devices that are well: normal, or with some far out."""
    return random.normal(size=size) if kind == "normal" else random.standard_t(4, size=size)


@pytest.mark.parametrize("kind", ["normal", "t4"])
def test_devices_that_are_well_are_hardly_ever_told(kind: str) -> None:
    """A false alarm comes less than once in a million ticks, or about once (t4): below 1 %."""
    ticks = effort(everyday=300, thorough=3000)
    errors = noise(kind, np.random.default_rng(5), (ticks, 12))
    recent = [Recent() for _ in range(12)]

    def levels(tick: int) -> list[int]:
        for device, wrong in zip(recent, errors[tick], strict=True):
            device.learned(float(wrong))
        return [device.level for device in recent]

    assert lived(range(ticks), levels).shifts.since == NEVER


def test_the_status_says_who_and_then_that_it_was() -> None:
    wellbeing = lived(range(160), risen(4, 150))
    coordinator = server(devices=12, tick_seconds=60.0)
    coordinator.wellbeing, coordinator.tick = wellbeing, 160
    said = Status.of("g", coordinator, [])
    assert said.problems == ("4 of 12 devices began to predict otherwise at once (tick 150)",)
    assert said.attention == ()
    lived(range(160, 200), usual, wellbeing)
    coordinator.tick = 200
    later = Status.of("g", coordinator, [])
    assert later.problems == ()
    assert "devices began to predict otherwise at once (ticks 150 to 160)" in later.attention[0]
    assert Status.from_json(later.to_json()) == later
    coordinator.tick = 160 + 24 * 60 + 1  # a day later
    assert Status.of("g", coordinator, []).attention == ()


# A real fleet


@long
@pytest.mark.parametrize("seed", [0, 1])
def test_seven_of_twelve_devices_that_break_together_are_told(seed: int) -> None:
    server = Coordinator(manifest())
    edges = [Edge(server.manifest, k) for k in range(12)]
    sensors = [Sensor(seed * 1000 + k) for k in range(12)]
    for k in range(12):
        server.add(k)
    for tick in range(520):
        if tick == 400:
            assert server.wellbeing.shifts.since == NEVER  # it has learned, and nothing was said
            good = error(FleetModel.of(server))
            for sensor in sensors[:7]:
                sensor.fault = Fault(frozenset(), 0, lambda y, _age, _random: y + 60)
        for edge, sensor in zip(edges, sensors, strict=True):
            contact(server, edge, sensor, tick)
        server.close(tick + 1)
    assert error(FleetModel.of(server)) > 5 * good  # the fleet has learned what is wrong
    shifts = server.wellbeing.shifts
    assert 400 <= shifts.since < 408
    assert 4 <= shifts.most <= 7
