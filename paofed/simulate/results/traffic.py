"""What travelled: the seven counts that every engine keeps, for both directions and over time."""

from typing import Any, NamedTuple

import numpy as np

from paofed.core.arrays import IntArray
from paofed.core.metrics import BYTES_PER_COORDINATE


class Traffic(NamedTuple):
    """Counts since the first tick: numbers, or arrays of any common shape.

    In arrays of a result the seven are one axis, in this order.
    """

    coordinates_up: Any
    coordinates_down: Any
    messages_up: Any
    messages_down: Any
    payload_up: Any  # bytes that `encode` made, without any transport's own
    payload_down: Any
    contacts: Any  # in which at least one message was sent, in either direction


def of_contact(up: IntArray, down: IntArray) -> IntArray:
    """Traffic (..., 7) of one contact with `up` and `down` coordinates of 4 bytes each."""
    one = np.ones_like(up)
    counts = Traffic(
        coordinates_up=up,
        coordinates_down=down,
        messages_up=one,
        messages_down=one,
        payload_up=BYTES_PER_COORDINATE * up,
        payload_down=BYTES_PER_COORDINATE * down,
        contacts=one,
    )
    return np.stack(counts, axis=-1)
