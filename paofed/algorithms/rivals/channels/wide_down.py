"""A wider downlink than uplink: where a server speaks more cheaply than its devices."""

from dataclasses import replace

from paofed.algorithms.base import Algorithm
from paofed.algorithms.pao_fed import pao_fed
from paofed.algorithms.rivals.options import count
from paofed.core.selection import Windows


def wide_down(*, up: int = 4, down: int = 32) -> Algorithm:
    """PAO-Fed-U1 with wider windows down than up: a server may speak more cheaply.

    Each window moves on by its own width at every tick.
    """
    return replace(
        pao_fed("u1"),
        name="wide-down",
        downlink=Windows(count("down", down), coordinated=False),
        uplink=Windows(count("up", up), coordinated=False, ahead=1),
    )
