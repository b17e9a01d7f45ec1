"""Times as clocks on a wall show them: what is shown twice in autumn, and never in spring."""

from collections import Counter
from datetime import UTC, datetime

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray
from paofed.core.columns.calendar import zone_of
from paofed.world.table.columns import TextArray
from paofed.world.table.source import Source


def in_utc(
    source: Source, shown: FloatArray, local: BoolArray, zone: str, devices: TextArray
) -> FloatArray:
    """Seconds since 1970 of times that clocks of a zone have `shown`, where they are `local`.

    What clocks show twice is the earlier of the two for the first such reading of a device in the
    file, and the later for those behind it.
    """
    found, where = np.unique(shown, return_inverse=True)
    early, late = (_ahead(found, zone, fold)[where] for fold in (0, 1))
    never, twice = local & (early < late), local & (early > late)
    if never.any():
        row = int(np.argmax(never))
        wall = datetime.fromtimestamp(shown[row], UTC)
        source.refuse(
            row,
            f"clocks of {zone} never showed {wall:%Y-%m-%d %H:%M}, since they went forward: "
            f"expected local times; for clocks that keep winter time all year give a `zone` such "
            f"as Etc/GMT-1 (an hour ahead of UTC), for UTC none",
        )
    ahead = np.where(local, early, 0.0)
    seen: Counter[tuple[str, float]] = Counter()
    for row in np.flatnonzero(twice).tolist():
        reading = str(devices[row]), float(shown[row])
        if seen[reading]:
            ahead[row] = late[row]
        seen[reading] += 1
    if twice.any():
        source.doubts.append(
            f"{int(twice.sum()):,} readings at times that clocks of {zone} showed twice: the first "
            f"of a device in the file is taken as the earlier"
        )
    utc: FloatArray = shown - ahead
    return utc


def _ahead(shown: FloatArray, zone: str, fold: int) -> FloatArray:
    """By how many seconds clocks are ahead of UTC when they show a time, first or again."""
    clocks = zone_of(zone)
    walls = (datetime.fromtimestamp(time, UTC).replace(tzinfo=None) for time in shown.tolist())
    instants = [wall.replace(tzinfo=clocks, fold=fold).timestamp() for wall in walls]
    ahead: FloatArray = shown - np.array(instants)
    return ahead
