"""What taking part costs: bytes on the wire per device and day, per reading, and at first."""

from typing import NamedTuple

from paofed.core.metrics import BYTES_PER_COORDINATE
from paofed.core.tariffs import Tariff
from paofed.simulate.results.progressive import Progressive
from paofed.simulate.results.result import Result

_DAY = 86_400.0  # seconds


class CostOfTakingPart(NamedTuple):
    """Bytes under a tariff: the mean over runs, devices and the time of a table."""

    per: str  # day, or tick where times are plain numbers
    # Bytes up of a device in that time; NaN where an earlier version did not count messages.
    up: float
    down: float
    reading: float  # both directions, for one reading
    busy: float  # both directions, for a device that has a reading at every tick of that time
    download: float  # one whole model, to one device
    has_download: bool  # whether these bytes include such a download to every device


def cost(result: Result, judged: Progressive, name: str, tariff: Tariff) -> CostOfTakingPart:
    """Return what an algorithm cost in this run."""
    scenario, table = result.provenance["scenario"], result.provenance["table"]
    wire = result.run_wire(name, tariff)
    up, down = (float(sent[:, -1].mean()) for sent in (wire.up, wire.down))
    ticks_per = _DAY / table["tick"] if table["calendar"] else 1.0
    shares = scenario["clients"] * scenario["ticks"] / ticks_per
    reading = (up + down) / int(judged.samples.sum())
    return CostOfTakingPart(
        per="day" if table["calendar"] else "tick",
        up=up / shares,
        down=down / shares,
        reading=reading,
        busy=reading * ticks_per,
        download=BYTES_PER_COORDINATE * scenario["features"] + tariff.down,
        has_download=scenario.get("newcomers") == "whole",
    )
