"""What learning together is held against: simple predictors over the same readings.

Each baseline predicts every sample before it learns from it, as the federated learners do, and
knows nothing but what was there before that tick. An error is the truth less the prediction.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray, IntArray, ranks, runs
from paofed.core.due import Due, SampleLabels, due_of
from paofed.core.features import FourierMap
from paofed.core.ridge import Basis, Ridge
from paofed.errors import InputError, unknown
from paofed.simulate.stopping import Report, ignored
from paofed.simulate.table.regressors import (
    Boost,
    Fixed,
    Forest,
    Forgetting,
    adaptive_forest,
    boosting,
    mondrian,
)

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings

BASELINES: Mapping[str, str] = {
    "last value": "what the device measured last (persistence)",
    "seasonal naive": "what the device measured at the same time of day, a day ago",
    "alone": "each device for itself: the same steps, never a contact",
    "rls": "each device for itself: a linear function, by recursive least squares that forget",
    "start": "the same features, fitted to the calibration period; never learns, nor has a contact",
    "start alone": "each device for itself, beginning with the fit of the calibration period",
    "central": "one learner that has every sample of the fleet at once, without loss or delay",
    "batch fourier": "the same features, fitted to all the past again and again by least squares",
    "batch linear": "a linear function of the inputs, fitted to all the past again and again",
    "boost": "gradient boosting of trees over the inputs, refitted as the past grows",
    "mondrian": "an aggregated Mondrian forest over the inputs, sample by sample",
    "adaptive forest": "an adaptive random forest over the inputs, sample by sample",
}
# The baselines that need a package of an extra, and what needs it.
_PACKAGED: Mapping[str, Callable[[], object]] = {
    "boost": boosting,
    "mondrian": mondrian,
    "adaptive forest": adaptive_forest,
}
# How long these take, beside one of the usual baselines.
_WORK: Mapping[str, float] = {"boost": 15.0, "mondrian": 200.0, "adaptive forest": 400.0}
# Not by default: what needs more packages, or a table with times of a calendar.
ON_REQUEST = ("seasonal naive", *_PACKAGED)
# The baselines that need the map.
MAPPED = ("alone", "start", "start alone", "central", "batch fourier")
# The baselines whose devices have no contact.
ALONE = ("last value", "seasonal naive", "alone", "rls", "start", "start alone")
# The baselines that need all readings in one place.
AT_ONE_PLACE = ("central", "batch fourier", "batch linear", *_PACKAGED)
# The ways of being alone that learn nothing: all that a device without labels can do.
UNTAUGHT = ("last value", "seasonal naive", "start")
# What all readings know together, by the better of two fits.
POOLED = ("batch fourier", "batch linear")
# The baselines that are fitted to the calibration period first.
BEGIN_FITTED = ("start", "start alone", "batch fourier", "batch linear", *_PACKAGED)
USUAL = tuple(name for name in BASELINES if name not in ON_REQUEST)
_TOGETHER = 64  # how many samples of the central learner are computed at once
_MOST = 1 << 22  # the most features in memory at a time


class Learned(NamedTuple):
    """The labelled samples, perhaps earlier ones, from which some samples' devices learn."""

    due: Due  # at which of the samples which of the following are learned
    z: FloatArray  # (E, D)
    y: FloatArray  # (E,)


class SampleBatch(NamedTuple):
    """All m samples of some ticks, in their order."""

    z: FloatArray  # (m, D): features
    y: FloatArray  # (m,)
    tick: IntArray  # (m,)
    device: IntArray  # (m,)
    learned: Learned | None = None  # None: each sample is learned at once

    def known(self, now: slice) -> tuple[FloatArray, FloatArray]:
        """Return features and targets of all that is learned at some samples in a row."""
        if self.learned is None:
            return self.z[now], self.y[now]
        begin, end = self.learned.due.begin[[now.start, now.stop]].tolist()
        return self.learned.z[begin:end], self.learned.y[begin:end]

    @property
    def all_known(self) -> tuple[FloatArray, FloatArray]:
        """Features and targets of all that is learned at these samples."""
        return self.known(slice(0, self.y.size))

    def late(self, some: IntArray) -> "Iterator[Late]":
        """Yield what is learned first at some samples, then what is second, and so on.

        The samples are of different devices. Nothing comes where each sample is learned at once.
        """
        if self.learned is not None:
            _, z, y = self.learned
            for which, label in self.learned.due.turns(some):
                yield Late(self.device[some[which]], z[label], y[label])


class Late(NamedTuple):
    """Labelled samples that some devices learn, each of them one."""

    device: IntArray
    z: FloatArray
    y: FloatArray


class Predictor(Protocol):
    """A baseline: predicts and learns, some ticks at a time."""

    def follow(self, part: SampleBatch) -> FloatArray:
        """Predict each sample, then learn from it; return the errors of the predictions, (m,)."""
        ...


