"""An estimator for scikit-learn that learns as a device does: `pip install 'paofed[sklearn]'`."""

import numbers
from typing import Any, Self

import numpy as np

from paofed.core import random
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.features import NO_RANGES, Ranges, median_distance
from paofed.core.learners import Chosen
from paofed.core.local_model import LocalModel, above_zero, local_model
from paofed.core.scaling import Scaling, fitted, offsets_and_scales, scaled
from paofed.errors import InputError, needs_extra, whole

with needs_extra("paofed.sklearn", "sklearn"):
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils import check_random_state, gen_batches
    from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["FourierLMS"]

MEDIAN = "median"  # the kernel width that is the median distance between samples
_AT_ONCE = 4096  # the most samples that are mapped together for predictions
_BRANCH = 4  # the branch of a seed's key under which the order of the samples is drawn
_FEWEST = 2  # the fewest samples from which scales can be taken


class FourierLMS(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # no types
    """LMS on random Fourier features, bit for bit as a device of a fleet learns between contacts.

    Parameters
    ----------
    features
        The number of parameters of the model, D.
    kernel_width
        The width (sigma) of the Gaussian kernel `exp(-|x - x'|^2 / (2 sigma^2))`, in
        standard deviations of the inputs where `standardize` is true. "median" takes the median
        distance between the samples of `fit`, or of the first `partial_fit`.
    step_size
        How far one sample moves the model (mu).
    epochs
        How often `fit` goes through all samples.
    shuffle
        Whether each epoch of `fit` takes the samples in a new random order; `partial_fit` keeps
        their order.
    standardize
        Whether the mean of inputs and target is subtracted, and the difference divided by their
        standard deviation. Both are taken from the samples of `fit`, or of the first
        `partial_fit`, and kept from then on. Otherwise the model sees samples as they are.
    linear
        Whether the inputs themselves and a constant are among the features, too.
    learner
        "lms", "two-speed" or "rls", as in docs/methods.md.
    forgetting
        The share of what it knows that a learner other than "lms" keeps from one sample to the
        next. None is the learner's usual value.
    bound
        An error counts at most as this many times the usual error. None: errors count in full.
    random_state
        A whole number is the `seed` of a fleet with the same features. Anything else that
        scikit-learn takes as a `random_state` draws a seed.

    Attributes
    ----------
    `weights_`
        The model's parameters, (D,).
    `scales_`
        `offset` and `scale` of each input and, last, of the target.
    `kernel_width_`, `seed_`
        The kernel width and the seed that the features were drawn with.
    `model_`
        The features, the learner and its state.
    `n_features_in_`, `feature_names_in_`
        The number of inputs, and their names if they have any.

    Examples
    --------
    >>> x = np.linspace(-3, 3, 300)[:, None]
    >>> y = np.sin(2 * x[:, 0])
    >>> regressor = FourierLMS(features=50, kernel_width=0.3, random_state=0).fit(x, y)
    >>> print(f"{regressor.score(x, y):.2f}")
    1.00
    """

    scales_: tuple[Scaling, ...]
    seed_: int
    kernel_width_: float
    model_: LocalModel

    def __init__(
        self,
        *,
        features: int = 200,
        kernel_width: float | str = MEDIAN,
        step_size: float = 0.1,
        epochs: int = 10,
        shuffle: bool = True,
        standardize: bool = True,
        linear: bool = False,
        learner: str = "lms",
        forgetting: float | None = None,
        bound: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.features = features
        self.kernel_width = kernel_width
        self.step_size = step_size
        self.epochs = epochs
        self.shuffle = shuffle
        self.standardize = standardize
        self.linear = linear
        self.learner = learner
        self.forgetting = forgetting
        self.bound = bound
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 (scikit-learn's name)
        """Forget everything, and learn from samples (T, d) and their targets (T,)."""
        x, targets = self._validated(X, y, first=True)
        epochs = whole("epochs", self.epochs, least=1)
        return self._begin(x, targets, epochs=epochs, shuffle=self.shuffle)

    def partial_fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Go on learning from more samples, in their order, each of them once."""
        first = not hasattr(self, "model_")
        x, targets = self._validated(X, y, first=first)
        if first:
            return self._begin(x, targets, epochs=1, shuffle=False)
        step_size, scales = above_zero("step_size", self.step_size), self.scales_
        self.model_ = self.model_.after(_inputs(scales, x), scales[-1].scaled(targets), step_size)
        return self

    def predict(self, X: Any) -> FloatArray:  # noqa: N803
        """Predict the targets of inputs (T, d)."""
        check_is_fitted(self)
        x = _inputs(self.scales_, validate_data(self, X, dtype=np.float64, reset=False))
        parts = [self.model_.predict(x[some]) for some in gen_batches(len(x), _AT_ONCE)]
        return self.scales_[-1].measured(np.concatenate(parts))

    @property
    def weights_(self) -> FloatArray:
        """The model's parameters, (D,)."""
        return self.model_.w

    def _validated(self, x: Any, y: Any, *, first: bool) -> tuple[FloatArray, FloatArray]:
        x, y = validate_data(self, x, y, dtype=np.float64, order="C", y_numeric=True, reset=first)
        return x, np.asarray(y, dtype=np.float64)

    def _begin(self, x: FloatArray, y: FloatArray, *, epochs: int, shuffle: bool) -> Self:
        """Learn from the first samples, and take scales and the features' ranges from them."""
        step_size = above_zero("step_size", self.step_size)
        self._require_enough(len(x))
        scales = fitted(x, y) if self.standardize else (Scaling(),) * (x.shape[1] + 1)
        x, y = _inputs(scales, x), scales[-1].scaled(y)
        seed, width = self._seed(), self._width(x)
        model = local_model(
            Chosen(self.learner, self.forgetting, self.bound),
            seed,
            inputs=x.shape[1],
            features=self.features,
            kernel_width=width,
            ranges=Ranges.of(x) if self.linear else NO_RANGES,
        )
        for epoch in range(epochs):
            order = _order(seed, epoch, len(x)) if shuffle else np.arange(len(x))
            model = model.after(x[order], y[order], step_size)
        self.scales_, self.seed_, self.kernel_width_ = scales, seed, width
        self.model_ = model
        return self

    def _require_enough(self, samples: int) -> None:
        if samples < _FEWEST and (self.standardize or self.linear or self.kernel_width == MEDIAN):
            raise InputError(
                f"there is 1 sample to begin with: expected at least {_FEWEST}, for scales and a "
                f"kernel width of them; or give kernel_width as a number, standardize=False and "
                f"linear=False"
            )

    def _width(self, x: FloatArray) -> Any:
        if not isinstance(self.kernel_width, str):
            return self.kernel_width
        if self.kernel_width != MEDIAN:
            raise InputError(
                f"kernel_width is {self.kernel_width!r}: expected a number above 0, or {MEDIAN!r}",
                key="kernel_width",
            )
        return median_distance(x) or 1.0  # where all samples are equal, any width will do

    def _seed(self) -> int:
        """Return the seed: `random_state` if it is a whole number, else one drawn from it."""
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))


def _inputs(scales: tuple[Scaling, ...], x: FloatArray) -> FloatArray:
    """Return measured inputs as the model sees them; the last of the scales is the target's."""
    return scaled(x, *offsets_and_scales(scales[:-1]))


def _order(seed: int, epoch: int, samples: int) -> IntArray:
    """Draw the order in which an epoch takes its samples."""
    lots = random.uniforms(random.child(random.key_of(seed), _BRANCH, epoch), samples, 0)
    return np.argsort(lots, kind="stable")
