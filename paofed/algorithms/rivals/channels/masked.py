"""Random masks known to both: which coordinates travel is drawn, and no index is sent.

J. Konecny, H. B. McMahan, F. X. Yu, P. Richtarik, A. T. Suresh, D. Bacon, "Federated learning:
strategies for improving communication efficiency", arXiv:1610.05492.
"""

from dataclasses import replace
from functools import partial

from paofed.algorithms.base import Algorithm
from paofed.algorithms.pao_fed import pao_fed
from paofed.algorithms.rivals.channels.choosing import largest
from paofed.algorithms.rivals.options import count
from paofed.core.arrays import FloatArray
from paofed.core.parts import Channel, Part, Stamp, draws


def send(shared: int, w: FloatArray, memory: tuple[()], stamp: Stamp) -> tuple[Part, tuple[()]]:
    """Send the coordinates that drew the largest numbers: every set of so many is as likely."""
    chosen = largest(draws(stamp, w.size), shared)
    return Part(chosen, w[chosen]), memory


def masked(*, shared: int = 4) -> Algorithm:
    """PAO-Fed-U1 with a mask drawn for every message in place of a window, up and down."""
    mask = Channel(send=partial(send, count("shared", shared)))
    return replace(pao_fed("u1"), name="masked", downlink=mask, uplink=mask)
