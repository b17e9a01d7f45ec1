"""Results over a table made by hand: the errors of every learner by stage of a life."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paofed.algorithms import algorithm
from paofed.core.traffic import Traffic
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import Progressive
from paofed.simulate.results.table_result import TableResult

DEVICES, DAYS, FEATURES = 12, 10, 20
# What a result says of an algorithm, whatever it is called.
DESCRIBED = algorithm("pao-fed-u1").describe()
_SPREAD = np.random.default_rng(3).gamma(9.0, 1 / 9, size=(DEVICES, 1))  # devices differ
_WIGGLE = np.random.default_rng(4).normal(size=(DEVICES, 1))  # in what they gain, too
_WIGGLE -= (_SPREAD * _WIGGLE).sum() / _SPREAD.sum()


def result(
    methods: Mapping[str, Sequence[float]],
    beside: Mapping[str, Sequence[float]],
    *,
    devices: int = DEVICES,
    doubt: float = 0.0,
    messages: Mapping[str, int] | None = None,
    table: Mapping[str, Any] | None = None,
    own: Mapping[str, float] | None = None,
    with_labels: Sequence[bool] | None = None,
    **scenario: Any,
) -> TableResult:
    """Errors in dB by stage, of each method's devices and of baselines; one sample in a cell.

    `doubt` is how far devices differ in the gain of the methods. A message has 4 numbers; each
    method sends so many of them in one direction, or 100. In the unit of the target, y, squared
    errors are the same, times a number in `own`. Some devices may have no labels.
    """
    names, stages = list(methods), len(next(iter(methods.values())))
    models = [(name, whose) for name in names for whose in ("device", "server")]
    errors = [_errors(methods[name], devices, doubt) for name, _ in models]
    errors += [_errors(stage_db, devices, 0.0) for stage_db in beside.values()]
    learners = np.array([*models, *((name, "baseline") for name in beside)])
    squared = np.array(errors)  # (L, K, B)
    times = np.array([(own or {}).get(name, 1.0) for name, _ in learners.tolist()])
    in_unit = squared * times[:, None, None]
    sent = [(messages or {}).get(name, 100) for name in names]
    return TableResult(
        provenance={
            "scenario": {"name": "by hand", "ticks": 24 * DAYS, "clients": devices,
                         "features": FEATURES, "step_size": 0.4, "start": "calibration",
                         "linear": True, "personal": False, "newcomers": "whole",
                         "stream": {"target": "y:log1p"}, **scenario},
            "algorithms": [{**DESCRIBED, "name": name} for name in names],
            "table": {"calendar": True, "tick": 3600.0, **(table or {})},
        },
        ticks=np.array([24 * DAYS - 1]),
        mse=np.zeros((1, len(names), 1)),
        traffic=np.array([[np.array(Traffic.of_floats(n, 4, 4))[:, None] for n in sent]]),
        models=np.zeros((1, len(names), FEATURES)),
        progressive=Progressive(
            learners=learners,
            devices=np.array([f"d{k}" for k in range(devices)]),
            errors=squared.sum(axis=(1, 2))[None, :, None],
            samples=np.array([devices * stages]),
            device_errors=squared.sum(axis=2)[None],
            device_samples=np.full(devices, stages),
            with_labels=None if with_labels is None else np.array([with_labels]),
        ),
        lives=Lives(
            learners=learners,
            device=np.repeat(np.arange(devices), stages),
            stage=np.tile(np.arange(stages), devices),
            samples=np.ones(devices * stages, dtype=np.int64),
            group=np.array(["all"] * devices),
            target=np.stack([np.zeros(devices * stages), np.full(devices * stages, 10.0)]),
            sums=np.stack([part.reshape(len(learners), -1)
                           for part in (squared, *[in_unit] * 4)], axis=1)[None],
        ),
    )  # fmt: skip


def _errors(stage_db: Sequence[float], devices: int, doubt: float) -> Any:
    """Squared errors (K, B)."""
    linear = 10 ** (np.array(stage_db) / 10)
    return linear * _SPREAD[:devices] * (1 + doubt * _WIGGLE[:devices])
