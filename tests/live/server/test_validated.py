"""What a file of samples says of a fleet's model."""

from pathlib import Path

import numpy as np
import pytest

from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.messages import Update, encode
from paofed.live.server.validation import validated
from tests.live.fleets import f32, records, server


def test_the_share_of_samples_inside_the_interval(tmp_path: Path) -> None:
    coordinator, path = server(), tmp_path / "measured.csv"
    for device in range(3):
        records(coordinator, device, encode(Update(3, 0, f32(1.0, -2.0), (), 112)))
    coordinator.close(1)
    model = FleetModel.of(coordinator)
    assert model.predictor.interval is not None
    half = 4.0 * model.predictor.interval.half_width  # the target's scale is 4
    predicted = float(model.predict(np.array([0.5, 1.5])))
    away = [0.0, 0.99 * half, -0.99 * half, 1.01 * half]
    path.write_text("\n".join(f"0.5,1.5,{predicted + size!r}" for size in away))
    found = validated(FleetModel.of(coordinator), path)
    assert (found.samples, found.held) == (4, 0.75)
    assert found.error == pytest.approx(np.sqrt(np.mean(np.square(away))))


def test_where_no_errors_were_reported_nothing_is_said_of_an_interval(tmp_path: Path) -> None:
    (tmp_path / "measured.csv").write_text("0.5,1.5,10.0\n")
    assert validated(FleetModel.of(server()), tmp_path / "measured.csv").held is None
