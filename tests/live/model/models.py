"""Models to predict with."""

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.columns.calendar import Calendar
from paofed.core.columns.categories import Compass, OneHot
from paofed.core.columns.numbers import Cyclic, Number
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.reported import NONE_REPORTED
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import Quantity
from paofed.live.protocol.seen import Seen
from tests.live.fleets import manifest

COLUMNS = (
    Number("a", 1.0, 2.0),
    Number("a", 0.5, 2.0, lag=1),
    Number("b", 0.0, 0.5, logarithm=True, diff=2),
    Number("y", 1.0, 1.5, lag=1),
    Cyclic("angle", 360.0),
    Compass("wind"),
    OneHot("kind", ("wet", "dry")),
    Calendar("time", "hour", "Europe/Oslo"),
)
MEASURED: dict[str, float | str] = {"a": 2.5, "b": 3.0, "angle": 45.0, "wind": "sw", "kind": "dry"}
BEFORE = {"a[n-1]": 1.5, "b[n-2]": 0.25, "y[n-1]": 2.0}
READING: dict[str, float | str] = {**MEASURED, **BEFORE, "time": 1_719_835_262.0}


def seeing() -> Manifest:
    """A fleet that sees columns of every kind, with linear terms; its target is a logarithm."""
    inputs = [Quantity(name=name) for name in ("a", "b", "angle", "wind", "kind")]
    inputs[0] = Quantity(name="a", low=-5.0, high=5.0)
    target = Number("y", 1.0, 0.5, logarithm=True)
    return manifest(
        features=24,
        inputs=tuple(inputs),
        target=Quantity(name="y", low=-0.9),
        seen=Seen(COLUMNS, target),
        linear=tuple((-1.0 - i, 1.0 + i / 2) for i in range(12)),
        tick_seconds=3600.0,
    )


def weights(features: int) -> FloatArray:
    found: FloatArray = np.sin(1.0 + np.arange(features)) / 2
    return found


def levels(*said: int) -> np.ndarray:
    found = NONE_REPORTED.copy()
    np.add.at(found, list(said), 1)
    return found


def plain_model() -> FleetModel:
    """Of two scaled numbers, a and b."""
    return FleetModel(manifest(), 7, weights(8), "greenhouse", levels(120, 120, 124))


def seeing_model() -> FleetModel:
    return FleetModel(seeing(), 9, weights(24), "air", levels(110, 115))
