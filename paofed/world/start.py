"""The model that a fleet over a table begins with: what its calibration period teaches."""

import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from paofed.algebra import one_thread_algebra
from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap
from paofed.core.ridge import Ridge

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings

_FITTED: "WeakKeyDictionary[Readings, dict[bytes, FloatArray]]" = WeakKeyDictionary()
_LOCK = threading.Lock()  # all runs in a world begin alike: one of them fits, the others wait


def fitted(readings: "Readings", fourier_map: FourierMap) -> FloatArray:
    """Return the ridge fit (D,) of the calibration period; made once for a map.

    In the digits of float32, as devices of a live fleet are told theirs.
    """
    parts = fourier_map.frequencies, fourier_map.phases, *fourier_map.ranges
    key = b"".join(part.tobytes() for part in parts)
    with _LOCK:
        known = _FITTED.setdefault(readings, {})
        if key not in known:
            with one_thread_algebra():
                model = Ridge.over(fourier_map, readings.x_past, readings.y_past).model
            model = model.astype(np.float32).astype(np.float64)
            model.flags.writeable = False
            known[key] = model
        return known[key]
