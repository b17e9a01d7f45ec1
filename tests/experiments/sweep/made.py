"""Sweeps whose truth is known, without any run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from paofed.core.traffic import Traffic
from paofed.experiments.sweep.asked import described
from paofed.experiments.sweep.axes import Axis, Span, drawn, grid
from paofed.experiments.sweep.points import Point
from paofed.experiments.sweep.swept import Swept
from tests.natures import small_scenario

Truth = Callable[[Point], float]  # the error of a point in dB
STEPS: Mapping[str, Axis] = {"step_size": (0.1, 0.2, 0.4, 0.8), "shared": (1, 4, 16)}

_SCENARIO = small_scenario().model_dump(mode="json")


def bowl(point: Point) -> float:
    """The least error is at a step of 0.4 and 4 parameters; one method is better than others."""
    step, shared = point.values["step_size"], point.values["shared"]
    away = np.log2(step / 0.4) ** 2 + np.log2(shared / 4) ** 2
    return float(-8.0 + away - (point.method == "pao-fed-c2"))


def swept_of(
    truth: Truth,
    axes: Mapping[str, Axis] = STEPS,
    *,
    methods: Sequence[str] = ("pao-fed-u1", "pao-fed-c2"),
    conditions: Sequence[str] = (),
    worlds: int = 6,
    noise: float = 0.05,
    of_worlds: float = 2.0,
    seed: int = 0,
    **more: Any,
) -> Swept:
    """Points in common worlds, which differ by far more than the points within one do."""
    random = 20 if any(isinstance(axis, Span) for axis in axes.values()) else None
    rows = grid(axes) if random is None else drawn(axes, random, seed)
    points = [Point(method, row) for row in rows for method in methods]
    rng = np.random.default_rng(seed)
    common = rng.normal(scale=of_worlds, size=worlds)
    own = rng.normal(scale=noise, size=(len(points), worlds))
    db = np.array([[truth(point)] for point in points]) + common + own
    contacts = np.full(worlds, 100)
    traffic = [
        np.stack(Traffic.of_floats(contacts, *[point.values.get("shared", 8)] * 2), axis=-1)
        for point in points
    ]
    provenance = {
        "scenario": _SCENARIO,
        "methods": list(methods),
        "axes": described(axes),
        "conditions": list(conditions),
        "points": [
            {"method": p.method, "values": dict(p.values), "algorithm": str(p)} for p in points
        ],
        "random": random,
        "seed": seed,
        "runs_requested": worlds,
        "fresh_requested": 0,
        "engine": "fast",
        "precision": "float32",
        "refused": {},
        "versions": {"paofed": "0"},
    }
    return Swept(
        provenance=provenance,
        **{
            "finished": np.ones((len(points), worlds), dtype=bool),
            "finals": np.stack([np.full(db.shape, np.nan), 10 ** (db / 10)], axis=-1),
            "traffic": np.array(traffic),
            **more,
        },
    )
