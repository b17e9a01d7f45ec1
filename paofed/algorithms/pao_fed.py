"""PAO-Fed: every available client takes part with a small window; six versions, one table."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from paofed.algorithms.base import Algorithm
from paofed.core.rules import Newest
from paofed.core.selection import Windows
from paofed.core.staleness import Geometric


class Version(NamedTuple):
    """What tells the six versions apart."""

    coordinated: bool
    # 0: the client sends the window just received; 1: the next window, which was left alone longest
    uplink_ahead: int
    staleness_base: float

    @property
    def words(self) -> str:
        """What clients of this version do, in one line."""
        get, send = (
            ("all clients get one moving window", "send")
            if self.coordinated
            else ("each client gets a moving window of its own", "sends")
        )
        which = "the next one" if self.uplink_ahead else "it back"
        late = f"; late messages weigh {self.staleness_base:g}^age"
        return f"PAO-Fed: {get} and {send} {which}{late if self.staleness_base < 1 else ''}."


VERSIONS = {
    "c0": Version(coordinated=True, uplink_ahead=0, staleness_base=1.0),
    "u0": Version(coordinated=False, uplink_ahead=0, staleness_base=1.0),
    "c1": Version(coordinated=True, uplink_ahead=1, staleness_base=1.0),
    "u1": Version(coordinated=False, uplink_ahead=1, staleness_base=1.0),
    "c2": Version(coordinated=True, uplink_ahead=1, staleness_base=0.2),
    "u2": Version(coordinated=False, uplink_ahead=1, staleness_base=0.2),
}


def pao_fed(version: str, *, shared: int = 4) -> Algorithm:
    """Make one of the six versions; `version` is a key of VERSIONS, such as "u1"."""
    coordinated, ahead, base = VERSIONS[version]
    return Algorithm(
        name=f"pao-fed-{version}",
        downlink=Windows(shared, coordinated),
        uplink=Windows(shared, coordinated, ahead),
        server=Newest(Geometric(base)),
        learns_while_away=True,
    )


def _factory(version: str) -> Callable[..., Algorithm]:
    """Return what makes the row of a version; its docstring is that of the version."""
    row = partial(pao_fed, version)
    row.__doc__ = VERSIONS[version].words
    return row


PAO_FED = {f"pao-fed-{version}": _factory(version) for version in VERSIONS}
