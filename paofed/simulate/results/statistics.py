"""Errors of several runs as one number in dB, with its standard error."""

from typing import Any, NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels

NEPERS = 10.0 / np.log(10.0)  # d(dB) / d(log mse): turns a relative error into dB


class Final(NamedTuple):
    """An error in dB, with the standard error of its mean over runs."""

    db: float
    standard_error: float  # NaN for a single run


def over_runs(values: FloatArray) -> tuple[Any, Any]:
    """Return the mean over the first axis and its standard error."""
    runs = len(values)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = values.mean(axis=0)
        spread = values.std(axis=0, ddof=1) if runs > 1 else np.full_like(mean, np.nan)
    return mean, spread / np.sqrt(runs)


def final(values: FloatArray) -> Final:
    """Return the mean of linear errors, one per run, in dB; its standard error is first order."""
    mean, error = over_runs(values)
    with np.errstate(invalid="ignore"):
        return Final(float(decibels(mean)), float(NEPERS * error / mean))
