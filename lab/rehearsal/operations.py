"""Power cuts at any write of the server, and of what people do who intervene in a fleet.

An intervention that is interrupted must leave the fleet as it was before or as it was to be. The
latter is known from a twin: a copy of the folder on which the same intervention is not interrupted.
"""

import shutil
from contextlib import closing
from pathlib import Path

from lab.rehearsal.auditor import Auditor, BrokenPromiseError
from lab.rehearsal.fate import Fate
from lab.rehearsal.interventions import WRITES, Backup, Intervention, intervention
from paofed.live.journal.confirmation import CONFIRMED
from paofed.live.journal.database import FILE, StoreError
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


_EARLIEST, _SOON = 5, 5  # seconds
OPERATIONS = (
    *("backup", *WRITES),
    *(f"{name}: {point}" for name, writes in WRITES.items() for point in writes),
)


class Operations:
    """When people intervene in the fleet of a seed, and where the power fails meanwhile.

    People intervene at the worst moment: while updates wait for a tick to come, if any do soon.

    Over as many seeds in a row as there are interventions, plus one, each intervention is the first
    of one seed, and one seed has none. Over that many times as many seeds as an intervention has
    writes, the power fails at each of its writes.
    """

    def __init__(self, fate: Fate, seconds: int) -> None:
        """Plan interventions; they are done before so many seconds have passed."""
        self._fate = fate
        self._backup: Backup | None = None
        first = fate.turn([*WRITES, ""])
        self._at: dict[int, tuple[str, str]] = {}
        if first:
            random = fate.random
            latest = seconds - _SOON
            when = sorted(random.integers(_EARLIEST, latest, 1 + random.integers(3)).tolist())
            cuts = (*WRITES[first], "")
            self._at[when[0]] = first, cuts[fate.seed // (len(WRITES) + 1) % len(cuts)]
            for second in when[1:]:
                name = fate.one_of(tuple(WRITES))
                self._at.setdefault(second, (name, fate.one_of((*WRITES[name], ""))))

    def back_up(self, folder: Path, auditor: Auditor) -> None:
        """Copy the fleet now and then, if it will be restored; its server may be at work."""
        due = any(name == "restore" for name, _ in self._at.values())
        if due and (self._backup is None or self._fate.strikes(0.05)):
            self._fate.hits["backup"] += 1
            self._backup = Backup(folder, auditor)

    def is_due(self, *, waiting: bool) -> bool:
        """Whether an intervention is due now; `waiting` says whether updates wait to be applied."""
        due = min(self._at, default=self._fate.now + 1)
        return due <= self._fate.now and (waiting or due + _SOON <= self._fate.now)

    def perform(self, folder: Path, auditor: Auditor) -> None:
        """Do what is due to a folder whose server is stopped, and tell the auditor."""
        name, cut = self._at.pop(min(self._at))
        does = self._intervention(name, folder)
        if does is None:
            return
        self._fate.hits[name] += 1
        after = _on_a_twin(folder, does)
        before = _found(folder)
        possible = [after]
        try:
            does.do(folder, lambda point: self._may_fail(name, point, cut))
        except PowerCut:
            possible.append(before)
        found = _found(folder)
        if found not in possible:
            raise BrokenPromiseError(f"{name} ({cut}) left neither the old fleet nor the new one")
        if found == after:
            with closing(Store.open(folder)) as store:
                does.tell(auditor, store.recover())

    def _intervention(self, name: str, folder: Path) -> Intervention | None:
        if name != "restore":
            return intervention(self._fate, name, folder)
        if self._backup is not None:
            self._backup.now = self._fate.wall
        return self._backup

    def _may_fail(self, name: str, point: str, cut: str) -> None:
        if point == cut:
            self._fate.hits[f"{name}: {point}"] += 1
            raise PowerCut


def _on_a_twin(folder: Path, does: Intervention) -> tuple[str, bytes]:
    """Return what would be found if something was done to a folder, and not interrupted."""
    place = folder.with_name("twins")
    twin = place / folder.name
    shutil.copytree(folder, twin)
    does.do(twin, lambda _: None)
    found = _found(twin)
    shutil.rmtree(place)
    return found


def _found(folder: Path) -> tuple[str, bytes]:
    """Return what a fleet has agreed on, and the state of its server."""
    with closing(Store.open(folder)) as store:
        return store.epochs.manifest().to_json(), store.recover().digest()
