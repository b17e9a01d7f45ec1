"""How good a model is, and what travelled until it was learned."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray, IntArray

BYTES_PER_COORDINATE = 4  # a coordinate travels as a float32


def mean_squared_error(w: FloatArray, z: FloatArray, y: FloatArray) -> float:
    """Average the squared error of a model over mapped inputs z of shape (T, D) and targets y."""
    return float(np.mean((y - z @ w) ** 2))


def decibels(mse: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Express a linear mean squared error in dB; an error of 0 is -inf.

    >>> float(decibels(0.01))
    -20.0
    """
    with np.errstate(divide="ignore"):
        return 10.0 * np.log10(np.asarray(mse, dtype=np.float64))


def curve_ticks(ticks: int, every: int) -> IntArray:
    """Return the ticks at which an error curve has a point: every `every`, and the last."""
    points = np.arange(every - 1, ticks, every)
    return points if points.size and points[-1] == ticks - 1 else np.append(points, ticks - 1)


class Traffic(NamedTuple):
    """What every engine counts since the first tick: numbers, or arrays of any common shape.

    In arrays of a result, one axis holds the seven counts in this order.
    """

    coordinates_up: Any
    coordinates_down: Any
    messages_up: Any
    messages_down: Any
    payload_up: Any  # bytes that `encode` made, without those that a transport adds
    payload_down: Any
    contacts: Any  # contacts in which at least one message was sent, in either direction

    @classmethod
    def of_floats(cls, contacts: Any, up: Any, down: Any) -> Self:
        """Count so many contacts with a message each way, of `up` and `down` float32 values.

        >>> Traffic.of_floats(10, 4, 200).payload_down
        8000
        """
        return cls(
            coordinates_up=contacts * up,
            coordinates_down=contacts * down,
            messages_up=contacts,
            messages_down=contacts,
            payload_up=BYTES_PER_COORDINATE * contacts * up,
            payload_down=BYTES_PER_COORDINATE * contacts * down,
            contacts=contacts,
        )
