"""What a learner promises."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from paofed.checks.cases import TICKS, copied, leaves_alone, repeats, same, small_nature
from paofed.core.arrays import FloatArray
from paofed.core.parts import Part
from paofed.core.selection import window

_STEP_SIZE = 0.4


def _learned(learner: Any, features: int) -> Iterator[tuple[Any, FloatArray, float, int, Any]]:
    """Yield state, sample and tick before every step of one device, and the state after the step.

    The learner is given copies, so that state and sample are as they were before the step.
    """
    trace = small_nature(features)
    z = trace.fourier_map(trace.x[:, 0])
    state = learner.init(features)
    for tick in range(TICKS):
        y = float(trace.y[tick, 0])
        learned = learner.learn(copied(state), z[tick].copy(), y, _STEP_SIZE, tick)
        yield state, z[tick], y, tick, learned
        state = learned


def _heard(tick: int, heard: int) -> Part:
    """Return a part that a server which tells so many numbers might have sent."""
    coordinates = window(tick, min(4, heard), heard)
    return Part(coordinates, np.arange(float(coordinates.size)))


def _finite(learner: Any, features: int, heard: int) -> str | None:  # noqa: ARG001
    for *_, state in _learned(learner, features):
        if not np.isfinite(learner.model(state)).all():
            return "makes a model that is not finite from one that is"
    return None


def _helps(learner: Any, features: int, heard: int) -> str | None:  # noqa: ARG001
    for before, z, y, tick, after in _learned(learner, features):
        errors = [abs(y - learner.model(state) @ z) for state in (before, after)]
        if errors[1] > errors[0] * (1 + 1e-12) + 1e-12:  # the factor allows for rounding
            return f"predicts a sample worse after learning from it (tick {tick})"
    return None


def _left_alone(learner: Any, features: int, heard: int) -> str | None:
    for state, z, y, tick, _ in _learned(learner, features):
        if not leaves_alone(learner.learn, state, z, y, _STEP_SIZE, tick):
            return "changes what learn was given: work on a copy"
        if not leaves_alone(learner.merge, state, _heard(tick, heard)):
            return "changes what merge was given: work on a copy"
    return None


def _takes_over(learner: Any, features: int, heard: int) -> str | None:
    for state, _, _, tick, _ in _learned(learner, features):
        part = _heard(tick, heard)
        expected = learner.model(state).copy()
        expected[part.coordinates] = part.values
        if not same(learner.model(learner.merge(state, part)), expected):
            return "merges otherwise than by overwriting what it heard, and nothing else"
    return None


def _repeats_itself(learner: Any, features: int, heard: int) -> str | None:
    for state, z, y, tick, _ in _learned(learner, features):
        if not repeats(learner.learn, state, z, y, _STEP_SIZE, tick):
            return "learns something else from the same sample when asked again"
        if not repeats(learner.merge, state, _heard(tick, heard)):
            return "merges the same part otherwise when asked again"
    return None


def _served(learner: Any, features: int, heard: int) -> str | None:  # noqa: ARG001
    for state, z, y, tick, learned in _learned(learner, features) if learner.served else ():
        if "w" not in state._fields or not np.array_equal(learner.model(state), state.w):
            return "says that it is served, but keeps no model as the field w of its state"
        later = learner.learn(state, z, y, _STEP_SIZE, tick + 1)
        if not same(learned, later):
            return "says that it is served, but its step depends on the tick"
    return None


PROMISES: Mapping[str, Any] = {
    "stays finite": _finite,
    "a step helps": _helps,
    "merge overwrites": _takes_over,
    "arguments left alone": _left_alone,
    "repeats itself": _repeats_itself,
    "can be served": _served,
}
