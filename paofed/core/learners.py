"""The learners by name, and the name and options of a given learner."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from paofed.core import bounded_steps, least_squares, two_speed, weighed
from paofed.core.bounded_steps import check_bound
from paofed.core.parts import Learner
from paofed.core.rules import LMS
from paofed.errors import AlgorithmError, unknown


class Forgets(NamedTuple):
    """A learner that forgets: its factory, its step function, and how much it keeps by default."""

    make: Callable[[float, float], Learner]  # forgetting, bound
    step: Callable[..., object]
    usual: float


FORGETFUL: Mapping[str, Forgets] = {
    "two-speed": Forgets(two_speed.two_speed, two_speed.learn, two_speed.FORGETTING),
    "rls": Forgets(least_squares.least_squares, least_squares.learn, least_squares.FORGETTING),
    "weighed": Forgets(weighed.weighed, weighed.learn, two_speed.FORGETTING),
}
NAMES = ("lms", *FORGETFUL)
# The learners beside lms on which a live fleet may agree: those that say that they are served.
AGREED = tuple(name for name, one in FORGETFUL.items() if one.make(one.usual, 0.0).served)


class Chosen(NamedTuple):
    """The options that choose a learner; None: the option is not used."""

    learner: str = "lms"
    forgetting: float | None = None
    bound: float | None = None


def learner_of(chosen: Chosen) -> Learner:
    """Make the learner that these options choose."""
    if chosen.learner not in NAMES:
        raise AlgorithmError(unknown("learner", str(chosen.learner), NAMES), key="learner")
    if chosen.learner == "lms":
        if chosen.forgetting is not None:
            raise AlgorithmError(
                f"forgetting is given, but lms keeps nothing that it could forget: leave it out, "
                f"or choose a learner ({', '.join(FORGETFUL)})",
                key="forgetting",
            )
        return LMS if chosen.bound is None else bounded_steps.bounded_lms(chosen.bound)
    forgets = FORGETFUL[chosen.learner]
    kept = forgets.usual if chosen.forgetting is None else chosen.forgetting
    _check_forgetting(kept)
    if chosen.bound is not None:
        check_bound("bound", chosen.bound)
    return forgets.make(float(kept), float(chosen.bound or 0.0))


def chosen(learner: Learner) -> Chosen | None:
    """Return the options that make this learner, or None if it has functions of its own."""
    if learner == LMS:
        return Chosen()
    if not isinstance(learner.learn, partial):
        return None
    step, numbers = learner.learn.func, learner.learn.args
    if step is bounded_steps.learn:
        return Chosen(bound=numbers[0])
    for name, forgets in FORGETFUL.items():
        if step is forgets.step:
            return Chosen(name, numbers[0], numbers[1] or None)
    return None


def _check_forgetting(value: float) -> None:
    is_number = type(value) in (int, float) and math.isfinite(value)
    if not is_number or not 0 < value <= 1:
        raise AlgorithmError(
            f"forgetting is {value!r}: expected a number above 0 and up to 1, such as 0.9: what is "
            f"kept from one sample to the next",
            key="forgetting",
        )
