"""Online-FedSGD and Online-Fed: whole models travel and clients rest while they are away."""

from dataclasses import replace

from paofed.algorithms.base import Algorithm
from paofed.core.rules import Newest
from paofed.core.selection import Windows
from paofed.core.staleness import Geometric

_WHOLE_MODEL = Windows(width=None)


def online_fedsgd() -> Algorithm:
    """Online-FedSGD: whole models travel, and every available client takes part."""
    return Algorithm(
        name="online-fedsgd",
        downlink=_WHOLE_MODEL,
        uplink=_WHOLE_MODEL,
        server=Newest(Geometric(1.0)),
        learns_while_away=False,
    )


def online_fed(*, subset: float) -> Algorithm:
    """Online-Fed: whole models travel, and the server picks `subset` of the available clients."""
    return replace(online_fedsgd(), name="online-fed", subset=subset)
