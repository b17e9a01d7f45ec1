"""What learning together is held against: simple predictors over the same readings.

Each predicts every sample before it learns from it, as the federated learners do, and knows nothing
but what was there before that tick. Errors are squared, (N, K), and NaN where there is no sample.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import BoolArray, FloatArray
from paofed.core.features import FourierMap
from paofed.simulate.stopping import Report, ignored

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings

BASELINES: Mapping[str, str] = {
    "last value": "what the device measured last (persistence)",
    "alone": "each device for itself: the same steps, never a contact",
    "central": "one learner that has every sample of the fleet at once, without loss or delay",
    "batch fourier": "the same features, fitted to all the past again and again by least squares",
    "batch linear": "a linear function of the inputs, likewise",
}
_RIDGES = 10.0 ** np.arange(1, -7, -1)  # of each column's square; of equals the first is taken
_GROWTH = 1.1  # how much larger the past must be before ridges are compared anew
_PARTS = 10  # of the calibration period: each is predicted from those before it
_TOGETHER = 64  # samples of the central learner that are worked out at once
_MOST = 1 << 22  # features held at a time


Basis = FourierMap | Callable[[FloatArray], FloatArray]


class Predictor(Protocol):
    """Predicts and learns, some ticks at a time."""

    def follow(self, z: FloatArray, y: FloatArray, there: BoolArray) -> FloatArray:
        """Return the error of each prediction: z (n, K, D), y and there (n, K) -> (n, K)."""
        ...


# A step size that is too large overflows; the errors then say so.
@np.errstate(over="ignore", invalid="ignore")
def baselines(
    readings: "Readings",
    fourier_map: FourierMap,
    step_size: float,
    refits: Sequence[int],
    report: Report = ignored,
) -> dict[str, FloatArray]:
    """The squared errors of all of them; batch fits are renewed at the ticks `refits`."""
    past = readings.x_past, readings.y_past
    mapped: dict[str, Predictor] = {
        "alone": Alone(readings.y.shape[1], fourier_map.phases.size, step_size),
        "central": Central(fourier_map.phases.size, step_size),
        "batch fourier": Batch(fourier_map, *past),
    }
    plain: dict[str, Predictor] = {"batch linear": Batch(with_constant, *past)}
    errors = {name: np.zeros(readings.y.shape) for name in (*mapped, *plain)}
    for begin, end in _spans(
        refits, len(readings.y), readings.y.shape[1] * fourier_map.phases.size
    ):
        x, there = readings.x[begin:end], readings.has_data[begin:end]
        y = np.where(there, readings.y[begin:end], 0.0)
        for predictors, z in ((mapped, fourier_map(x)), (plain, with_constant(x))):
            for name, predictor in predictors.items():
                errors[name][begin:end] = predictor.follow(z, y, there)
        report((end - begin) / len(readings.y))
    errors["last value"] = readings.y - last_value(readings.y, readings.y_before)
    return {name: np.where(readings.has_data, errors[name] ** 2, np.nan) for name in BASELINES}


def last_value(y: FloatArray, before: FloatArray) -> FloatArray:
    """What was known last before each tick of y (N, K); at first that is `before`, (K,).

    0, the mean of the past, where nothing was.
    """
    known = np.vstack([np.nan_to_num(before), y[:-1]])
    tick = np.arange(len(known))[:, None]
    latest = np.maximum.accumulate(np.where(np.isnan(known), 0, tick), axis=0)
    return np.take_along_axis(known, latest, axis=0)


class Alone:
    """Every device learns from its own samples only."""

    def __init__(self, devices: int, features: int, step_size: float) -> None:
        self.models = np.zeros((devices, features))
        self._step_size = step_size

    def follow(self, z: FloatArray, y: FloatArray, there: BoolArray) -> FloatArray:
        """One LMS step of every device with a sample, tick by tick."""
        errors = np.zeros(y.shape)
        for n in np.flatnonzero(there.any(axis=1)):
            e = np.where(there[n], y[n] - np.einsum("kd,kd->k", self.models, z[n]), 0.0)
            self.models += (self._step_size * e)[:, None] * z[n]
            errors[n] = e
        return errors


class Central:
    """One model learns from all samples, device after device; a tick's are predicted before it."""

    def __init__(self, features: int, step_size: float) -> None:
        self.model = np.zeros(features)
        self._step_size = step_size

    def follow(self, z: FloatArray, y: FloatArray, there: BoolArray) -> FloatArray:
        """One LMS step for every sample."""
        errors = np.zeros(y.shape)
        for n in np.flatnonzero(there.any(axis=1)):
            errors[n] = y[n] - z[n] @ self.model
            seen, targets = z[n, there[n]], y[n, there[n]]
            for begin in range(0, len(seen), _TOGETHER):
                self._learn(seen[begin : begin + _TOGETHER], targets[begin : begin + _TOGETHER])
        return errors

    def _learn(self, z: FloatArray, y: FloatArray) -> None:
        """Take one step after the other, all at once.

        A step adds mu e z to the model, so it takes mu e z.z' from the errors after it.
        """
        before = np.eye(len(z)) + np.tril(self._step_size * z @ z.T, k=-1)
        e = np.linalg.solve(before, y - z @ self.model)
        self.model += self._step_size * e @ z


