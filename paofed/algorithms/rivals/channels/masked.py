"""Random masks known to both sides: which coordinates travel is drawn, and no index is sent.

J. Konecny, H. B. McMahan, F. X. Yu, P. Richtarik, A. T. Suresh, D. Bacon, "Federated learning:
strategies for improving communication efficiency", arXiv:1610.05492.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.pao_fed import pao_fed
from paofed.algorithms.rivals.options import count
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Channel, Part, Stamp, draws


def mask_of(chances: FloatArray, features: int) -> IntArray:
    """Return as many coordinates as there are chances; every set of that size is equally likely.

    Robert Floyd's way, which needs one random number for each coordinate drawn (J. Bentley,
    "Programming pearls: a sample of brilliance", CACM 30(9), 1987).
    """
    held = np.zeros(features, dtype=np.bool_)
    for i in range(chances.size):
        last = features - chances.size + i
        place = int(chances[i] * (last + 1))
        held[last if held[place] else place] = True
    return np.flatnonzero(held)


def send(shared: int, w: FloatArray, memory: tuple[()], stamp: Stamp) -> tuple[Part, tuple[()]]:
    """Send the coordinates of the mask; the receiver draws the same mask from the same stamp."""
    chosen = mask_of(draws(stamp, min(shared, w.size)), w.size)
    return Part(chosen, w[chosen]), memory


def masked(*, shared: int = 4) -> Algorithm:
    """PAO-Fed-U1 with a mask drawn for every message in place of a window, up and down."""
    mask = Channel(
        send=partial(send, count("shared", shared)),
        why_not="its masks take no turns: the messages of one sample leave out some of the model",
    )
    return replace(pao_fed("u1"), name="masked", downlink=mask, uplink=mask)