def chosen(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the baselines by name: the usual ones for None, those named, or for "none" no one.

    >>> chosen("alone,last-value"), chosen("none")
    (('last value', 'alone'), ())
    """
    if names is None:
        return USUAL
    given = names.split(",") if isinstance(names, str) else names
    asked = [name.strip().replace("-", " ") for name in given]
    if asked == ["none"]:
        return ()
    if "none" in asked:
        raise InputError(
            f"baselines is {names!r}: expected names of some, or none by itself", key="baselines"
        )
    for name in asked:
        if name not in BASELINES:
            raise InputError(unknown("baseline", name, BASELINES), key="baselines")
    for name in asked:
        if name in _PACKAGED:
            _PACKAGED[name]()  # raises now, not after the long work, if its package is missing
    return tuple(name for name in BASELINES if name in asked)


def work_of(names: Sequence[str]) -> float:
    """Say how long baselines take, beside one of the usual ones: for honest progress."""
    return sum(_WORK.get(name, 1.0) for name in names)


# A step size that is too large overflows; the errors then say so.
@np.errstate(over="ignore", invalid="ignore")
def baselines(
    readings: "Readings",
    fourier_map: FourierMap,
    step_size: float,
    refits: Sequence[int],
    report: Report = ignored,
    names: Sequence[str] = USUAL,
    labels: SampleLabels | None = None,
) -> dict[str, FloatArray]:
    """Return the errors (M,) of the baselines `names`.

    Batch fits are renewed at the ticks `refits`. All learn from the same `labels` when they come
    (None: every sample has its label at once); those at one place hear of a label when the device
    learns from it.
    """
    makers = _makers(readings, fourier_map, step_size, report)
    bases: dict[str, Basis] = {
        "fourier": fourier_map,
        "linear": with_constant,
        "inputs": np.asarray,
    }
    predictors = {name: (makers[name][0], makers[name][1]()) for name in names if name in makers}
    needed = {basis for basis, _ in predictors.values()}
    errors = {name: np.empty(readings.y.shape) for name in names}
    late = None if labels is None else due_of(readings.tick, readings.device, labels)
    for begin, end in pairwise(_cuts(refits, readings.tick, max(1, _MOST // fourier_map.features))):
        now = slice(begin, end)
        seen = readings.y[now], readings.tick[now], readings.device[now]
        due = None if late is None else late.within(begin, end)
        parts = {}
        for name in needed:
            part = SampleBatch(bases[name](readings.x[now]), *seen)
            if due is not None:
                known = bases[name](readings.x[due.sample]), readings.y[due.sample]
                part = part._replace(learned=Learned(due, *known))
            parts[name] = part
        for name, (basis, predictor) in predictors.items():
            errors[name][now] = predictor.follow(parts[basis])
        report((end - begin) / len(readings.y))
    for name, predicted in (("last value", repeated), ("seasonal naive", a_day_ago)):
        if name in errors:
            errors[name] = predicted(readings, labels)
    return errors


def _makers(
    readings: "Readings", fourier_map: FourierMap, step_size: float, report: Report
) -> dict[str, tuple[str, Callable[[], Predictor]]]:
    """Return the basis and the maker of each baseline that is more than an earlier value."""
    past, devices = (readings.x_past, readings.y_past), len(readings.devices)
    zeros = np.zeros(fourier_map.features)
    start = cache(lambda: Batch(fourier_map, *past).model)
    return {
        "alone": ("fourier", lambda: Alone(devices, zeros, step_size)),
        "rls": ("linear", lambda: Forgetting(devices, readings.inputs + 1)),
        "start": ("fourier", lambda: Fixed(start())),
        "start alone": ("fourier", lambda: Alone(devices, start(), step_size)),
        "central": ("fourier", lambda: Central(zeros.size, step_size)),
        "batch fourier": ("fourier", lambda: Batch(fourier_map, *past)),
        "batch linear": ("linear", lambda: Batch(with_constant, *past)),
        "boost": ("inputs", lambda: Boost(boosting, *past)),
        "mondrian": ("inputs", lambda: Forest(mondrian(), *past, report)),
        "adaptive forest": ("inputs", lambda: Forest(adaptive_forest(), *past, report)),
    }


def repeated(readings: "Readings", labels: SampleLabels | None = None) -> FloatArray:
    """Return the errors of predicting the last known target, or 0 (the past's mean) without one.

    With `labels`, that is the newest label that the device has learned from, or its last target of
    the calibration period.
    """
    known = readings.previous
    if labels is not None:
        newest = _newest(readings, labels, np.zeros_like(readings.tick))
        known = np.where(newest < 0, readings.last_past[readings.device], readings.y[newest])
    errors: FloatArray = readings.y - np.nan_to_num(known)
    return errors


def a_day_ago(readings: "Readings", labels: SampleLabels | None = None) -> FloatArray:
    """Return the errors of predicting the newest known label of the same time of day.

    Where a device knows none yet, its last known target is predicted.
    """
    newest = _newest(readings, labels, readings.timeline.of_day(readings.tick))
    return np.where(newest < 0, repeated(readings, labels), readings.y - readings.y[newest])


def _newest(readings: "Readings", labels: SampleLabels | None, kind: IntArray) -> IntArray:
    """Return by index, for each sample, the newest known one of its device and its kind, or -1.

    A sample is known to its device from when the device has learned from its label on.
    """
    due, count = due_of(readings.tick, readings.device, labels), readings.tick.size
    # Samples of one device and kind have one number; both orders below go by it first.
    own = np.unique(readings.device * (kind.max() + 1) + kind, return_inverse=True)[1] * count
    learned_at = own[due.sample] + np.repeat(np.arange(count), np.diff(due.begin))
    order = np.argsort(learned_at, kind="stable")
    newest = np.maximum.accumulate(np.append(-1, (own[due.sample] + due.sample)[order]))
    found = newest[np.searchsorted(learned_at[order], own + np.arange(count))]
    return np.where(found < own, -1, found - own)


class Alone:
    """Every device learns from its own samples only."""

    def __init__(self, devices: int, start: FloatArray, step_size: float) -> None:
        self.models = np.tile(start, (devices, 1))
        self._step_size = step_size

    def follow(self, part: SampleBatch) -> FloatArray:
        """Take one LMS step for every sample: the first of all devices, then the second, ..."""
        rank = ranks(part.device)
        order = np.argsort(rank, kind="stable")
        z, y, device = part.z[order], part.y[order], part.device[order]
        e, errors = np.empty(y.shape), np.empty(y.shape)
        for now in runs(rank[order]):
            k = device[now]
            e[now] = self._errors(k, z[now], y[now])
            if part.learned is None:
                self._step(k, z[now], e[now])
            for one in part.late(order[now]):
                self._step(one.device, one.z, self._errors(*one))
        errors[order] = e
        return errors

    def _errors(self, k: IntArray, z: FloatArray, y: FloatArray) -> FloatArray:
        found: FloatArray = y - np.einsum("kd,kd->k", self.models[k], z)
        return found

    def _step(self, k: IntArray, z: FloatArray, e: FloatArray) -> None:
        self.models[k] += (self._step_size * e)[:, None] * z


class Central:
    """One model learns from all samples, device after device.

    The samples of a tick are predicted by the model from before that tick.
    """

    def __init__(self, features: int, step_size: float) -> None:
        self.model = np.zeros(features)
        self._step_size = step_size

    def follow(self, part: SampleBatch) -> FloatArray:
        """Take one LMS step for every sample."""
        errors = np.empty(part.y.shape)
        for now in runs(part.tick):
            errors[now] = part.y[now] - part.z[now] @ self.model
            z, y = part.known(now)
            for begin in range(0, len(y), _TOGETHER):
                self._learn(z[begin : begin + _TOGETHER], y[begin : begin + _TOGETHER])
        return errors

    def _learn(self, z: FloatArray, y: FloatArray) -> None:
        """Take one LMS step for each sample in order, computed all at once.

        A step adds mu e z to the model, so it takes mu e z.z' from the error of a later sample z'.
        """
        e: NDArray[Any] = y - z @ self.model
        if len(z) > 1:  # a single sample, as at most ticks of a sparse table, has none before it
            e = np.linalg.solve(np.eye(len(z)) + np.tril(self._step_size * z @ z.T, k=-1), e)
        self.model += self._step_size * e @ z


class Batch:
    """Least squares over all the past, the calibration period included."""

    def __init__(self, basis: Basis, x: FloatArray, y: FloatArray) -> None:
        self._past = Ridge.over(basis, x, y)

    @property
    def model(self) -> FloatArray:
        """The least-squares fit to all the past."""
        return self._past.model

    def follow(self, part: SampleBatch) -> FloatArray:
        """Fit anew, predict the samples of all these ticks, then add them to the past."""
        errors: FloatArray = part.y - part.z @ self.model
        self._past.add(*part.all_known)
        return errors


def with_constant(x: FloatArray) -> FloatArray:
    """Return the basis of a linear fit: the inputs and a constant."""
    return np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)


def _cuts(refits: Sequence[int], tick: IntArray, most: int) -> list[int]:
    """Return at which samples, by index, fits are renewed, or a part would be too large.

    Parts consist of whole ticks, so that one may be larger still; none is empty.
    """
    at_ticks = np.searchsorted(tick, [*refits, *tick[::most].tolist()])
    return sorted({0, *at_ticks.tolist(), tick.size})
