"""Forecasts that wait for their labels, and the record of who made the better ones.

A label may come late. Forecasters are judged by what they predicted when the sample was there: by
then they may have learned from later samples, and would look better than they were.

How late labels come is not known beforehand, and room is little. So the newest WAITING forecasts
are all kept, of those before them every second one, then every fourth one, and so on: the later
labels are, the fewer forecasts are judged, but some always are.
"""

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.weighing import scored

WAITING = 64  # of so many forecasts, the newest, none is left out
_OLDER = 8  # so many wait of every second one, as many of every fourth one, ...
_THINNED = 12  # how often every second one of those before is left out
ROWS = WAITING + _THINNED * _OLDER  # the last ones are of some 65,000 samples before
_NAMES = 2  # a sample is found again by so many of its features


def begin(forecasters: int) -> FloatArray:
    """Return (ROWS + 1, 2 + forecasters): two features of a sample, and what was predicted.

    The row after the last one says how many forecasts there have been.
    """
    waiting = np.full((ROWS + 1, _NAMES + forecasters), np.nan)
    waiting[ROWS, 0] = 0.0
    return waiting


def keep(waiting: FloatArray, z: FloatArray, forecasts: FloatArray) -> None:
    """Keep what the forecasters predict of a sample with features z, in place."""
    number = int(waiting[ROWS, 0])
    waiting[ROWS, 0] += 1.0
    row = np.empty(_NAMES + forecasts.size)
    row[0], row[1] = z[0], z[z.size // 2]
    for i in range(forecasts.size):
        row[_NAMES + i] = forecasts[i]
    # What has to leave its place goes on to older ones, if its number is among those kept there.
    first, rows, apart = 0, WAITING, 1
    while number >= 0 and number % apart == 0 and first < ROWS:
        there = waiting[first + number // apart % rows]
        for i in range(row.size):
            there[i], row[i] = row[i], there[i]
        number -= rows * apart
        first, rows, apart = first + rows, _OLDER, 2 * apart


def judge(waiting: FloatArray, record: FloatArray, z: FloatArray, y: float) -> None:
    """Enter what was predicted of a sample, if that is kept, into the forecasters' record.

    The record, as in paofed.core.weighing, changes in place.
    """
    newest = int(waiting[ROWS, 0]) - 1
    first, rows, apart = 0, WAITING, 1
    while newest >= 0 and first < ROWS:
        for back in range(rows):
            row = waiting[first + (newest // apart - back) % rows]
            if row[0] == z[0] and row[1] == z[z.size // 2]:
                squares = np.empty(row.size - _NAMES)
                for i in range(squares.size):
                    squares[i] = (y - row[_NAMES + i]) ** 2
                record[:] = scored(record, squares)
                return
        newest -= rows * apart
        first, rows, apart = first + rows, _OLDER, 2 * apart
