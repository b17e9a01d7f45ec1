"""How far back a journal reaches: which of its snapshots are kept, and what that takes."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

# How many of the newest snapshots are kept: an older one stands in if the newest is damaged.
ALWAYS = 2
_SHARE = 0.5  # snapshots may be as far apart as this share of their age
# Lines deleted with a snapshot, beside twice the lines that came since the last one.
_AT_ONCE = 10_000
_LINE = 48  # bytes of a line on disk, beside its values


class Snapshot(NamedTuple):
    """Where the state of the server was written: after the journal's lines up to `line`."""

    tick: int
    line: int
    generation: int  # generation of the manifest


class Disk(NamedTuple):
    """Bytes that a journal takes on disk."""

    now: int
    expected: int  # once the journal reaches back as far as it may, at the present rate of messages
    most: int  # likewise, if every device is heard in every tick


def kept(snapshots: Sequence[Snapshot], oldest: int) -> list[Snapshot]:
    """Return the snapshots to keep, so that each tick since `oldest` can be computed from one.

    Snapshots thin out with age: to compute a tick takes the lines of half its age, or of the time
    between two new snapshots. The first state of a manifest cannot be computed, and stays. Both
    lists have the oldest first.
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
    """Return the last line to delete now, of those from `first` to `until`, when `came` are new.

    This bounds the work of one transaction; the rest is deleted with the next snapshots.
    """
    return min(until, first + 2 * came + _AT_ONCE)


def most_bytes(ticks: float, lines: float, values: int, state: int) -> int:
    """Return the bytes on disk of a journal that reaches back `ticks`, with `lines` in a tick.

    A line has `values` bytes of values, and a snapshot `state` bytes of state.
    """
    reach = ticks * (1 + _SHARE)  # the snapshot before the oldest tick may be that much older
    snapshots = ALWAYS + 2 * math.log(max(ticks, 1), 1 + _SHARE)
    return round(reach * lines * (_LINE + values) + snapshots * state)
