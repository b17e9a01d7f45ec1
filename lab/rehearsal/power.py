"""Power cuts at every write of the server, and a log whose end is lost with the power."""

import shutil
from contextlib import closing
from pathlib import Path

from lab.rehearsal.auditor import BrokenPromiseError
from lab.rehearsal.fate import Fate
from paofed.live.journal.database import CONFIRMED, FILE, StoreError
from paofed.live.journal.store import Store

CRASHES = (
    "before write",
    "before commit",
    "after commit",
    "inside confirmation",
    "after confirmation",
    "before reply",
    "after close",
    "inside snapshot",
    "before snapshot's commit",
    "after snapshot",
)
DISK = ("log cut short",)


class PowerCut(BaseException):
    """Ends the server wherever it stands."""


def may_fail(fate: Fate, point: str) -> None:
    """Let the power fail, by chance, at this point of a write."""
    if fate.strikes(0.1 if "snapshot" in point else 0.02):
        fate.hits[point] += 1
        raise PowerCut


def cut_log_short(fate: Fate, folder: Path, promised: int) -> None:
    """Lose the end of SQLite's log with the power: no promise may then be lost silently."""
    place = folder / "cut-short"
    place.mkdir()
    for name in (FILE, f"{FILE}-wal", CONFIRMED):
        shutil.copy(folder / name, place)
    with (place / f"{FILE}-wal").open("r+b") as log:
        log.truncate(int(fate.random.integers(1 + log.seek(0, 2))))
    try:
        with closing(Store.open(place)) as store:
            kept = store.recover().counts["accepted"]
    except StoreError:
        fate.hits["log cut short"] += 1
    else:
        if kept < promised:
            raise BrokenPromiseError(f"{promised - kept} lines are lost, yet confirmed")
    shutil.rmtree(place)
