"""What is the matter, in a sentence."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from paofed.live.server.concerns import KINDS, Trouble
from paofed.live.server.status import (
    DeviceStatus,
    FleetError,
    FleetShift,
    Status,
)
from paofed.live.server.web.page.view import DOWN, LOOK, PROBLEM, WELL, verdict
from tests.live.fleets import server
from tests.live.server.states import DEVICE, SERVICE

USUAL = FleetError(now=-12.34, usual=-12.0, worse_since=None, history=())


def device(number: int, *kinds: str, **changes: Any) -> DeviceStatus:
    faults = tuple(Trouble(kind, 12, f"is {kind}") for kind in kinds)
    return replace(DEVICE, device=number, label=f"d{number}", faults=faults, **changes)


def status(devices: Iterable[DeviceStatus], **changes: Any) -> Status:
    found = Status.of("g", server(), [], SERVICE)
    return replace(found, devices=tuple(devices), **{"error": USUAL, **changes})


def test_a_fleet_in_order_says_so() -> None:
    found = verdict(status(device(k) for k in range(500)))
    assert found == (WELL, "All is well: all 500 devices are heard, error 0.966 y, as usual.", ())


def test_devices_that_never_joined_are_counted_and_those_that_left_are_not() -> None:
    devices = [device(0), device(1, last_seen=None), device(2, standing="removed")]
    devices.append(device(3, standing="quarantined"))
    assert verdict(status(devices)).words == (
        "All is well: 1 of 2 devices is heard, 1 never joined, error 0.966 y, as usual."
    )


@pytest.mark.parametrize(
    ("now", "words"),
    [(-15.0, "error 0.711 y, usually 1 y"), (-10.0, "error 1.26 y, usually 1 y")],
)
def test_an_error_that_is_not_as_usual(now: float, words: str) -> None:
    found = status([device(0)], error=replace(USUAL, now=now))
    assert words in verdict(found).words
    # Where the model sees a logarithm, an error is a factor, and has no unit.
    assert f"error {now:.1f} dB, usually -12.0 dB" in verdict(replace(found, scale=None)).words


def test_many_that_changed_at_once_are_said_where_nobody_is_named() -> None:
    shift = FleetShift(since=3, until=9, most=4, of=12, devices=())
    found = verdict(status([device(0)], shift=shift))
    assert found.level == LOOK
    assert found.words.startswith("Many devices changed at the same time. All 1 device is heard")
    assert verdict(status([device(0)], shift=replace(shift, until=None))).level == PROBLEM


def test_before_anybody_has_said_anything() -> None:
    said = verdict(status([device(0, last_seen=None)], error=None)).words
    assert said == (
        "All is well: 0 of 1 device are heard, 1 never joined, and none has said yet how well it "
        "predicts."
    )
    assert verdict(status([])).words.startswith("This fleet has no devices yet")


def test_whom_somebody_should_look_at() -> None:
    devices = [*(device(k) for k in range(5)), device(5, "silent"), device(6, "aside", "worse")]
    found = verdict(status(devices))
    assert found.level == LOOK
    assert found.words == (
        "2 devices need somebody to look: 1 set aside, 1 far worse than the others, 1 silent. "
        "6 of 7 devices are heard, error 0.966 y, as usual."
    )
    assert found.lines[0] == "d5 is silent (since tick 12)"
    assert "1 device needs somebody" in verdict(status([device(0, "aside")])).words
    for kind in KINDS:
        assert verdict(status([device(0, kind)])).level == LOOK


def test_a_fleet_of_which_nobody_is_heard() -> None:
    found = verdict(status([device(0)], quiet_since=7))
    assert found.level == LOOK
    assert found.words.startswith("No device at all is heard")


def test_problems_come_first() -> None:
    service = replace(SERVICE, problems=("there is no connection to the broker",))
    found = verdict(status([device(0, "aside")], service=service))
    assert found.level == PROBLEM
    assert found.words == "There is no connection to the broker."
    assert "d0 is aside (since tick 12)" in found.lines


def test_a_folder_whose_server_is_down() -> None:
    found = verdict(status([device(0)], service=None))
    assert found.level == DOWN
    assert found.lines == ("All 1 device is heard, error 0.966 y, as usual.",)
