"""Small tables of readings, as files."""

from pathlib import Path
from typing import Any

import numpy as np

from paofed.world.table.spec import Table

HEADER = "device,time,y,a,b"


def write(path: Path, lines: list[str], header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def hourly(devices: int = 2, hours: int = 40, seed: int = 0) -> list[str]:
    """Complete readings of some devices, hour by hour, in order of time."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(hours, devices, 3)).round(6)
    return [
        f"d{k},2024-05-{1 + n // 24:02d} {n % 24:02d}:00,{y},{a},{b}"
        for n in range(hours)
        for k, (y, a, b) in enumerate(values[n].tolist())
    ]


def table(path: Path, **changes: Any) -> Table:
    values: dict[str, Any] = {
        "file": str(path),
        "device": "device",
        "time": "time",
        "target": "y",
        "inputs": ["a", "b"],
        "calibration": "10h",
    }
    return Table.model_validate({**values, **changes})
