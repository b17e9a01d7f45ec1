"""What people would use instead of PAO-Fed: published methods, over the same contract.

servers   what the server does with messages that come late
channels  what travels, and as how many bits
devices   what a device does with a sample; what the server does with the mean
one_shot_ridge  sums over samples travel instead of models, once
"""

from collections.abc import Callable, Mapping

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.channels import CHANNELS
from paofed.algorithms.rivals.devices import DEVICES
from paofed.algorithms.rivals.one_shot_ridge import one_shot_ridge
from paofed.algorithms.rivals.servers import SERVERS

# The keywords of a factory are the options that shape its row and no other row.
RIVALS: Mapping[str, Callable[..., Algorithm]] = {
    **SERVERS,
    **CHANNELS,
    **DEVICES,
    "one-shot-ridge": one_shot_ridge,
}
