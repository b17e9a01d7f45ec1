"""The rows of the paper that methods of this room begin from."""

from paofed.algorithms.base import Algorithm
from paofed.algorithms.online_fed import online_fedsgd
from paofed.algorithms.pao_fed import pao_fed
from paofed.algorithms.rivals.options import count


def row_of(shared: int | None) -> Algorithm:
    """Return PAO-Fed-U1 with windows of `shared`, or Online-FedSGD, where whole models travel."""
    return online_fedsgd() if shared is None else pao_fed("u1", shared=count("shared", shared))
