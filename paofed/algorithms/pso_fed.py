"""PSO-Fed: a window of the model travels, clients learn between contacts, the server picks."""

from paofed.algorithms.base import Algorithm
from paofed.core.rules import Newest
from paofed.core.selection import Windows
from paofed.core.staleness import Geometric


def pso_fed(*, subset: float, shared: int = 4, coordinated: bool = True) -> Algorithm:
    """PSO-Fed: windows travel, and the server picks `subset` of the available clients."""
    return Algorithm(
        name="pso-fed",
        downlink=Windows(shared, coordinated),
        uplink=Windows(shared, coordinated, ahead=1),
        server=Newest(Geometric(1.0)),
        learns_while_away=True,
        subset=subset,
    )
