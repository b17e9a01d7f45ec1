"""A model that learns alone, as a device does between its contacts.

The estimators for scikit-learn (`paofed.sklearn`) and river (`paofed.river`) hold a `LocalModel`.
"""

from typing import Any, NamedTuple, Self

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.features import KERNEL_WIDTHS, NO_RANGES, FourierMap, Ranges, draw_map
from paofed.core.learners import AGREED, Chosen, learner_of
from paofed.core.parts import Learner, State
from paofed.core.random import key_of
from paofed.errors import InputError, whole

_NO_TICK = 0  # a learner is told the tick, but those that can be chosen by name ignore it


class LocalModel(NamedTuple):
    """The map of the inputs, the learner, and the learner's state."""

    fourier_map: FourierMap
    learner: Learner
    state: State

    @property
    def w(self) -> FloatArray:
        """The model's parameters, (D,)."""
        return self.learner.model(self.state)

    def predict(self, x: FloatArray) -> FloatArray:
        """Predict the targets of scaled inputs (T, d)."""
        predicted: FloatArray = self.fourier_map(x) @ self.w
        return predicted

    def after(self, x: FloatArray, y: FloatArray, step_size: float) -> Self:
        """Learn from scaled inputs (T, d) and targets (T,), sample by sample; return the new model.

        Each input is mapped by itself, since a product of whole matrices may differ in the last bit
        from what a device computes.
        """
        state = self.state
        with np.errstate(over="ignore", invalid="ignore"):
            for sample, target in zip(x, y.tolist(), strict=True):
                z = self.fourier_map(sample)
                state = self.learner.learn(state, z, target, step_size, _NO_TICK)
        if not np.isfinite(self.learner.model(state)).all():
            raise InputError(
                f"with a step_size of {step_size:g} the model has grown beyond all numbers: take a "
                f"smaller one (lms is always stable below 1), or targets that are scaled"
            )
        return self._replace(state=state)


def local_model(
    chosen: Chosen,
    seed: int,
    *,
    inputs: int,
    features: object,
    kernel_width: object,
    ranges: Ranges = NO_RANGES,
) -> LocalModel:
    """Return a model of zeros, with the map of the inputs that a fleet of this seed has.

    `chosen` names the learner and its options; `ranges` are those of linear terms, if any.
    """
    width, (narrowest, widest) = above_zero("kernel_width", kernel_width), KERNEL_WIDTHS
    if not narrowest <= width <= widest:
        raise InputError(
            f"kernel_width is {width:g}: expected {narrowest:g} to {widest:g}", key="kernel_width"
        )
    count = whole("features", features, least=1)
    learner = learner_of(Chosen(*map(_plain, chosen)))
    if learner.sees is not None:
        raise InputError(
            f"learner is {chosen.learner!r}, which weighs what a fleet tells, and this model "
            f"learns alone: expected {', '.join(('lms', *AGREED))}",
            key="learner",
        )
    drawn = draw_map(key_of(seed), inputs=inputs, features=count, width=width, ranges=ranges)
    return LocalModel(drawn, learner, learner.init(count))


def above_zero(name: str, value: object) -> float:
    """Return a number of Python or NumPy as a float; refuse what is not finite and above 0."""
    number = _plain(value)
    if type(number) not in (int, float) or not 0 < number < float("inf"):
        raise InputError(f"{name} is {value!r}: expected a finite number above 0", key=name)
    return float(number)


def _plain(value: object) -> Any:
    """Turn a number of NumPy, as a search over a grid hands them out, into one of Python."""
    return value.item() if isinstance(value, np.generic) else value
