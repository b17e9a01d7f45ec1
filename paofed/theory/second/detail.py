"""How finely second moments are followed: every approximation has its number here."""

from typing import NamedTuple

import numpy as np


class Detail(NamedTuple):
    """The defaults are for fleets of hundreds; `FINEST` leaves out what can be left out."""

    groups: int | None = 4  # of clients that are there about equally often; None: each on its own
    classes: int = 8  # of a group, of clients that also learn alike
    stride: int = 10  # ticks of learning at once
    seldom: int = 5  # strides after which the noise of samples is worked out anew, later in a run
    points: int = 64  # that stand for the samples of a client
    precision: type[np.floating] = np.float32


FINEST = Detail(groups=None, classes=1, stride=1, seldom=1, points=4096, precision=np.float64)
