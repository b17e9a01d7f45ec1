"""Asynchronous servers: what becomes of messages that come late."""

from collections.abc import Callable, Mapping

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.servers.ace import ace
from paofed.algorithms.rivals.servers.aced import aced
from paofed.algorithms.rivals.servers.aso_fed import aso_fed
from paofed.algorithms.rivals.servers.ca2fl import ca2fl
from paofed.algorithms.rivals.servers.cached_mean import cached_mean
from paofed.algorithms.rivals.servers.fed_async import fed_async
from paofed.algorithms.rivals.servers.fed_at import fed_at
from paofed.algorithms.rivals.servers.fed_buff import fed_buff
from paofed.algorithms.rivals.servers.temporally_weighted import temporally_weighted

SERVERS: Mapping[str, Callable[..., Algorithm]] = {
    "fed-async": fed_async,
    "fed-buff": fed_buff,
    "cached-mean": cached_mean,
    "ace": ace,
    "aced": aced,
    "ca2fl": ca2fl,
    "temporally-weighted": temporally_weighted,
    "aso-fed": aso_fed,
    "fed-at": fed_at,
}
