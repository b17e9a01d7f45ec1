"""What a device does with a sample, beside the paper's step."""

from collections.abc import Callable, Mapping

from paofed.algorithms.base import Algorithm

DEVICES: Mapping[str, Callable[..., Algorithm]] = {}
