"""Which size of model, ridge and memory: those whose trials have foretold later samples best.

A trial is a fit without a group of devices. When one of these devices sends a newer copy, the
difference to the copy before is the sums of samples that the trial has not seen, from a device that
it has not seen either. The size, ridge and memory are used whose trials have missed the smallest
part of what the model misses with which the fleet began, their standard error added: what few
devices say well of a trial is no reason yet to leave a model that is known.
"""

import numpy as np

from paofed.algorithms.fed_ridge.pooling import GROUPS, total_without
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.sums import (
    COUNT,
    add_sums,
    features_of,
    fitted,
    is_possible,
    leave_first_out,
    missed,
    size_of,
)

# How much is held of what was known before the fleet began: how many samples a ridge towards the
# model with which it began is worth, and what a sample of the calibration period is worth.
RIDGES = (3.0, 100.0, 3.0, 30.0, 100.0, 1000.0, 3.0, 3.0, 3.0, 100.0)
PAST = (0.0, 0.0, 0.03, 0.1, 0.3, 1.0, 0.3, 1.0, 0.0, 0.0)
_AFRESH = 6  # from here on, fits leave the model out with which the fleet began
RECENT = 8  # from here on, fits are to sums that forget, towards that model again
_CUT = 16.0  # an error counts at most as so many usual ones, so that no device decides for all
# Of losses: what was missed, and the squares of the differences to what the first model missed.
TOTAL, DOUBT = range(2)


def judged(
    trials: FloatArray,
    losses: FloatArray,
    seen: float,
    usual: float,
    client: int,
    before: FloatArray,
    after: FloatArray,
) -> None:
    """Add what the trials miss of the samples between two copies of a device to `losses`, in place.

    `losses` (R + 1, 2) are those of one size: of each trial, and last of the first model. Trials
    that have seen more samples count for more: what is best changes as samples come. What is missed
    of a sample counts at most as a few `usual` squared errors. Copies between which no samples can
    lie are not judged.
    """
    features = trials.shape[2]
    news = after - before
    size = 1
    while size < features and np.any(trials[:, :, size]):
        size += 1
    if not is_possible(news, size, news[COUNT]):
        return
    first, most = np.ones(1), _CUT * usual * news[COUNT]
    by_first = seen * min(max(missed(news, first), 0.0), most)
    losses[len(trials), TOTAL] += by_first
    for r in range(len(trials)):
        errors = missed(news, trials[r, client % GROUPS, :size])
        by_trial = seen * min(max(errors, 0.0), most)
        losses[r, TOTAL] += by_trial
        losses[r, DOUBT] += (by_trial - by_first) ** 2


def foretold(losses: FloatArray, sizes: IntArray, known: FloatArray, news: FloatArray) -> None:
    """Add what fits to sums of the past miss of later samples to `losses`, in place."""
    seen, none = known[COUNT], np.zeros(known.size)
    for p in range(sizes.size):
        size = size_of(int(sizes[p]))
        for r in range(len(RIDGES)):
            fit = fit_of(r, 0.0, none[:size], known[:size])
            losses[p, r, TOTAL] += seen * missed(news, fit)
        losses[p, len(RIDGES), TOTAL] += seen * missed(news, np.ones(1))


def best(losses: FloatArray) -> tuple[int, int]:
    """Return the size and the ridge, by index, that have surely missed least; -1 as ridge for none.

    `losses` (P, R + 1, 2) are of all sizes.
    """
    found, least = (0, -1), 1.0
    for p in range(len(losses)):
        first = losses[p, -1, TOTAL]
        for r in range(losses.shape[1] - 1):
            surely = losses[p, r, TOTAL] + np.sqrt(losses[p, r, DOUBT])
            if first > 0.0 and surely < least * first:
                found, least = (p, r), surely / first
    return found


def fit_of(r: int, ridge: float, total: FloatArray, past: FloatArray) -> FloatArray:
    """Return the fit to a total and the calibration period's sums that holds as much as `r` says.

    `total` are the sums that forget where `r` is RECENT or above.

    A `ridge` above 0 takes the place of all.
    """
    prior = np.zeros(features_of(total.size))
    both = total.copy()
    add_sums(both, PAST[r], past)
    if _AFRESH <= r < RECENT:
        leave_first_out(both)
    else:
        prior[0] = 1.0
    return fitted(both, ridge if ridge > 0.0 else RIDGES[r], prior)


def tried(
    ridge: float, trials: FloatArray, totals: FloatArray, recent: FloatArray, past: FloatArray
) -> None:
    """Fit the trials of one size anew, in place.

    `totals` are the sums of the groups of devices, `recent` those that forget.
    """
    for group in range(GROUPS):
        all_time, late = total_without(group, totals), total_without(group, recent)
        for r in range(len(RIDGES)):
            fit = fit_of(r, ridge, late if r >= RECENT else all_time, past)
            trials[r, group, : fit.size] = fit
