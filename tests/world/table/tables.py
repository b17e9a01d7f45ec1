"""Small tables of readings, as files."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray
from paofed.world.scenario import Scenario
from paofed.world.table.readings import Readings
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


def with_gaps(lines: list[str], share: float = 0.2, seed: int = 1) -> list[str]:
    """The same without some rows, inputs and targets; the first row and the last stay."""
    rng = np.random.default_rng(seed)
    found = []
    for i, line in enumerate(lines):
        cells = line.split(",")
        hit = rng.random() < share and 0 < i < len(lines) - 1
        lost = int(rng.integers(1, len(cells)))  # 1: the whole row
        if hit and lost > 1:
            cells[lost] = ""
        if not hit or lost > 1:
            found.append(",".join(cells))
    return found


def fleet(stream: Table, **changes: Any) -> Scenario:
    """A small fleet over a table, often there and often late."""
    values: dict[str, Any] = {
        "name": "fleet",
        "features": 9,
        "step_size": 0.4,
        "max_age": 3,
        "stream": stream,
        "availability": {"kind": "bernoulli", "probabilities": (0.8, 0.4)},
        "delay": {"kind": "geometric", "base": 0.5},
    }
    return Scenario.model_validate({**values, **changes})


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


class Grid(NamedTuple):
    """Values of readings with a place for every tick and device."""

    x: FloatArray  # (N, K, d); 0 without a complete reading
    y: FloatArray  # (N, K); likewise NaN
    has_data: BoolArray  # (N, K)


def on_grid(readings: Readings) -> Grid:
    shape, there = (readings.ticks, len(readings.devices)), (readings.tick, readings.device)
    grid = Grid(np.zeros((*shape, readings.inputs)), np.full(shape, np.nan), np.zeros(shape, bool))
    grid.x[there], grid.y[there], grid.has_data[there] = readings.x, readings.y, True
    return grid
