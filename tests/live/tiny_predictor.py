"""Predictions written from docs/predictions.md alone: no NumPy and no paofed."""

import json
import math
from pathlib import Path
from typing import Any

from tests.live.tiny_columns import instant, is_of_time, lags, numbers

Json = dict[str, Any]


def load(path: Path) -> Json:
    model: Json = json.loads(path.read_text(encoding="utf-8"))
    assert model["format"] == 1
    return model


def seen(model: Json, reading: Json) -> list[float]:
    """The numbers x."""
    x: list[float] = []
    for column in model["columns"]:
        if is_of_time(column):
            values = [instant(reading["time"])]
        else:
            name = column["name"]
            values = [reading[f"{name}[n-{lag}]" if lag else name] for lag in lags(column)]
        x += numbers(column, values)
    return x


def mapped(model: Json, x: list[float]) -> list[float]:
    """The features z."""
    frequencies, phases, linear = (model[key] for key in ("frequencies", "phases", "linear"))
    waves = [
        math.cos(phase + sum(x[j] * frequencies[j][i] for j in range(len(x))))
        for i, phase in enumerate(phases)
    ]
    if linear is None:
        return [math.sqrt(2 / len(phases)) * wave for wave in waves]
    terms = [
        (2 * min(max(value, low), high) - low - high) / (high - low)
        for value, (low, high) in zip(x, linear, strict=True)
    ]
    size = math.sqrt(len(x) + 1)
    fourier = [math.sqrt(1 / len(phases)) * wave for wave in waves]
    return [*fourier, *(term / size for term in terms), 1 / size]


def predicted(model: Json, reading: Json) -> Json:
    z = mapped(model, seen(model, reading))
    y = sum(w * feature for w, feature in zip(model["weights"], z, strict=True))
    half = model["interval"]["half_width"]
    sides = {"value": y, "low": y - half, "high": y + half}
    return {name: measured(model["target"], side) for name, side in sides.items()}


def measured(target: Json, y: float) -> float:
    u = target.get("offset", 0.0) + target.get("scale", 1.0) * y
    return math.expm1(u) if target.get("logarithm") else u
