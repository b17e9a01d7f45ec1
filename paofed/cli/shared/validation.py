"""How wrong a fleet's model is on a file of samples."""

from argparse import ArgumentParser
from pathlib import Path

import numpy as np

from paofed.cli.shared.rows import SampleReader
from paofed.cli.shared.samples import opened
from paofed.errors import InputError
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.reported import ReportedInterval
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.server.validation import Validated

VALIDATION_HELP = "file of samples with their target, CSV or JSON lines, to judge the model by"


def add_validation(parser: ArgumentParser) -> None:
    """Declare the file of samples."""
    parser.add_argument("--validation", type=Path, metavar="FILE", help=VALIDATION_HELP)


def error_of(coordinator: Coordinator, path: Path) -> float:
    """Return the root mean squared error of a server's model on a file of samples, as measured."""
    return validated(FleetModel.of(coordinator), path).error


def validated(model: FleetModel, path: Path) -> Validated:
    """Predict every sample of a file in the order of its lines, and count."""
    device = model.device()
    rows = SampleReader(device.manifest, needed=True)
    pairs = []
    with opened(path) as lines:
        try:
            for x, y, at in rows.read(lines):
                pairs.append((y, device.predict(x, at)))
                device.remember(x, y, at)
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not text: {error}") from None
    if not pairs:
        raise InputError(f"{path} holds no samples: expected lines of {', '.join(rows.names)}")
    known = np.array(pairs)[np.isfinite(pairs).all(axis=1)]
    if not known.size:
        raise InputError(f"{path} holds no sample whose past is known: expected lines tick by tick")
    y, predicted = known.T
    interval = ReportedInterval.of(model.levels)
    seen = [device.manifest.unit.numbers(values) for values in (y, predicted)]
    held = interval and float(np.mean(np.abs(seen[0] - seen[1]) <= interval.half_width))
    return Validated(float(np.sqrt(np.mean((y - predicted) ** 2))), len(known), held)
