"""The model that a fleet over a table begins with: what its calibration period teaches."""

import threading
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from paofed.algebra import one_thread_algebra
from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap
from paofed.core.intervals import first_half_width
from paofed.core.ridge import Ridge

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings


class Start(NamedTuple):
    """What a calibration period teaches."""

    model: FloatArray  # (D,)
    # Half the width of a device's first interval: covers errors out of sample on that period.
    half_width: float
    # (C',): errors of predictions on the period's last samples, each by a fit to those before it.
    foretold: FloatArray = np.zeros(0)


_FITTED: "WeakKeyDictionary[Readings, dict[bytes, Start]]" = WeakKeyDictionary()
# All runs in a world begin alike: one run fits the model, the others wait for it.
_LOCK = threading.Lock()


def fitted(readings: "Readings", fourier_map: FourierMap) -> Start:
    """Return the ridge fit of the calibration period; computed once for each map.

    The model is rounded to float32, as live devices get it.
    """
    parts = fourier_map.frequencies, fourier_map.phases, *fourier_map.ranges
    key = b"".join(part.tobytes() for part in parts)
    with _LOCK:
        known = _FITTED.setdefault(readings, {})
        if key not in known:
            with one_thread_algebra():
                made = Ridge.over(fourier_map, readings.x_past, readings.y_past)
            model = made.model.astype(np.float32).astype(np.float64)
            model.flags.writeable = False
            known[key] = Start(model, first_half_width(made.foretold), made.foretold)
        return known[key]
