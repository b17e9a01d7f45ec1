"""Names for the array types that the mathematics speaks of, and records made of such arrays."""

from dataclasses import fields
from reprlib import Repr

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
WordArray = NDArray[np.uint32]

_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxother = 2, 60  # of lists in lists, and letters of what is no list


class ShapesShown:
    """A dataclass of arrays whose repr has their shapes: nobody wants their numbers at a prompt."""

    def __repr__(self) -> str:
        told = []
        for field in fields(self):  # type: ignore[arg-type]  # those who inherit are dataclasses
            value = getattr(self, field.name)
            if not isinstance(value, np.ndarray):
                told.append(f"{field.name} {_SHORT.repr(value)}")
            elif value.size:
                told.append(f"{field.name} {value.shape}")
        return f"<{type(self).__name__}: {', '.join(told)}>"
