"""The rows of the paper that rivals begin from."""

from paofed.algorithms.base import Algorithm
from paofed.algorithms.online_fed import online_fedsgd
from paofed.algorithms.pao_fed import pao_fed
from paofed.algorithms.rivals.options import count


def row_of(shared: int | None) -> Algorithm:
    """Return Online-FedSGD for None, else PAO-Fed-U1 with windows of `shared` coordinates.

    Most rivals were published for whole models, with clients that rest while they are away. With
    windows, clients learn while they are away, and rules work coordinate by coordinate.
    """
    return online_fedsgd() if shared is None else pao_fed("u1", shared=count("shared", shared))
