"""Predict with a model that was taken out of a fleet.

Reads inputs from standard input or a file, one line each, as CSV (with a header, or in the order
of the manifest's inputs) or JSON lines; prints one prediction per line.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

import numpy as np

from paofed.cli.shared.samples import Reader, opened
from paofed.errors import InputError
from paofed.live.journal.exports import FleetModel

EXAMPLE = "paofed predict model.npz --input measurements.csv"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", type=Path, metavar="MODEL.npz", help="of `paofed fleet model`")
    parser.add_argument("--input", type=Path, metavar="FILE", help="(default: standard input)")


def run(args: Namespace) -> int:
    """Predict line by line, so that it can stand in a pipe."""
    model = FleetModel.load(args.model)
    reader = Reader([scaling.name for scaling in model.manifest.inputs])
    with opened(args.input) as lines:
        try:
            for x in reader.read(lines):
                print(f"{float(model.predict(np.array(x))):.9g}", flush=args.input is None)
        except UnicodeDecodeError as error:
            raise InputError(f"{args.input or 'the input'} is not text: {error}") from None
    return 0
