"""Asynchronous servers: what becomes of messages that come late.

What keeps something for every client is not served by live fleets, since it does not pay enough: in
Setting II, 12 runs with 4 parameters and `exchange=live`, each with its best settings, end at -7.48
dB (`fed-async:step_size=1.2,alpha=0.1`), -7.19 (`cached-mean:step_size=1.5`), -8.05
(`ca2fl:step_size=1.2,buffer=10`) and -6.18 (`pao-fed-u1:step_size=0.3,staleness=0.2`). `ca2fl` is
the best where it does not diverge: in the preset `ideal` it is at 131 dB after 2000 ticks, and
`fed-buff` diverges there within 139.
"""

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
