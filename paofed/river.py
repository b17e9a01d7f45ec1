"""An estimator for river that learns as a device does: `pip install 'paofed[river]'`."""

import math
import numbers
import secrets
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.learners import Chosen
from paofed.core.local_model import LocalModel, above_zero, local_model
from paofed.errors import InputError, in_one_line, needs_extra

with needs_extra("paofed.river"):
    from river import base
    from river.utils import dataframe

__all__ = ["FourierLMS"]


class FourierLMS(base.MiniBatchRegressor):  # type: ignore[misc]  # types that are skipped
    """LMS on random Fourier features, bit for bit as a device of a fleet learns between contacts.

    Inputs and targets should be standardised before: the kernel has one width for all inputs, and
    the model begins with zeros. An input that a sample does not have counts as 0. In predictions,
    an input that no sample had before counts as 0, too. Inputs are numbered in the order in which
    they first appear, and those that appear together in the order of their names. A fleet has the
    same features if its inputs are in this order.

    Parameters
    ----------
    features
        The number of parameters of the model, D.
    kernel_width
        The width (sigma) of the Gaussian kernel `exp(-|x - x'|^2 / (2 sigma^2))`. None is the root
        of twice the number of inputs of the first sample: about the median distance between samples
        that are standardised.
    step_size
        How far one sample moves the model (mu).
    learner
        "lms", "two-speed" or "rls", as in docs/methods.md.
    forgetting
        The share of what it knows that a learner other than "lms" keeps from one sample to the
        next. None is the learner's usual value.
    bound
        An error counts at most as this many times the usual error. None: errors count in full.
    seed
        The seed that the features are drawn from, as a fleet's features are. None draws a seed.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing

    >>> model = preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(
    ...     regressor=FourierLMS(features=100, seed=0)
    ... )
    >>> mae = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> print(f"{mae.get():.2f}")
    0.28

    """

    def __init__(
        self,
        features: int = 200,
        kernel_width: float | None = None,
        step_size: float = 0.4,
        learner: str = "lms",
        forgetting: float | None = None,
        bound: float | None = None,
        seed: int | None = None,
    ) -> None:
        self.features = features
        self.kernel_width = kernel_width
        self.step_size = step_size
        self.learner = learner
        self.forgetting = forgetting
        self.bound = bound
        self.seed = seed
        above_zero("step_size", step_size)
        self._width = kernel_width
        self._drawn_seed = secrets.randbits(64) if seed is None else seed
        self._names: tuple[Hashable, ...] = ()  # names of the inputs, in the order of the map
        self._model = self._begun()

    @property
    def weights(self) -> FloatArray:
        """The model's parameters, (D,)."""
        return self._model.w

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn from one sample."""
        self._learn(tuple(x), _row(x), [y])

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """Predict the target of one sample's inputs."""
        return float(self._predict(tuple(x), _row(x))[0])

    def learn_many(self, X: Any, y: Any) -> None:  # noqa: N803 (river's name)
        """Learn from the rows of a data frame and a series, one after the other."""
        frame, targets = dataframe.into_frame(X), dataframe.into_series(y)
        self._learn(frame.columns, _table(frame), targets.to_list())

    def predict_many(self, X: Any) -> Any:  # noqa: N803
        """Predict the targets of the rows of a data frame, as a series of the frame's kind."""
        frame = dataframe.into_frame(X)
        predicted = self._predict(frame.columns, _table(frame))
        return dataframe.to_native_series(predicted, name=None, like=frame)

    def _learn(self, names: Sequence[Hashable], x: FloatArray, y: Sequence[object]) -> None:
        targets = np.array([_number("the target", value) for value in y])
        if len(targets) != len(x):
            raise InputError(f"{len(x)} samples have {len(targets)} targets: expected one for each")
        step_size = above_zero("step_size", self.step_size)
        self._meet(names)
        self._model = self._model.after(self._placed(names, x), targets, step_size)

    def _predict(self, names: Sequence[Hashable], x: FloatArray) -> FloatArray:
        return self._model.predict(self._placed(names, x))

    def _meet(self, names: Sequence[Hashable]) -> None:
        """Give frequencies to inputs that are new; frequencies of known inputs stay the same."""
        new = set(names).difference(self._names)
        if not new:
            return
        if self._width is None:
            self._width = math.sqrt(2 * len(new))
        self._names += tuple(sorted(new, key=lambda name: (str(name), type(name).__name__)))
        self._model = self._model._replace(fourier_map=self._begun().fourier_map)

    def _begun(self) -> LocalModel:
        return local_model(
            Chosen(self.learner, self.forgetting, self.bound),
            self._drawn_seed,
            inputs=len(self._names),
            features=self.features,
            kernel_width=1.0 if self._width is None else self._width,  # before inputs, any width
        )

    def _placed(self, names: Sequence[Hashable], x: FloatArray) -> FloatArray:
        """Put columns (T, names) in the order of the map; inputs without a column are 0."""
        placed = np.zeros((len(x), len(self._names)))
        columns = {name: column for column, name in enumerate(names)}
        for place, name in enumerate(self._names):
            if name in columns:
                placed[:, place] = x[:, columns[name]]
        return placed


def _row(x: Mapping[Any, Any]) -> FloatArray:
    """Return one sample's inputs as a table of one row."""
    return np.array([[_number(f"the input {name!r}", value) for name, value in x.items()]])


def _number(what: str, value: object) -> float:
    try:
        number = float(value) if isinstance(value, numbers.Real) else math.nan
    except OverflowError:  # a whole number that is too large
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{what} is {value!r}: expected a finite number")
    return number


def _table(frame: Any) -> FloatArray:
    """Return a data frame's rows as an array; a value that is no finite number is refused."""
    try:
        x: FloatArray = dataframe.to_numpy(frame)
    except (TypeError, ValueError) as error:
        raise InputError(f"the inputs are not all numbers: {in_one_line(error)}") from None
    for row, column in np.argwhere(~np.isfinite(x)):
        _number(f"the input {frame.columns[column]!r} in row {row}", float(x[row, column]))
    return x
