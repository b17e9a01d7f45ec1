"""Forecasts that wait for their labels, and the record of who made the better ones.

A label may come late. Forecasters are judged by what they predicted when the sample was there: by
then they may have learned from later samples, and would look better than they were.
"""

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.weighing import scored

WAITING = 64  # forecasts that wait for their labels; of older ones nobody is judged
_NAMES = 2  # a sample is found again by so many of its features


def begin(forecasters: int) -> FloatArray:
    """Return (WAITING + 1, 2 + forecasters): two features of a sample, and what was predicted.

    The row after the last one says where the newest forecast is.
    """
    return np.full((WAITING + 1, _NAMES + forecasters), np.nan)


def keep(waiting: FloatArray, z: FloatArray, forecasts: FloatArray) -> None:
    """Keep what the forecasters predict of a sample with features z, in place."""
    place = (_newest(waiting) + 1) % WAITING
    waiting[WAITING, 0] = place
    row = waiting[place]
    row[0], row[1] = z[0], z[z.size // 2]
    for i in range(forecasts.size):
        row[_NAMES + i] = forecasts[i]


def judge(waiting: FloatArray, record: FloatArray, z: FloatArray, y: float) -> None:
    """Enter what was predicted of a sample, if that is kept, into the forecasters' record.

    The record, as in paofed.core.weighing, changes in place.
    """
    newest = _newest(waiting)
    for back in range(WAITING):
        row = waiting[(newest - back) % WAITING]
        if row[0] == z[0] and row[1] == z[z.size // 2]:
            squares = np.empty(row.size - _NAMES)
            for i in range(squares.size):
                squares[i] = (y - row[_NAMES + i]) ** 2
            record[:] = scored(record, squares)
            return


def _newest(waiting: FloatArray) -> int:
    """Return the place of the newest forecast; if there is none, the place before the first."""
    newest = waiting[WAITING, 0]
    return int(newest) if newest >= 0.0 else WAITING - 1
