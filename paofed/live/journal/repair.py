"""Going on with what is left of a damaged store, and saying what is not."""

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from paofed.live.journal.database import LAST_RESORT, StoreError
from paofed.live.journal.retention import Snapshot
from paofed.live.journal.schema import COLUMNS, MEMBERS, TOTAL
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Record

# The columns of each table of members in SQL, each cast to the type that the table declares. The
# bytes of a blob may be no text, and NULL has no type.
_TYPED = {
    table: ", ".join(
        f"CAST(CASE typeof({name}) WHEN 'blob' THEN hex({name}) ELSE coalesce({name}, '') END "
        f"AS {'TEXT' if kind is str else 'INTEGER'})"
        for name, kind in COLUMNS[table].items()
    )
    for table in MEMBERS
}
# The condition that a row has another checksum, or values of other types.
_BAD = {
    table: f"WHERE checksum IS NOT crc({columns}) OR ({columns}) IS NOT ({_TYPED[table]})"
    for table in MEMBERS
    for columns in [", ".join(COLUMNS[table])]
}


class Repair(NamedTuple):
    """What a repair had to give up."""

    lost: int = 0  # accepted updates that are lost, which their devices believe safe
    changes: int = 0  # lost changes of who is in the fleet, or of what it has agreed on
    complete: bool = True  # whether these counts are right; False: what was confirmed is not known
    devices: tuple[int, ...] = ()  # devices whose rows were damaged, and that are quarantined now
    regained: int = 0  # lost rows of revoked credentials that the broker's list had still
    unknown: bool = (
        False  # whether other rows of devices or credentials are lost: nobody knows whose
    )


def repair(store: Store, revoked: Iterable[str] = ()) -> Repair:
    """Go on from the newest intact snapshot and the lines after it that can still be read.

    Older snapshots stay, as far back as they agree with the journal. `revoked` are credentials
    that the broker refuses, which the database may have forgotten.
    """
    known, held = store.confirmation.read(), store.database.counts()
    complete = known is not None and known.history == held.history
    if known is None or not complete:
        known = held._replace(lines=0)
    mended = mend(store, revoked)
    intact = _intact(store)
    snapshot = intact[-1]
    coordinator = store.past.at_snapshot(snapshot)
    good: list[Record] = []
    with suppress(StoreError):
        good.extend(store.past.of_members(store.lines.read(snapshot.line), coordinator))
    coordinator.recover(good)
    last = snapshot.line + len(good)
    written = store.lines.newest()
    keep = _agreeing(store, intact)
    with store.database.writing():
        store.snapshots.delete(set(store.snapshots.all()).difference(keep))
        store.epochs.delete_before(keep[0].generation)
        store.lines.end_with(last)
        store.lines.delete_until(keep[0].line)
        store.snapshots.put(coordinator, last, snapshot.generation)
    # Last: until then, a repair that was cut off finds what was confirmed, and can be repeated.
    with store.database.writing():
        store.database.execute("UPDATE seal SET history = abs(random() / 2)")
    store.confirmation.begin()
    lost = max(known.lines, written, last) - last
    changes = max(known.changes - held.changes, 0)
    return mended._replace(lost=lost, changes=changes, complete=complete)


# Snapshots


def _intact(store: Store) -> list[Snapshot]:
    """Return the snapshots that a server can begin from; there is one of the present manifest.

    A newer manifest that is missing, or members that nobody can take up, are errors.
    """
    store.roster.members()
    present = store.epochs.present().generation
    found = [each for each in store.snapshots.all() if store.snapshots.state(each) is not None]
    if any(each.generation > present for each in found):
        raise store.epochs.damaged()
    intact = []
    for each in found:
        with suppress(StoreError):
            store.past.at_snapshot(each)
            intact.append(each)
    if not intact or intact[-1].generation < present:
        raise StoreError(f"{store.database.path} has no intact snapshot: {LAST_RESORT}")
    return intact


def _agreeing(store: Store, snapshots: list[Snapshot]) -> list[Snapshot]:
    """Return the newest snapshots as far back as the journal turns each into the next."""
    keep = snapshots[-1:]
    for older in reversed(snapshots[:-1]):
        agrees = False
        with suppress(StoreError):
            agrees = store.past.agrees(older, keep[0])
        if not agrees:
            break
        keep.insert(0, older)
    return keep


# Rows of devices and credentials


def mend(store: Store, revoked: Iterable[str] = ()) -> Repair:
    """Go on with the rows that are there; quarantine a device whose row was damaged.

    `revoked` are credentials that the broker refuses: lost rows of them are written again. A
    credential whose row is damaged is revoked: nobody can tell what its row said.
    """
    database, refuse = store.database, store.credentials.refuse
    damaged = []
    for (device,) in database.rows("SELECT id FROM device"):
        try:
            store.roster.at(device)
        except StoreError:
            damaged.append(device)
    # Mending does not count as a change: what is lost is still missed.
    total, changes = database.value("SELECT total FROM seal"), database.counts().changes
    with database.writing():
        doubtful = []
        for table in ("revoked", "expiring"):
            doubtful += database.select(table, _BAD[table])
            database.execute(f"DELETE FROM {table} {_BAD[table]}")  # noqa: S608 (constants)
        known = {row[0] for row in database.select("revoked")}
        regained = set(revoked) - known
        for credential in regained:
            refuse(credential)
        bad = any(database.select(table, _BAD[table]) for table in ("server", "spoken"))
        unknown = bad or database.value(TOTAL) != total
        for credential, *_ in doubtful:
            if isinstance(credential, str):
                refuse(credential)
        for device in damaged:
            database.execute("UPDATE device SET quarantined = 1 WHERE id = ?", (device,))
        for table in MEMBERS:
            columns = ", ".join(COLUMNS[table])
            database.execute(f"UPDATE {table} SET ({columns}) = ({_TYPED[table]})")  # noqa: S608 (constants)
            database.execute(f"UPDATE {table} SET checksum = crc({columns})")  # noqa: S608 (constants)
        database.execute(f"UPDATE seal SET total = ({TOTAL}), changes = ?", (changes,))  # noqa: S608 (constants)
    return Repair(devices=tuple(damaged), regained=len(regained), unknown=unknown)
