"""A lonely device with a real broker, server and devices: its place is learned, and it comes back.

Time is given, as in test_broken.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests.effort import long
from tests.live.lonely import DEVICES, LONELY, LONER, Sensor, error
from tests.live.server.test_broken import Fitted, Made

FEATURES, CONTACTS = 40, 2000
NUMBERS = "--input temperature:20:10 --target load:300:100"


@long
def test_the_place_of_a_lonely_device_is_learned(tmp_path: Path) -> None:
    errors, standings, said = [], set(), set()
    with (
        Made(tmp_path / "g", NUMBERS, FEATURES, DEVICES) as site,
        site.served(wall=site.clock, steady=site.clock) as server,
        ExitStack() as stack,
        ThreadPoolExecutor(DEVICES) as threads,
    ):
        opened = [stack.enter_context(site.device(k)) for k in range(DEVICES)]
        devices = [Fitted(device, Sensor(0, k), site.clock) for k, device in enumerate(opened)]
        for _ in range(CONTACTS):
            list(threads.map(Fitted.turn, devices))
            site.clock.forward()
            device = server.status().devices[LONER]
            standings.add(device.standing)
            said |= {fault.words for fault in device.faults if fault.kind == "aside"}
            errors.append(error(server.service._host.coordinator, LONELY))
    assert "aside" in standings
    assert device.standing == "member"
    assert any("on trial" in words and "`paofed fleet trust`" in words for words in said)
    assert errors[-1] < 0.2 * max(errors)
