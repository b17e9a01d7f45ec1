"""A method that nobody else has, as somebody writes it into a file."""

# A server that moves half of the way to the middle of what arrived and keeps how far it went; a
# learner with steps that are as long for a large input as for a small one. Nobody else has them.
CALM = """
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed import algorithm
from paofed.core.parts import Learner, ServerRule


class Walked(NamedTuple):
    w: np.ndarray
    far: np.ndarray


class Counted(NamedTuple):
    w: np.ndarray
    steps: np.ndarray


def begin(features, clients):
    return Walked(np.zeros(features), np.zeros(1))


def middling(part, state, messages, stamp):
    w, far = state.w.copy(), state.far.copy()
    for c in range(w.size):
        said = [m.values[j] for m in messages for j, d in enumerate(m.coordinates) if c == d]
        if said:
            way = part * (np.median(np.array(said)) - w[c])
            w[c] += way
            far[0] += abs(way)
    return Walked(w, far)


def learn(state, z, y, mu, tick):
    step = mu * (y - state.w @ z) / (1e-3 + z @ z)
    return Counted(state.w + step * z, state.steps + 1)


def calm(*, shared=4, part=0.5):
    return replace(
        algorithm("pao-fed-u1", shared=shared),
        name="calm",
        server=ServerRule(apply=partial(middling, part), init=begin, served=True, bounded=True),
        learner=Learner(
            learn=learn, init=lambda features: Counted(np.zeros(features), np.zeros(1)), served=True
        ),
    )
"""
