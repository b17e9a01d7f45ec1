"""What travels under an asynchronous server: whole models, as published, or windows."""

from paofed.algorithms.base import Algorithm
from paofed.core.parts import Learner, ServerRule
from paofed.core.rules import LMS
from paofed.core.selection import Windows


def sharing(name: str, server: ServerRule, shared: int | None, learner: Learner = LMS) -> Algorithm:
    """Make a row with a server of its own.

    Without `shared` whole models travel and clients rest while they are away, as in Online-FedSGD:
    that is what the methods were published for. With it, windows of so many coordinates travel and
    clients learn while they are away, as in PAO-Fed-U1; rules go coordinate by coordinate.
    """
    apart = shared is not None
    return Algorithm(
        name=name,
        downlink=Windows(shared, coordinated=not apart),
        uplink=Windows(shared, coordinated=not apart, ahead=int(apart)),
        server=server,
        learner=learner,
        learns_while_away=apart,
    )
