"""What a device does with a sample, beside the paper's step, and a server that goes on moving."""

from collections.abc import Callable, Mapping

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.devices.decaying import decaying
from paofed.algorithms.rivals.devices.fed_prox import fed_prox
from paofed.algorithms.rivals.devices.server_momentum import server_momentum

DEVICES: Mapping[str, Callable[..., Algorithm]] = {
    "fed-prox": fed_prox,
    "decaying": decaying,
    "server-momentum": server_momentum,
}