class Batch:
    """Least squares over all the past, the calibration period included.

    How far coefficients are held down (the ridge) is taken from the past as well. Now and then the
    past is fitted with each of `_RIDGES`, and these trials predict what comes next. The ridge that
    has done best until now is the one to use. A trial that had seen more counts the more, since
    few readings want a larger ridge than many.
    """

    def __init__(self, basis: Basis, x: FloatArray, y: FloatArray) -> None:
        size = basis(x[:1]).shape[1]
        self._gram, self._moment, self._seen = np.zeros((size, size)), np.zeros(size), 0
        self._trials, self._tried = np.zeros((size, _RIDGES.size)), 0
        self._misses = np.zeros(_RIDGES.size)
        rows = max(1, min(_MOST // size, -(-len(y) // _PARTS)))
        for begin in range(0, len(y), rows):
            self._add(basis(x[begin : begin + rows]), y[begin : begin + rows])

    @property
    def ridge(self) -> float:
        """The ridge that has predicted the past best."""
        return float(_RIDGES[np.argmin(self._misses)])

    def follow(self, z: FloatArray, y: FloatArray, there: BoolArray) -> FloatArray:
        """Fit anew, predict all of these ticks, then add them to the past."""
        errors: FloatArray = y - z @ self._fit(self.ridge)
        self._add(z[there], y[there])
        return errors

    def _fit(self, ridge: float) -> NDArray[Any]:
        # By column, so that one of large numbers does not hold the others down.
        held = np.diag(ridge * self._gram.diagonal() + np.finfo(np.float64).tiny)
        return np.linalg.solve(self._gram + held, self._moment)

    def _add(self, z: FloatArray, y: FloatArray) -> None:
        self._misses += self._tried * ((y[:, None] - z @ self._trials) ** 2).sum(axis=0)
        self._gram += z.T @ z
        self._moment += z.T @ y
        self._seen += len(y)
        if self._seen > _GROWTH * self._tried:
            self._trials = np.stack([self._fit(ridge) for ridge in _RIDGES.tolist()], axis=1)
            self._tried = self._seen


def with_constant(x: FloatArray) -> FloatArray:
    """The basis of a linear fit: the inputs and a constant."""
    return np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)


def _spans(refits: Sequence[int], ticks: int, size: int) -> list[tuple[int, int]]:
    """Cut the ticks where fits are renewed, and again where a part would be too large to hold."""
    most = max(1, _MOST // size)
    cuts = sorted({*refits, *range(0, ticks, most), ticks} - {0})
    return list(zip([0, *cuts[:-1]], cuts, strict=True))
