"""Local times as clocks on a wall show them: some occur twice in autumn, some never in spring."""

from collections import Counter
from datetime import UTC, datetime

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.columns.calendar import zone_of
from paofed.world.table.source import Source


def in_utc(
    source: Source, shown: FloatArray, local: BoolArray, zone: str, devices: IntArray
) -> FloatArray:
    """Return seconds since 1970 of the times `shown` by a zone's clocks, where they are `local`.

    A time that clocks show twice is the earlier one for the first such reading of a device in the
    file, and the later one for readings of the device after that. `devices` are indices.
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
    seen: Counter[tuple[int, float]] = Counter()
    for row in np.flatnonzero(twice).tolist():
        reading = int(devices[row]), float(shown[row])
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
    """Return by how many seconds clocks are ahead of UTC when they show a time.

    A `fold` of 0 is the first time that they show it, 1 the second.
    """
    clocks = zone_of(zone)
    walls = (datetime.fromtimestamp(time, UTC).replace(tzinfo=None) for time in shown.tolist())
    instants = [wall.replace(tzinfo=clocks, fold=fold).timestamp() for wall in walls]
    ahead: FloatArray = shown - np.array(instants)
    return ahead
