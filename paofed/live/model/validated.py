"""How wrong a model is on a file of samples, as people have measured them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from paofed.errors import InputError
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.reported import ReportedInterval
from paofed.live.model.sample_lines import SampleReader, opened


class Validated(NamedTuple):
    """How a fleet's model fares on a file of samples."""

    error: float  # root mean square, as measured
    samples: int  # samples for which all earlier values are known
    # The share inside the interval of the server's predictions; None: there is no interval.
    held: float | None


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
