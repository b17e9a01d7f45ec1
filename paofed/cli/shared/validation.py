"""How wrong a fleet's model is on a file of samples."""

from argparse import ArgumentParser
from pathlib import Path

import numpy as np

from paofed.cli.shared.rows import SampleReader
from paofed.cli.shared.samples import opened
from paofed.errors import InputError
from paofed.live.journal.exports import FleetModel
from paofed.live.protocol.coordinator import Coordinator


def add_validation(parser: ArgumentParser) -> None:
    """Declare the file."""
    parser.add_argument(
        "--validation", type=Path, metavar="FILE", help="samples to judge the model by"
    )


def error_of(coordinator: Coordinator, path: Path) -> float:
    """Root mean squared error of the model on a file of samples, as measured."""
    device = FleetModel.of(coordinator).device()
    rows = SampleReader(device.manifest, needed=True)
    errors = []
    with opened(path) as lines:
        try:
            for x, y, at in rows.read(lines):
                errors.append(y - device.predict(x, at))
                device.remember(x, y, at)
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not text: {error}") from None
    if not errors:
        raise InputError(f"{path} holds no samples: expected lines of {', '.join(rows.names)}")
    known = np.array(errors)[np.isfinite(errors)]
    if not known.size:
        raise InputError(f"{path} holds no sample whose past is known: expected lines tick by tick")
    return float(np.sqrt(np.mean(known**2)))
