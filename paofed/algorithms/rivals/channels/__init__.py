"""What travels: masks, few bits, the largest changes, only what changed."""

from collections.abc import Callable, Mapping

from paofed.algorithms.base import Algorithm

CHANNELS: Mapping[str, Callable[..., Algorithm]] = {}
