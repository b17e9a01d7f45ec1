"""A small run over a table whose columns are of many kinds, and the rows of that table."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paofed.simulate.montecarlo import run
from paofed.simulate.results.progressive import Whose
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.world.scenario import Scenario
from tests.world.table.tables import fleet, table, write

HEADER = "device,time,y,a,wind"
INPUTS = ["a", "y:log1p:lag=1", "wind:compass", "time:hour", "a:diff=2"]
LINEUP = [
    "online-fed:subset=0.5",
    "pao-fed-u1:shared=5,exchange=live",
    "pao-fed-c2:shared=3,learner=two-speed,exchange=live",
]
SEED = 7


class Row(NamedTuple):
    """A row as another program would read it; None is what is missing."""

    device: str
    time: float
    y: float | None
    x: list[Any]  # a and wind


def lines(devices: int = 3, hours: int = 60) -> list[str]:
    """Something to learn; a few numbers are missing, and a few rows."""
    rng, winds, found = np.random.default_rng(4), ("N", "ESE", "SW"), []
    before = np.zeros(devices)
    for n in range(hours):
        for k in range(devices):
            a, noise = rng.normal(size=2)
            before[k] = 0.6 * before[k] + np.sin(2 * a) + 0.1 * noise
            cells = [f"{np.expm1(1 + 0.3 * before[k]):.5f}", f"{20 + 5 * a:.4f}", winds[n * k % 3]]
            lost = int(rng.integers(40))
            if lost < len(cells):
                cells[lost] = ""
            if lost != len(cells):
                time = f"2024-05-{1 + n // 24:02d} {n % 24:02d}:00"
                found.append(",".join([f"d{k}", time, *cells]))
    return found


def made(folder: Path, **changes: Any) -> tuple[Scenario, TableResult]:
    """A fleet over such a table in a folder, and its run."""
    path = write(folder / "t.csv", lines(), HEADER)
    values = {"inputs": INPUTS, "target": "y:log1p", "calibration": "20h", "tick": "1h", **changes}
    scenario = fleet(table(path, **values), features=16)
    result = run(
        scenario, LINEUP, runs=2, seed=SEED, engine="reference", baselines="none", workers=1
    )
    return scenario, TableResult.of(result)


def final(result: Result, name: str, whose: Whose) -> float:
    """The error of an algorithm's models in dB."""
    return result.final(name, whose).db


def rows(path: str | Path) -> Iterator[Row]:
    """All rows of such a table."""
    with Path(path).open() as opened:
        for row in csv.DictReader(opened):
            time = np.datetime64(row["time"].replace(" ", "T"), "s").astype(np.int64)
            a, y = (float(row[name]) if row[name] else None for name in ("a", "y"))
            yield Row(row["device"], float(time), y, [a, row["wind"] or None])
