"""What `run` and `result` have in common: a Result as a table, JSON, CSV or figure."""

import json
import math
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paofed.cli.table import table
from paofed.errors import InputError
from paofed.files import require_writable
from paofed.simulate.result import Result

FIGURES = (".png", ".svg", ".pdf")
_ENDINGS = ", ".join(FIGURES)
_ERRORS = ("before_db", "worst_db")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the outputs that both verbs offer."""
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the curves as a tidy table")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw them (.png, .svg, .pdf)")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def require_figure(path: Path) -> None:
    """Refuse a name that no figure can have."""
    if path.suffix not in FIGURES:
        raise InputError(f"{path} is no figure's name: expected one that ends in {_ENDINGS}")


def check(args: Namespace, *more: Path | None, inputs: Sequence[str | Path] = ()) -> None:
    """Refuse places that cannot be written to before the work begins."""
    if args.figure is not None:
        require_figure(args.figure)
    taken = {Path(str(given)).resolve() for given in inputs}
    for path in (args.csv, args.figure, *more):
        if path is not None:
            if path.resolve() in taken:
                raise InputError(f"{path} is given twice: every file needs a name of its own")
            taken.add(path.resolve())
            require_writable(path)


def show(result: Result, args: Namespace) -> None:
    """Write the files asked for, then print the summary."""
    if args.csv is not None:
        result.to_csv(args.csv)
    if args.figure is not None:
        from paofed.report.figures import learning_curves, save

        save(learning_curves(result), args.figure)
    summary = result.summary()
    for line in summary:
        if line["diverged_runs"]:
            say(
                f"{line['algorithm']} diverged in {line['diverged_runs']} of {result.runs} runs, "
                f"first at tick {line['diverged_at']}: its step size is too large"
            )
    if args.json:
        print(json.dumps({"runs": result.runs, "algorithms": [plain(line) for line in summary]}))
    else:
        print(as_table(result))


def say(text: str) -> None:
    """Tell people something that is not a result."""
    print(text, file=sys.stderr)


def as_table(result: Result) -> str:
    """A table for people: final error with its standard error, traffic of a run; recovery."""
    summary = result.summary()
    header = ["algorithm", "error (dB)", "s.e.", "sent up", "sent down", "bytes up", "bytes down"]
    rows = [
        [
            line["algorithm"],
            _error(line["db"]),
            f"{line['standard_error']:.2f}" if math.isfinite(line["standard_error"]) else "-",
            f"{line['sent_up']:,.0f}",
            f"{line['sent_down']:,.0f}",
            size(line["bytes_up"]),
            size(line["bytes_down"]),
        ]
        for line in summary
    ]
    scenario = result.provenance["scenario"]["name"]
    runs = f"{result.runs} run{'s' if result.runs > 1 else ''}"
    note = "error over the last 5 % of ticks, traffic in coordinates and payload, mean of a run"
    drifted = f"\n\n{_recoveries(summary)}" if result.drifts else ""
    return f"{scenario}, {runs} ({note})\n\n{table(header, rows)}{drifted}"


def _recoveries(summary: list[dict[str, Any]]) -> str:
    """A table of what every drift did to the algorithms."""
    header = ["algorithm", "drift", "before (dB)", "worst (dB)", "ticks to recover"]
    rows = [
        [
            line["algorithm"],
            str(drift["tick"]),
            *("-" if math.isnan(drift[key]) else _error(drift[key]) for key in _ERRORS),
            "not yet" if drift["ticks"] is None else str(drift["ticks"]),
        ]
        for line in summary
        for drift in line["recovery"]
    ]
    return table(header, rows)


def _error(error: float) -> str:
    """Write an error for people; one that is no finite number has diverged."""
    return f"{error:.2f}" if math.isfinite(error) else "diverged"


def size(number: float) -> str:
    """Write a number of bytes as people say it.

    >>> size(950), size(384_000)
    ('950 B', '384.0 kB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError("unreachable")


def plain(value: Any) -> Any:
    """JSON has no NaN: what could not be computed is null."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
