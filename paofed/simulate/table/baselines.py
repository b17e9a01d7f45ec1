"""What learning together is held against: simple predictors over the same readings.

Each baseline predicts every sample before it learns from it, as the federated learners do, and
knows nothing but what was there before that tick. An error is the truth less the prediction.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray, IntArray, ranks, runs
from paofed.core.features import FourierMap
from paofed.core.ridge import Basis, Ridge
from paofed.errors import InputError, unknown
from paofed.simulate.stopping import Report, ignored
from paofed.simulate.table.regressors import Boost, Fixed, Forgetting, boosting

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings

BASELINES: Mapping[str, str] = {
    "last value": "what the device measured last (persistence)",
    "alone": "each device for itself: the same steps, never a contact",
    "rls": "each device for itself: a linear function, by recursive least squares that forget",
    "start": "the same features, fitted to the calibration period; never learns, nor has a contact",
    "start alone": "each device for itself, beginning with the fit of the calibration period",
    "central": "one learner that has every sample of the fleet at once, without loss or delay",
    "batch fourier": "the same features, fitted to all the past again and again by least squares",
    "batch linear": "a linear function of the inputs, fitted to all the past again and again",
    "boost": "gradient boosting of trees over the inputs, refitted as the past grows",
}
ON_REQUEST = ("boost",)  # not by default: boost needs a large package, and time
# The baselines that need the map.
MAPPED = ("alone", "start", "start alone", "central", "batch fourier")
# The baselines whose devices have no contact.
ALONE = ("last value", "alone", "rls", "start", "start alone")
# The baselines that need all readings in one place.
AT_ONE_PLACE = ("central", "batch fourier", "batch linear", "boost")
# The baselines that are fitted to the calibration period first.
BEGIN_FITTED = ("start", "start alone", "batch fourier", "batch linear", "boost")
USUAL = tuple(name for name in BASELINES if name not in ON_REQUEST)
_TOGETHER = 64  # how many samples of the central learner are computed at once
_MOST = 1 << 22  # the most features in memory at a time


class SampleBatch(NamedTuple):
    """All m samples of some ticks, in their order."""

    z: FloatArray  # (m, D): features
    y: FloatArray  # (m,)
    tick: IntArray  # (m,)
    device: IntArray  # (m,)


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
        raise InputError(f"baselines is {names!r}: expected names of some, or none by itself")
    for name in asked:
        if name not in BASELINES:
            raise InputError(unknown("baseline", name, BASELINES))
    if "boost" in asked:
        boosting()  # raises now, not after the long work, if its package is missing
    return tuple(name for name in BASELINES if name in asked)


# A step size that is too large overflows; the errors then say so.
@np.errstate(over="ignore", invalid="ignore")
def baselines(
    readings: "Readings",
    fourier_map: FourierMap,
    step_size: float,
    refits: Sequence[int],
    report: Report = ignored,
    names: Sequence[str] = USUAL,
) -> dict[str, FloatArray]:
    """Return the errors (M,) of the baselines `names`.

    Batch fits are renewed at the ticks `refits`.
    """
    makers = _makers(readings, fourier_map, step_size)
    bases: dict[str, Basis] = {
        "fourier": fourier_map,
        "linear": with_constant,
        "inputs": np.asarray,
    }
    predictors = {name: (makers[name][0], makers[name][1]()) for name in names if name in makers}
    needed = {basis for basis, _ in predictors.values()}
    errors = {name: np.empty(readings.y.shape) for name in names}
    for begin, end in pairwise(_cuts(refits, readings.tick, max(1, _MOST // fourier_map.features))):
        now = slice(begin, end)
        seen = readings.y[now], readings.tick[now], readings.device[now]
        parts = {name: SampleBatch(bases[name](readings.x[now]), *seen) for name in needed}
        for name, (basis, predictor) in predictors.items():
            errors[name][now] = predictor.follow(parts[basis])
        report((end - begin) / len(readings.y))
    if "last value" in errors:
        errors["last value"] = repeated(readings)
    return errors


def _makers(
    readings: "Readings", fourier_map: FourierMap, step_size: float
) -> dict[str, tuple[str, Callable[[], Predictor]]]:
    """Return the basis and the maker of each baseline but the last value."""
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
    }


def repeated(readings: "Readings") -> FloatArray:
    """Return the errors of predicting the last known target, or 0 (the past's mean) without one."""
    errors: FloatArray = readings.y - np.nan_to_num(readings.previous)
    return errors


class Alone:
    """Every device learns from its own samples only."""

    def __init__(self, devices: int, start: FloatArray, step_size: float) -> None:
        self.models = np.tile(start, (devices, 1))
        self._step_size = step_size

    def follow(self, part: SampleBatch) -> FloatArray:
        """Take one LMS step for every sample: the first of all devices, then the second, ..."""
        rank = ranks(part.device)
        order = np.argsort(rank, kind="stable")
        z, y, device = (a[order] for a in (part.z, part.y, part.device))
        e, errors = np.empty(y.shape), np.empty(y.shape)
        for now in runs(rank[order]):
            k = device[now]
            e[now] = y[now] - np.einsum("kd,kd->k", self.models[k], z[now])
            self.models[k] += (self._step_size * e[now])[:, None] * z[now]
        errors[order] = e
        return errors


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
            z, y = part.z[now], part.y[now]
            errors[now] = y - z @ self.model
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
        self._past.add(part.z, part.y)
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
