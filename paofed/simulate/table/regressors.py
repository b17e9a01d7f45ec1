"""Predictors that practitioners would try before a fleet learns together, over plain inputs.

Like the other baselines, each predicts some ticks before it learns from them.
"""

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray, IntArray, ranks, runs
from paofed.errors import needs_extra
from paofed.memory import require_memory
from paofed.simulate.stopping import Report, ignored

if TYPE_CHECKING:
    from paofed.simulate.table.baselines import SampleBatch

# Factors by which a reading's weight falls when another one comes; of equally good factors the
# first is taken.
FORGETTING = np.array([0.999, 0.99, 0.97, 0.9])
_GROWTH = 1.2  # trees are grown anew when the past has grown by this factor


class Fixed:
    """A model that never learns."""

    def __init__(self, model: FloatArray) -> None:
        self._model = model

    def follow(self, part: "SampleBatch") -> FloatArray:
        """Predict the samples, and learn nothing."""
        errors: FloatArray = part.y - part.z @ self._model
        return errors


class Forgetting:
    """Recursive least squares of every device for itself; old readings weigh less and less.

    After each sample the model minimises the weighted squares plus |w|^2. The last term does not
    fade: coefficients of which the readings say nothing any more go back to 0, and nothing grows
    without bound, however long a device measures the same. The best factor of forgetting differs
    from table to table, so a device tries several and predicts by the one that has done best so
    far.
    """

    def __init__(self, devices: int, inputs: int) -> None:
        shape = len(FORGETTING), devices, inputs
        require_memory(
            8 * math.prod(shape) * inputs,
            f"recursive least squares of {devices:,} devices with {inputs:,} inputs",
            "leave the baseline rls out",
        )
        self.models, self._moment = np.zeros((2, *shape))
        self._gram = np.zeros((*shape, inputs))
        self._misses = np.zeros(shape[:2])

    def follow(self, part: "SampleBatch") -> FloatArray:
        """Predict and learn the first sample of all devices, then the second, and so on."""
        rank = ranks(part.device)
        order = np.argsort(rank, kind="stable")
        errors = np.empty(part.y.shape)
        for now in runs(rank[order]):
            some = order[now]
            k, z, y = part.device[some], part.z[some], part.y[some]
            e = self._errors(k, z, y)
            errors[some] = e[np.argmin(self._misses[:, k], axis=0), np.arange(k.size)]
            if part.learned is None:
                self._learn(k, z, y, e)
            for late in part.late(some):
                self._learn(*late, self._errors(*late))
        return errors

    def _errors(self, k: IntArray, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return the error of each factor's model, (F, K), of devices k, each of them once."""
        e: FloatArray = y - np.einsum("fkd,kd->fk", self.models[:, k], z)
        return e

    def _learn(self, k: IntArray, z: FloatArray, y: FloatArray, e: FloatArray) -> None:
        """Let devices k, each of them once, learn a sample each."""
        self._misses[:, k] += e**2
        kept = FORGETTING[:, None, None]
        gram = kept[..., None] * self._gram[:, k] + z[:, :, None] * z[:, None]
        moment = kept * self._moment[:, k] + y[:, None] * z
        self._gram[:, k], self._moment[:, k] = gram, moment
        held = np.eye(z.shape[1])
        self.models[:, k] = np.linalg.solve(gram + held, moment[..., None])[..., 0]


class Regressor(Protocol):
    """A regressor with the interface of scikit-learn."""

    def fit(self, x: FloatArray, y: FloatArray) -> object:
        """Learn from all of these samples."""
        ...

    def predict(self, x: FloatArray) -> NDArray[Any]:
        """Predict each of the targets."""
        ...


def boosting() -> Regressor:
    """Return scikit-learn's gradient boosting with its default settings."""
    with needs_extra("the baseline boost"):
        from sklearn.ensemble import HistGradientBoostingRegressor
    regressor: Regressor = HistGradientBoostingRegressor(random_state=0)
    return regressor


class Boost:
    """A regressor for the whole fleet, fitted anew whenever the past has grown by a factor."""

    def __init__(self, make: Callable[[], Regressor], x: FloatArray, y: FloatArray) -> None:
        self._make, self._x, self._y = make, [x], [y]
        self._fitted = 0
        self._renew()

    def follow(self, part: "SampleBatch") -> FloatArray:
        """Predict the samples of all these ticks, then add them to the past."""
        errors: FloatArray = part.y - self._regressor.predict(part.z)
        for past, new in zip((self._x, self._y), part.all_known, strict=True):
            past.append(new)
        self._renew()
        return errors

    def _renew(self) -> None:
        seen = sum(map(len, self._y))
        if seen > _GROWTH * self._fitted:
            self._regressor, self._fitted = self._make(), seen
            self._regressor.fit(np.concatenate(self._x), np.concatenate(self._y))


class OnlineRegressor(Protocol):
    """A regressor with the interface of river."""

    def learn_one(self, x: dict[int, float], y: float) -> object:
        """Learn from one sample."""
        ...

    def predict_one(self, x: dict[int, float]) -> float:
        """Predict the target of one sample."""
        ...


def mondrian() -> OnlineRegressor:
    """Return river's Aggregated Mondrian Forest as it comes, over inputs in [0, 1]."""
    with needs_extra("the baseline mondrian"):
        from river import forest, preprocessing
    made: OnlineRegressor = preprocessing.MinMaxScaler() | forest.AMFRegressor(seed=0)
    return made


def adaptive_forest() -> OnlineRegressor:
    """Return river's Adaptive Random Forest as it comes, over standardised inputs."""
    with needs_extra("the baseline adaptive forest"):
        from river import forest, preprocessing
    made: OnlineRegressor = preprocessing.StandardScaler() | forest.ARFRegressor(seed=0)
    return made


class Forest:
    """A regressor for the whole fleet that learns one sample after the other, device after device.

    It begins with the calibration period. The samples of a tick are predicted by what it was before
    that tick. It is slow: `report` is told of each sample that no more of the work is done, so that
    the work can be ended there.
    """

    def __init__(
        self, model: OnlineRegressor, x: FloatArray, y: FloatArray, report: Report = ignored
    ) -> None:
        self._model, self._report = model, report
        self._learn(x, y)

    def follow(self, part: "SampleBatch") -> FloatArray:
        """Predict the samples of each tick, then learn what is known by then."""
        errors = np.empty(part.y.shape)
        for now in runs(part.tick):
            found = [self._model.predict_one(x) for x in _by_input(part.z[now])]
            errors[now] = part.y[now] - found
            self._learn(*part.known(now))
        return errors

    def _learn(self, x: FloatArray, y: FloatArray) -> None:
        for one, target in zip(_by_input(x), y.tolist(), strict=True):
            self._model.learn_one(one, target)
            self._report(0.0)


def _by_input(x: FloatArray) -> Iterator[dict[int, float]]:
    """Yield each sample as river takes it."""
    return (dict(enumerate(row)) for row in x.tolist())
