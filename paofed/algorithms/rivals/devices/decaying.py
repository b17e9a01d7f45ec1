"""Decaying steps, so that a fleet settles: the step is half as large after `half` ticks.

H. Robbins, S. Monro, "A stochastic approximation method", Annals of Mathematical Statistics 22,
1951; the schedule is "search then converge": C. Darken, J. Moody, "Note on learning rate schedules
for stochastic optimization", NIPS 3, 1990.
"""

from dataclasses import replace
from functools import partial

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.options import BY_THE_TICK, positive, row_of
from paofed.core.arrays import FloatArray
from paofed.core.parts import Learner, Weights
from paofed.core.rules import lms_step


def learn(half: float, state: Weights, z: FloatArray, y: float, mu: float, tick: int) -> Weights:
    """Take one LMS step of size mu / (1 + tick / half)."""
    return Weights(lms_step(state.w, z, y, mu / (1.0 + tick / half)))


def decaying(*, shared: int | None = 4, half: float = 1000.0) -> Algorithm:
    """PAO-Fed-U1 whose steps decay: half as large after `half` ticks.

    With `shared` None, Online-FedSGD likewise.
    """
    learner = Learner(
        learn=partial(learn, positive("half", half)),
        why_not=BY_THE_TICK,
    )
    return replace(row_of(shared), name="decaying", learner=learner)
