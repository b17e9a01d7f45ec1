"""Whom to believe: weights of forecasters, by AdaHedge over what each of them has missed.

AdaHedge (de Rooij, van Erven, Grunwald and Koolen, 2014) needs no rate and no bound on losses: over
any sequence, the weighted losses exceed those of the best forecaster by little, whatever happens. A
loss is a squared error in units of the usual one of whoever was best, and cut, so that a forecaster
that blows up loses its weight and does no other harm.
"""

import numpy as np

from paofed.core.arrays import FloatArray

_CUT = 16.0  # a loss is at most as large as so many usual ones
SCORED, _USUAL, _GAP, _FIRST = range(4)  # how often, least errors summed, mixability gap, losses
_TINY = 1e-300


def begin(forecasters: int) -> FloatArray:
    """Return the record of so many forecasters that were never scored."""
    return np.zeros(_FIRST + forecasters)


def scored(record: FloatArray, squares: FloatArray) -> FloatArray:
    """Return the record after forecasts whose squared errors are known."""
    record = record.copy()
    least = np.inf
    for i in range(squares.size):
        least = min(least, squares[i])
    if not least < np.inf:
        return record
    record[SCORED] += 1.0
    record[_USUAL] += least
    usual = record[_USUAL] / record[SCORED] + _TINY
    weights = weights_of(record)
    mean, losses = 0.0, np.empty(squares.size)
    for i in range(squares.size):
        # NaN, too, is cut
        losses[i] = squares[i] / usual if squares[i] < _CUT * usual else _CUT
        mean += weights[i] * losses[i]
    record[_GAP] += max(mean - _mixed(weights, losses, _rate(record, losses.size)), 0.0)
    for i in range(losses.size):
        record[_FIRST + i] += losses[i]
    return record


def weights_of(record: FloatArray) -> FloatArray:
    """Return the weights, which add up to 1; before any forecast was scored they are equal."""
    losses = record[_FIRST:]
    rate, least = _rate(record, losses.size), losses.min()
    weights, total = np.empty(losses.size), 0.0
    for i in range(losses.size):
        ahead = losses[i] - least
        weights[i] = np.exp(-rate * ahead) if ahead > 0.0 else 1.0
        total += weights[i]
    for i in range(losses.size):
        weights[i] /= total
    return weights


def _rate(record: FloatArray, forecasters: int) -> float:
    """Return the rate of learning, infinite while all forecasters have lost the same."""
    return float(np.log(forecasters) / record[_GAP]) if record[_GAP] > 0.0 else np.inf


def _mixed(weights: FloatArray, losses: FloatArray, rate: float) -> float:
    """Return -log(sum of weights exp(-rate losses)) / rate; the least loss for an infinite rate."""
    least = np.inf
    for i in range(losses.size):
        if weights[i] > 0.0:
            least = min(least, losses[i])
    if rate == np.inf:
        return least
    total = 0.0
    for i in range(losses.size):
        if weights[i] > 0.0:
            total += weights[i] * np.exp(-rate * (losses[i] - least))
    return float(least - np.log(total) / rate)
