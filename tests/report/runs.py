"""Small runs to report on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paofed.simulate.montecarlo import run
from paofed.simulate.results.table_result import TableResult
from tests.world.table.tables import fleet, hourly, table, write

ALGORITHMS = ("online-fedsgd", "pao-fed-u1")


def named(lines: list[str], names: Sequence[str]) -> list[str]:
    """The same readings, of devices that are called something else."""
    for k, name in reversed(list(enumerate(names))):
        quoted = '"' + name.replace('"', '""') + '"'
        lines = [
            f"{quoted}{line.removeprefix(f'd{k}')}" if line.startswith(f"d{k},") else line
            for line in lines
        ]
    return lines


def over_table(
    folder: Path,
    *,
    names: Sequence[str] = ("d0", "d1", "d2"),
    hours: int = 360,
    scenario: dict[str, Any] | None = None,
    **options: Any,
) -> TableResult:
    """A run over some days of some devices."""
    path = write(folder / "readings.csv", named(hourly(len(names), hours), names))
    given = {"methods": ALGORITHMS, "runs": 2, "cold_starts": 3, "every": 12, **options}
    return TableResult.of(run(fleet(table(path), **(scenario or {})), **given))
