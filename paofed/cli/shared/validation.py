"""How wrong a fleet's model is on a file of samples."""

from argparse import ArgumentParser
from pathlib import Path

import numpy as np

from paofed.cli.shared.samples import Reader, opened
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
    model = FleetModel.of(coordinator)
    names = [scaling.name for scaling in (*model.manifest.inputs, model.manifest.target)]
    with opened(path) as lines:
        try:
            samples = np.array(list(Reader(names).read(lines)))
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not text: {error}") from None
    if not len(samples):
        raise InputError(f"{path} holds no samples: expected lines of {', '.join(names)}")
    errors = samples[:, -1] - model.predict(samples[:, :-1])
    return float(np.sqrt(np.mean(errors**2)))
