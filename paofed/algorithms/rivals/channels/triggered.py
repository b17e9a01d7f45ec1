"""Triggered windows: a device is silent as long as what it would send has hardly moved.

M. Miskowicz, "Send-on-delta concept: an event-based data reporting strategy", Sensors 6(1), 2006.
The stochastic rule: D. Han, Y. Mo, J. Wu, S. Weerakkody, B. Sinopoli, L. Shi, "Stochastic
event-triggered sensor schedule for remote state estimation", IEEE TAC 60(10), 2015,
arXiv:1402.0599.

The heartbeat is not part of either rule. In the published stochastic rule z is the difference to
what the estimator expects, and it learns from silence; the paper's server does not.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.pao_fed import pao_fed
from paofed.algorithms.rivals.channels.encoding import uncoordinated
from paofed.algorithms.rivals.options import OF_A_LINK, count, positive
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Channel, Part, Stamp, draws, placed, silence
from paofed.errors import AlgorithmError, unknown


class Quiet(NamedTuple):
    """The value last sent on each coordinate, and how many contacts were silent since a message."""

    values: FloatArray  # (D,)
    contacts: IntArray  # (1,): silent contacts since the last message


def begin(features: int) -> Quiet:
    """Begin with a model of zeros, as server and device do."""
    return Quiet(np.zeros(features), np.zeros(1, dtype=np.int64))


def moved(shared: int, w: FloatArray, memory: Quiet, stamp: Stamp) -> FloatArray:
    """Return by how much each value of the next window has moved since it was sent."""
    coordinates = uncoordinated(shared, 1, stamp)
    return w[coordinates] - memory.values[coordinates]


def sent_unless(
    quiet: float, shared: int, heartbeat: int, w: FloatArray, memory: Quiet, stamp: Stamp
) -> tuple[Part, Quiet]:
    """Be silent with the probability `quiet`, but for at most `heartbeat` contacts in a row."""
    if draws(stamp, 1)[0] < quiet and memory.contacts[0] < heartbeat:
        return silence(), Quiet(memory.values, memory.contacts + 1)
    coordinates = uncoordinated(shared, 1, stamp)
    part = Part(coordinates, w[coordinates])
    return part, Quiet(placed(memory.values, part), 0 * memory.contacts)


def send_on_delta(
    shared: int, threshold: float, heartbeat: int, w: FloatArray, memory: Quiet, stamp: Stamp
) -> tuple[Part, Quiet]:
    """Send the next window if one of its values has moved by more than the threshold."""
    far = np.max(np.abs(moved(shared, w, memory, stamp)))
    return sent_unless(1.0 if far <= threshold else 0.0, shared, heartbeat, w, memory, stamp)


def send_by_chance(
    shared: int, threshold: float, heartbeat: int, w: FloatArray, memory: Quiet, stamp: Stamp
) -> tuple[Part, Quiet]:
    """Send the next window with a probability that grows with how far it has moved.

    Steps are noisy: with a sharp threshold, noise alone decides whether every contact sends or
    none.
    """
    far = np.sum(moved(shared, w, memory, stamp) ** 2) / (threshold * threshold)
    return sent_unless(np.exp(-0.5 * far), shared, heartbeat, w, memory, stamp)


RULES = {"delta": send_on_delta, "stochastic": send_by_chance}


def triggered(
    *, shared: int = 4, threshold: float = 0.2, heartbeat: int = 10, rule: str = "delta"
) -> Algorithm:
    """PAO-Fed-U1 whose clients are silent as long as their window has hardly moved.

    The window is sent when it has moved by about `threshold`, by `rule`, and after `heartbeat`
    silent contacts in any case.
    """
    if rule not in RULES:
        raise AlgorithmError(unknown("rule", str(rule), RULES), key="rule")
    numbers = (
        count("shared", shared),
        positive("threshold", threshold),
        count("heartbeat", heartbeat, least=0),
    )
    uplink = Channel(
        send=partial(RULES[rule], *numbers),
        init=begin,
        waives=("never silent",),  # clients are silent at times, which is the point
        why_not=OF_A_LINK,
    )
    return replace(pao_fed("u1", shared=shared), name="triggered", uplink=uplink)
