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


def over_runs_db(values: FloatArray) -> tuple[Any, Any]:
    """Mean of linear errors over the first axis, and its standard error to first order, in dB."""
    mean, error = over_runs(values)
    with np.errstate(invalid="ignore"):  # where the mean is 0 or infinite it has no relative error
        return decibels(mean), NEPERS * error / mean


def final(values: FloatArray) -> Final:
    """Return the mean of linear errors, one per run, in dB; its standard error is first order."""
    db, error = over_runs_db(values)
    return Final(float(db), float(error))
