"""Numbers that people give as options, each taken or refused, and the rows they are options of."""

import math
from typing import Any

from paofed.algorithms.base import Algorithm
from paofed.algorithms.online_fed import online_fedsgd
from paofed.algorithms.pao_fed import pao_fed
from paofed.errors import AlgorithmError

# Why no live fleet serves a server that adds up steps or keeps something for each client, a channel
# with a memory, or a learner that asks for the time.
STEPS_DIVERGE = "its model may diverge where devices start from an older one; fed-async's does not"
FOR_EACH = "it keeps something for each client, and a live fleet does not know how many will come"
OF_A_LINK = "it remembers what it sent, and a device that loses power forgets that"
BY_THE_TICK = "its step depends on the tick, which a device cannot always know"


def count(name: str, value: Any, least: int = 1) -> int:
    """Take a whole number from `least` on."""
    if type(value) is not int or value < least:
        raise AlgorithmError(
            f"{name} is {value!r}: expected a whole number from {least} on", key=name
        )
    return value


def number(name: str, value: Any, least: float, most: float = math.inf) -> float:
    """Take a finite number from `least` to `most`."""
    is_number = type(value) in (int, float) and math.isfinite(value)
    if not is_number or not least <= value <= most:
        end = "on" if most == math.inf else f"to {most:g}"
        raise AlgorithmError(
            f"{name} is {value!r}: expected a number from {least:g} {end}", key=name
        )
    return float(value)


def positive(name: str, value: Any, most: float = math.inf) -> float:
    """Take a finite number above 0."""
    if number(name, value, 0.0, most) == 0.0:
        raise AlgorithmError(f"{name} is {value!r}: expected a number above 0", key=name)
    return float(value)


def fraction(name: str, value: Any) -> float:
    """Take a number from 0 on that is below 1."""
    if number(name, value, 0.0, 1.0) == 1.0:
        raise AlgorithmError(f"{name} is {value!r}: expected a number below 1", key=name)
    return float(value)


def row_of(shared: int | None) -> Algorithm:
    """Return Online-FedSGD for None, else PAO-Fed-U1 with windows of `shared` coordinates.

    Most rivals were published for whole models, with clients that rest while they are away. With
    windows, clients learn while they are away, and rules work coordinate by coordinate.
    """
    return online_fedsgd() if shared is None else pao_fed("u1", shared=count("shared", shared))
