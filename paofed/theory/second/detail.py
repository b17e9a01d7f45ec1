"""How finely second moments are followed: every approximation has its number here."""

from typing import NamedTuple

import numpy as np


class Detail(NamedTuple):
    """How fine each approximation is; the defaults are for fleets of hundreds of clients.

    `FINEST` leaves out every approximation that can be left out.
    """

    # Groups of clients that are available about equally often; None: each client is a group.
    groups: int | None = 4
    classes: int = 8  # classes in a group, of clients that also learn alike
    stride: int = 10  # ticks of learning that are computed at once
    seldom: int = 5  # strides after which the noise of samples is computed anew, later in a run
    points: int = 64  # points that stand for the samples of a client
    precision: type[np.floating] = np.float32


FINEST = Detail(groups=None, classes=1, stride=1, seldom=1, points=4096, precision=np.float64)
