"""Predict with a model that was taken out of a fleet.

Reads inputs from standard input or a file, one line each, as CSV (with a header, or in the order
of the manifest's inputs) or JSON lines; prints one prediction per line. Where inputs look back, the
lines are those of one device, with their target and time; the prediction is empty where the past
is not known.
"""

import math
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.cli.shared.rows import SampleReader
from paofed.cli.shared.samples import opened
from paofed.errors import InputError
from paofed.live.journal.exports import FleetModel

EXAMPLE = "paofed predict model.npz --input measurements.csv"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", type=Path, metavar="MODEL.npz", help="of `paofed fleet model`")
    parser.add_argument("--input", type=Path, metavar="FILE", help="(default: standard input)")


def run(args: Namespace) -> int:
    """Predict line by line, so that it can stand in a pipe."""
    device = FleetModel.load(args.model).device()
    rows = SampleReader(device.manifest, looked_back_at=True)
    with opened(args.input) as lines:
        try:
            for x, y, at in rows.read(lines):
                when = time.time() if at is None else at
                predicted = device.predict(x, when)
                device.remember(x, y, when)
                text = "" if math.isnan(predicted) else f"{predicted:.9g}"
                print(text, flush=args.input is None)
        except UnicodeDecodeError as error:
            raise InputError(f"{args.input or 'the input'} is not text: {error}") from None
    return 0
