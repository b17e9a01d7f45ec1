"""How far back a journal reaches: which of its snapshots are kept, and what that takes."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

ALWAYS = 2  # of the newest snapshots: the older one stands in for the newest if that is damaged
_SHARE = 0.5  # snapshots may be as far apart as this share of their age
_AT_ONCE = 10_000  # lines that are deleted with a snapshot, beside twice those it comes with
_LINE = 48  # bytes of a line on disk, beside its values


class Snapshot(NamedTuple):
    """Where the state of the server was written: after the journal's lines up to `line`."""

    tick: int
    line: int
    generation: int  # of the manifest


def kept(snapshots: Sequence[Snapshot], oldest: int) -> list[Snapshot]:
    """Those to keep, so that each tick since `oldest` can be computed from the one before it.

    They thin out with age: to reach a tick takes the lines of half its age, or of the time between
    two new snapshots. What a manifest began with cannot be computed, and stays. Both are given and
    returned with the oldest first.
    """
    # The tick in which a manifest began is computed under the manifest before it.
    began = {found.generation: found.tick for found in reversed(snapshots)}
    reaching = [
        place
        for place, found in enumerate(snapshots)
        if found.tick <= oldest and began[found.generation] < oldest
    ]
    first = max(0, min(max(reaching, default=0), len(snapshots) - ALWAYS))
    now = snapshots[-1].tick
    keep = [snapshots[first]]
    for here, behind in pairwise(snapshots[first + 1 :]):
        begins = here.generation != keep[-1].generation
        apart = behind.tick - keep[-1].tick > _SHARE * (now - behind.tick)
        if begins or apart or here in snapshots[-ALWAYS:]:
            keep.append(here)
    return [*keep, *snapshots[first + 1 :][-1:]]


def deletable(first: int, until: int, came: int) -> int:
    """The last line to delete now, of those from `first` to `until`, when `came` are new.

    A bound on the work of one transaction; what is left is deleted with the next snapshots.
    """
    return min(until, first + 2 * came + _AT_ONCE)


def most_bytes(ticks: float, lines: float, values: int, state: int) -> int:
    """What a journal that reaches back so many ticks takes on disk, at so many lines in a tick.

    A line has so many bytes of values, and a snapshot's state so many bytes.
    """
    reach = ticks * (1 + _SHARE)  # the snapshot before the oldest tick may be that much older
    snapshots = ALWAYS + 2 * math.log(max(ticks, 1), 1 + _SHARE)
    return round(reach * lines * (_LINE + values) + snapshots * state)
