"""To begin with a model in the place of zeros: what a device and the server make of one."""

from typing import Any

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.parts import Learner, Part, State
from paofed.errors import AlgorithmError


def whole(w: FloatArray) -> Part:
    """Return all of a model as a part."""
    return Part(np.arange(w.size), w.copy())


def device_from(method: str, learner: Learner, w: FloatArray) -> State:
    """Begin with a model: what a device of a method does that has heard all of it at once."""
    begun = learner.init(w.size)
    if not w.any():
        return begun  # zeros are what `init` begins with
    return _holding(learner, learner.merge(begun, whole(w)), w, f"{method}: its learner")


def server_from(method: str, rule: Any, clients: int, w: FloatArray) -> State:
    """Begin with a model: what a method's rule begins with, but for its field `w`, the model."""
    begun = rule.init(w.size, clients)
    if not w.any():
        return begun
    if "w" not in getattr(begun, "_fields", ()):
        raise _cannot(f"{method}: its server")
    return _holding(rule, begun._replace(w=w.copy()), w, f"{method}: its server")


def _holding(rule: Any, state: State, w: FloatArray, whose: str) -> State:
    """Return the state if its model is this one."""
    if not np.allclose(rule.model(state), w, rtol=1e-9, atol=1e-12):
        raise _cannot(whose)
    return state


def _cannot(whose: str) -> AlgorithmError:
    return AlgorithmError(
        f"{whose} cannot begin with a model, since it does not hold it afterwards: begin with "
        f"zeros (`start`)"
    )
