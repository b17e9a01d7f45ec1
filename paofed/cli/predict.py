"""Predict with a model that was taken out of a fleet, or with one that a run over a table left.

With a fleet's model: reads inputs from standard input or a file, one line each, as CSV (with a
header, or in the order of the manifest's inputs) or JSON lines; prints one prediction per line.
Where inputs look back, the lines are those of one device, with their target and time.

With a run's file: reads a table like the one of the run, and prints one prediction per row. Where
inputs look back, the rows before are needed of each device, with their times.

The prediction is empty where an input needs an earlier value that is not known.
"""

import math
import time
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path

from paofed.archives import is_run
from paofed.cli.shared.own_method import add_method, admit_given
from paofed.errors import InputError
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.sample_lines import SampleReader, opened

EXAMPLE = "paofed predict model.npz --input measurements.csv"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL.npz",
        help="what `paofed fleet model` wrote, or `paofed run --out` over a table")  # fmt: skip
    add("--input", type=Path, metavar="FILE",
        help="file of inputs (default: standard input; required with a run)")  # fmt: skip
    add_method(parser)
    add("--algorithm", metavar="NAME",
        help="with a run: whose model predicts (default: the one with the least error on the "
        "server)")  # fmt: skip


def run(args: Namespace) -> int:
    """Predict rows of a table, or line by line, so that the command can stand in a pipe."""
    _require_archive(args.model)
    admit_given(args)
    if is_run(args.model):
        return _rows(args)
    if args.algorithm is not None:
        raise InputError(
            f"{args.model} is a fleet's model, of one algorithm: leave out --algorithm"
        )
    device = FleetModel.load(args.model).device()
    rows = SampleReader(device.manifest, looked_back_at=True)
    with opened(args.input) as lines:
        try:
            for x, y, at in rows.read(lines):
                when = time.time() if at is None else at
                predicted = device.predict(x, when)
                device.remember(x, y, when)
                print(_text(predicted), flush=args.input is None)
        except UnicodeDecodeError as error:
            raise InputError(f"{args.input or 'the input'} is not text: {error}") from None
    return 0


def _rows(args: Namespace) -> int:
    """Predict every row of a table that is like the table of a run."""
    from paofed.deployment.table_run import TableRun

    found = TableRun.load(args.model)
    if args.input is None:
        raise InputError(f"{args.model} is a run over a table: give another such table (--input)")
    for predicted in found.predicted(args.algorithm, args.input).tolist():
        print(_text(predicted))
    return 0


def _require_archive(path: Path) -> None:
    """Refuse a model that `paofed fleet model` wrote as JSON, and say what to do."""
    with suppress(OSError), path.open("rb") as file:
        if file.read(1) == b"{":
            raise InputError(
                f"{path} is JSON: expected a .npz, as `paofed fleet model --format npz` writes; "
                f"programs predict by JSON (paofed.predictor)"
            )


def _text(predicted: float) -> str:
    return "" if math.isnan(predicted) else f"{predicted:.9g}"
