"""Every number of a run's page as CSV."""

from pathlib import Path

from paofed.files import write_table
from paofed.report.gains import newcomers
from paofed.simulate.progressive import ColdStart, Progressive
from paofed.simulate.result import Result


def write_numbers(result: Result, folder: Path) -> None:
    """Write the curves and, over a table, what was judged on it."""
    result.to_csv(folder / "curves.csv")
    if result.progressive is not None:
        _write_errors(result, result.progressive, folder)
    if result.cold_start is not None:
        _write_newcomers(result.cold_start, folder)


def _write_errors(result: Result, judged: Progressive, folder: Path) -> None:
    learners = [(name, whose) for name, whose in judged.learners.tolist()]
    write_table(
        folder / "errors.csv",
        ["learner", "model", "runs", "db", "db_se"],
        [[name, whose, result.runs, *judged.final(name, whose)] for name, whose in learners],
    )
    write_table(
        folder / "by-device.csv",
        ["learner", "model", "device", "db", "samples"],
        [
            [name, whose, device, float(db), samples]
            for name, whose in learners
            for device, db, samples in zip(
                judged.devices.tolist(),
                judged.by_device_db(name, whose),
                judged.device_samples.tolist(),
                strict=True,
            )
        ],
    )
    write_table(
        folder / "over-time.csv",
        ["learner", "model", "tick", "db", "samples"],
        [
            [name, whose, tick, float(db), samples]
            for name, whose in learners
            for tick, db, samples in zip(
                result.ticks.tolist(),
                judged.curve_db(name, whose),
                judged.samples.tolist(),
                strict=True,
            )
        ],
    )


def _write_newcomers(cold: ColdStart, folder: Path) -> None:
    write_table(
        folder / "newcomers.csv",
        ["algorithm", "begins_with", "horizon_ticks", "db", "gain", "low", "high", "starts"],
        [
            [found.name, found.way, ticks, db, *gained]
            for found in newcomers(cold)
            for ticks, db, gained in zip(
                cold.horizons.tolist(), found.errors, found.gains, strict=True
            )
        ],
    )
