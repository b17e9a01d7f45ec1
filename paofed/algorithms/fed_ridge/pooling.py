"""Adds up the sums of devices, so that no device can ruin the total.

A device counts at most as so many samples as ten usual devices. Devices that no fit to the others
explains are set aside; if these were more than a third, the fleet's devices differ by nature, and
nobody is set aside.
"""

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.sums import COUNT, add_sums, fitted, missed

GROUPS = 4  # groups of devices: what is chosen is judged on a group left out
_MOST = 10.0  # usual devices as which one device counts at most
_FAR = 16.0  # a mean square error beyond so many usual ones is not explained
_SINGLE = 16  # so many devices' own fits are tried as the fit that most agree with
_WORTH = 10.0  # samples that the ridge of these fits is worth
_ROUNDS = 3


def pooled(known: FloatArray, aside: BoolArray) -> FloatArray:
    """Return the totals (GROUPS, S) of the devices' sums (K, S), but of those set aside."""
    counts = known[:, COUNT]
    there = counts[counts > 0.0]
    totals = np.zeros((GROUPS, known.shape[1]))
    if there.size > 0:
        most = _MOST * np.median(there)
        for k in range(len(known)):
            if counts[k] > 0.0 and not aside[k]:
                add_sums(totals[k % GROUPS], min(1.0, most / counts[k]), known[k])
    return totals


def total_without(group: int, totals: FloatArray) -> FloatArray:
    """Return the total of all groups but one; -1 leaves out none."""
    total = np.zeros(totals.shape[1])
    for g in range(len(totals)):
        if g != group:
            add_sums(total, 1.0, totals[g])
    return total


def set_aside(known: FloatArray, model: FloatArray) -> BoolArray:
    """Return which devices no fit to the others explains, by their sums (K, S) of a small model.

    The search begins with the fit of which the usual device's error is least: the shared `model`, a
    device's own fit, or the fit to all.
    """
    nobody = np.zeros(len(known), dtype=np.bool_)
    who = np.flatnonzero(known[:, COUNT] > 0.0)
    if who.size < 3:
        return nobody
    prior = np.zeros(model.size)
    prior[0] = 1.0
    errors = _errors(known, who, model)
    step = max(1, who.size // _SINGLE)
    for i in range(0, who.size, step):
        found = _errors(known, who, fitted(known[who[i]], _WORTH, prior))
        if np.median(found) < np.median(errors):
            errors = found
    aside = nobody
    for _ in range(_ROUNDS):
        aside, far = nobody.copy(), _FAR * np.median(errors)
        for i in range(who.size):
            aside[who[i]] = errors[i] > far
        total = total_without(-1, pooled(known, aside))
        errors = _errors(known, who, fitted(total, _WORTH, prior))
    return nobody if 3 * np.sum(aside) > who.size else aside


def usual_error(known: FloatArray, model: FloatArray) -> float:
    """Return the mean square error of a model on the usual device that was heard, or 0."""
    who = np.flatnonzero(known[:, COUNT] > 0.0)
    return float(np.median(_errors(known, who, model))) if who.size > 0 else 0.0


def _errors(known: FloatArray, who: IntArray, model: FloatArray) -> FloatArray:
    """Return the mean square error of a model on each device of `who`."""
    errors = np.empty(who.size)
    for i in range(who.size):
        errors[i] = max(missed(known[who[i]], model), 0.0) / known[who[i], COUNT]
    return errors
