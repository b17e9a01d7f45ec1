"""Predict with a model that was taken out of a fleet.

Reads inputs from standard input or a file, one line each, as CSV (with or without a header) in the
order of the manifest's inputs; prints one prediction per line.
"""

import csv
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from paofed.errors import FileError, InputError
from paofed.live.exports import FleetModel

EXAMPLE = "paofed predict model.npz --input measurements.csv"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", type=Path, metavar="MODEL.npz", help="of `paofed fleet model`")
    parser.add_argument("--input", type=Path, metavar="FILE", help="(default: standard input)")


def run(args: Namespace) -> int:
    """Predict line by line, so that it can stand in a pipe."""
    model = FleetModel.load(args.model)
    names = [scaling.name for scaling in model.manifest.inputs]
    try:
        opened = (
            nullcontext(sys.stdin)
            if args.input is None
            else args.input.open(newline="", encoding="utf-8-sig")
        )
    except OSError as error:
        raise FileError(f"{args.input} cannot be read: {error.strerror}") from None
    with opened as lines:
        try:
            for x in _inputs(lines, names):
                print(f"{float(model.predict(np.array(x))):.9g}", flush=args.input is None)
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{args.input or 'the input'} is not CSV: {error}") from None
    return 0


def _inputs(lines: Iterable[str], names: list[str]) -> Iterator[list[float]]:
    for number, row in enumerate(csv.reader(lines), start=1):
        if not row or (number == 1 and [cell.strip() for cell in row] == names):
            continue
        try:
            x = [float(cell) for cell in row]
        except ValueError:
            x = []
        if len(x) != len(names) or not np.isfinite(x).all():
            raise InputError(
                f"line {number} is {','.join(row)!r}: expected {len(names)} finite numbers "
                f"({', '.join(names)})"
            )
        yield x
