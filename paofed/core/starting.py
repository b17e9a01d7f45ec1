"""Begin with a given model instead of zeros: the first state of a device and of the server."""

from typing import Any

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap
from paofed.core.parts import Calibration, Learner, Part, State
from paofed.errors import AlgorithmError


def whole(w: FloatArray) -> Part:
    """Return all that is told, such as a whole model, as a part."""
    return Part(np.arange(w.size), w.copy())


def keeping_start(state: Any, w: FloatArray) -> Any:
    """Return a device's state with the model w in its field `start`, beside what it learns."""
    return state._replace(start=w.copy())


def device_from(method: str, learner: Learner, w: FloatArray) -> State:
    """Return the state of a device that begins with the model w, as if it had heard all of w."""
    begun = learner.init(w.size)
    if not w.any():
        return begun  # `init` begins with zeros already
    started = learner.merge(begun, whole(w)) if learner.starts is None else learner.starts(begun, w)
    return _holding(learner, started, w, f"{method}: its learner")


def server_from(
    method: str,
    rule: Any,
    clients: int,
    w: FloatArray,
    calibration: Calibration | None = None,
    fourier_map: FourierMap | None = None,
) -> State:
    """Return the first state of a rule with the model w in its field `w`.

    A rule with a function `recalls` is given the calibration period, if there is one.
    """
    begun = rule.init(w.size, clients)
    if w.any():
        if "w" not in getattr(begun, "_fields", ()):
            raise _cannot(f"{method}: its server")
        begun = _holding(rule, begun._replace(w=w.copy()), w, f"{method}: its server")
    recalls = getattr(rule, "recalls", None)
    if recalls is None or calibration is None or fourier_map is None:
        return begun
    return recalls(begun, fourier_map, calibration)


def _holding(rule: Any, state: State, w: FloatArray, whose: str) -> State:
    """Return the state if its model is w; else say that the method cannot begin with a model."""
    if not np.allclose(rule.model(state), w, rtol=1e-9, atol=1e-12):
        raise _cannot(whose)
    return state


def _cannot(whose: str) -> AlgorithmError:
    return AlgorithmError(
        f"{whose} cannot begin with a model, since it does not hold it afterwards: begin with "
        f"zeros (`start`)"
    )
