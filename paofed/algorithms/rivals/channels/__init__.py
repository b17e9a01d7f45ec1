"""What travels: masks, few bits, the largest changes, only what changed."""

from collections.abc import Callable, Mapping

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.channels.masked import masked
from paofed.algorithms.rivals.channels.quantised import quantised
from paofed.algorithms.rivals.channels.ternary import ternary
from paofed.algorithms.rivals.channels.top_k import top_k
from paofed.algorithms.rivals.channels.triggered import triggered
from paofed.algorithms.rivals.channels.wide_down import wide_down

CHANNELS: Mapping[str, Callable[..., Algorithm]] = {
    "masked": masked,
    "quantised": quantised,
    "top-k": top_k,
    "ternary": ternary,
    "triggered": triggered,
    "wide-down": wide_down,
}
