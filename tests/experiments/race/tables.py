"""A small fleet over a table whose calibration period is long enough for a race."""

from pathlib import Path
from typing import Any

import numpy as np

from paofed.world.scenario import Scenario
from tests.world.table.tables import fleet, table, write

HOURS, CALIBRATION = 48, 36


def readings(devices: int, hours: int = HOURS, seed: int = 0) -> list[str]:
    """Something to learn, hour by hour: y is a function of a and b, and a little noise."""
    rng = np.random.default_rng(seed)
    found = []
    for n in range(hours):
        for k in range(devices):
            a, b = rng.normal(size=2)
            y = np.sin(2 * a) + 0.5 * b + 0.1 * rng.normal()
            time = f"2024-05-{1 + n // 24:02d} {n % 24:02d}:00"
            found.append(f"d{k},{time},{y:.6f},{a:.6f},{b:.6f}")
    return found


def racing_fleet(path: Path, lines: list[str], **changes: Any) -> Scenario:
    """The lines as a scenario over a table, written to a path."""
    stream = table(write(path, lines), calibration=f"{CALIBRATION}h", tick="1h")
    return fleet(stream, **changes)
