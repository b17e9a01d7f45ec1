"""The server's memory: a journal of accepted updates and two snapshots, in one SQLite file.

A closed tick's model is a function of the journal, so a restart is a snapshot and what was written
after it, bit for bit. The journal reaches back to the older snapshot: from there it can be replayed
into the newer one, which is how `verify` knows that nothing was lost, and what remains if the newer
one is damaged. What is older is deleted. SQLite keeps what is committed (WAL, synchronous FULL);
checksums tell what a failing disk did to it.
"""

import fcntl
import io
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from paofed.errors import InputError, unknown
from paofed.files import make_folder
from paofed.live.coordinator import Coordinator, Record
from paofed.live.manifest import Manifest

FILE = "fleet.sqlite"

# From an empty file to the present schema, one step each; `user_version` counts those done.
MIGRATIONS: Sequence[str] = (
    """
    CREATE TABLE manifest (json TEXT NOT NULL, checksum INTEGER NOT NULL);
    CREATE TABLE device (
        id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE,
        quarantined INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE journal (
        line INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again, even when all are deleted
        arrived INTEGER NOT NULL, device INTEGER NOT NULL,
        sent INTEGER NOT NULL, vals BLOB NOT NULL, checksum INTEGER NOT NULL);
    CREATE TABLE snapshot (
        tick INTEGER NOT NULL, line INTEGER PRIMARY KEY, state BLOB NOT NULL,
        checksum INTEGER NOT NULL);
    """,
    # A device that has left keeps its index for ever and gives its label back.
    """
    CREATE TABLE member (
        id INTEGER PRIMARY KEY, label TEXT NOT NULL, credential TEXT NOT NULL DEFAULT '',
        quarantined INTEGER NOT NULL DEFAULT 0, removed INTEGER NOT NULL DEFAULT 0);
    INSERT INTO member (id, label, quarantined) SELECT id, label, quarantined FROM device;
    DROP TABLE device;
    ALTER TABLE member RENAME TO device;
    CREATE UNIQUE INDEX present ON device (label) WHERE NOT removed;
    CREATE TABLE revoked (credential TEXT PRIMARY KEY);
    CREATE TABLE server (credential TEXT NOT NULL);
    """,
)


class StoreError(InputError):
    """A store that cannot be opened, is damaged, or is not one."""


@contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Be the only one that changes a fleet's model; the lock ends with its process."""
    with (Path(folder) / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreError(
                f"a server of {folder} is running: stop it first, or leave it at work"
            ) from None
        yield


def is_locked(folder: str | Path) -> bool:
    """Whether somebody is at work on a fleet's model."""
    try:
        with locked(folder):
            return False
    except StoreError:
        return True


class Member(NamedTuple):
    """A device of the fleet, or one that was."""

    device: int
    label: str
    credential: str  # what the broker knows it by: a certificate's number, a password's hash
    quarantined: bool
    removed: bool


class Snapshot(NamedTuple):
    """The coordinator's state after the journal's lines up to `line`."""

    tick: int
    line: int
    state: bytes


class Verification(NamedTuple):
    """What recomputing the model from the journal showed."""

    tick: int
    lines: int  # replayed
    agrees: bool


class Store:
    """One fleet's folder, open for its server or for looking at it."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._connection = connection

    @classmethod
    def create(cls, folder: str | Path, manifest: Manifest) -> Self:
        """Make a new fleet; a folder that holds one is refused."""
        folder = Path(folder)
        make_folder(folder)
        path = folder / FILE
        if path.exists() and _is_finished(path):
            raise StoreError(f"{folder} holds a fleet already: choose another folder")
        for leftover in folder.glob(f"{FILE}*"):  # of a creation that was cut off
            leftover.unlink()
        with _explained(path):
            store = cls(folder, _connect(path))
            with store._closed_on_error():
                store._migrate()
                store.snapshot(Coordinator(manifest))
                text = manifest.to_json()
                with store._writing():  # last: a fleet without a manifest is none
                    store._connection.execute(
                        "INSERT INTO manifest VALUES (?, ?)", (text, zlib.crc32(text.encode()))
                    )
        return store

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open a fleet; one that is damaged is told, with what can be done."""
        folder = Path(folder)
        path = folder / FILE
        if not path.is_file():
            raise StoreError(f"{folder} holds no fleet: there is no {FILE} in it")
        with _explained(path):
            store = cls(folder, _connect(path))
            with store._closed_on_error():
                store._check_pages()
                store._migrate()
        return store

    def close(self) -> None:
        """Close the file; what was not committed is gone."""
        self._connection.close()

    @contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _check_pages(self) -> None:
        found = self._connection.execute("PRAGMA quick_check").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found)

    def _migrate(self) -> None:
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{self.folder} was written by a newer paofed (schema {version}, this one knows "
                f"{len(MIGRATIONS)}): upgrade paofed"
            )
        for step in range(version, len(MIGRATIONS)):
            # One transaction each: a half-made schema never exists.
            self._connection.executescript(
                f"BEGIN IMMEDIATE; {MIGRATIONS[step]} PRAGMA user_version = {step + 1}; COMMIT;"
            )

    # Writing

    def write(
        self, records: Iterable[Record], sync: Callable[[str], None] = lambda _: None
    ) -> None:
        """Commit lines of the journal; afterwards their replies may leave.

        `sync` is told where the write stands: tests let the power fail there.
        """
        rows = [(*r[:3], blob := r.values.tobytes(), _checksum(*r[:3], blob)) for r in records]
        with self._writing():
            self._connection.executemany(
                "INSERT INTO journal (arrived, device, sent, vals, checksum) VALUES (?,?,?,?,?)",
                rows,
            )
            sync("before commit")
        sync("after commit")

    def snapshot(
        self, coordinator: Coordinator, sync: Callable[[str], None] = lambda _: None
    ) -> None:
        """Write the state, keep the newest two, and delete the journal behind the older one."""
        state = pack(coordinator.state())
        with self._writing():
            execute = self._connection.execute
            line = execute(
                "SELECT max(line) FROM (SELECT line FROM journal UNION "
                "SELECT line FROM snapshot UNION SELECT 0 AS line)"
            ).fetchone()[0]
            execute("DELETE FROM snapshot WHERE line = ?", (line,))
            execute(
                "INSERT INTO snapshot (tick, line, state, checksum) VALUES (?,?,?,?)",
                (coordinator.tick, line, state, _checksum(coordinator.tick, line, state)),
            )
            sync("inside snapshot")
            execute(
                "DELETE FROM snapshot WHERE line NOT IN "
                "(SELECT line FROM snapshot ORDER BY line DESC LIMIT 2)"
            )
            execute("DELETE FROM journal WHERE line <= (SELECT min(line) FROM snapshot)")
            sync("before snapshot's commit")
        sync("after snapshot")

    def add(self, label: str) -> int:
        """Give a device the next index, under the name people use for it."""
        return self.add_all([label])[0]

    def add_all(self, labels: Iterable[str]) -> list[int]:
        """The same for many, all or none."""
        label = ""
        found = []
        try:
            with self._writing():
                for label in labels:
                    row = self._connection.execute(
                        "INSERT INTO device (id, label) "
                        "VALUES ((SELECT coalesce(max(id) + 1, 0) FROM device), ?) RETURNING id",
                        (label,),
                    ).fetchone()
                    found.append(int(row[0]))
        except sqlite3.IntegrityError:
            raise StoreError(
                f"there is a device {label!r} already (`paofed fleet rotate` makes a new file)"
            ) from None
        return found

    def quarantine(self, device: int, *, on: bool = True) -> None:
        """Remember that a device's messages are refused, or no longer."""
        with self._writing():
            self._connection.execute(
                "UPDATE device SET quarantined = ? WHERE id = ?", (int(on), device)
            )

    def reissue(self, device: int, credential: str) -> None:
        """A device has this credential from now on; one it had before is revoked."""
        with self._writing():
            self._revoke(device)
            self._connection.execute(
                "UPDATE device SET credential = ? WHERE id = ?", (credential, device)
            )

    def serve_as(self, credential: str) -> None:
        """The server has this credential from now on; one it had before is revoked."""
        with self._writing():
            execute = self._connection.execute
            execute(
                "INSERT OR IGNORE INTO revoked SELECT credential FROM server WHERE credential != ''"
            )
            execute("DELETE FROM server")
            execute("INSERT INTO server VALUES (?)", (credential,))

    def remove(self, device: int) -> None:
        """A device leaves for good: its credential is revoked, its index never used again."""
        with self._writing():
            self._revoke(device)
            self._connection.execute("UPDATE device SET removed = 1 WHERE id = ?", (device,))

    def revoke(self, credential: str) -> None:
        """Take a credential back."""
        with self._writing():
            self._connection.execute("INSERT OR IGNORE INTO revoked VALUES (?)", (credential,))

    def _revoke(self, device: int) -> None:
        self._connection.execute(
            "INSERT OR IGNORE INTO revoked "
            "SELECT credential FROM device WHERE id = ? AND credential != ''",
            (device,),
        )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with _explained(self.folder / FILE):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.rollback()
                raise
            self._connection.commit()

    # Reading

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """See one moment of the file, whatever its server writes meanwhile."""
        with _explained(self.folder / FILE):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.rollback()

    def manifest(self) -> Manifest:
        """The present manifest."""
        rows = self._rows("SELECT json, checksum FROM manifest ORDER BY rowid DESC LIMIT 1")
        if not rows or zlib.crc32(str(rows[0][0]).encode()) != rows[0][1]:
            raise StoreError(f"the manifest in {self.folder / FILE} is damaged: {_LAST_RESORT}")
        return Manifest.from_json(rows[0][0])

    def members(self) -> list[Member]:
        """All devices that are or were in the fleet, by index."""
        rows = self._rows("SELECT id, label, credential, quarantined, removed FROM device")
        return sorted(Member(k, label, c, bool(q), bool(r)) for k, label, c, q, r in rows)

    def member(self, label: str) -> Member:
        """The device that people call so."""
        present = {m.label: m for m in self.members() if not m.removed}
        if label not in present:
            raise StoreError(unknown("device", label, present))
        return present[label]

    def revoked(self) -> list[str]:
        """Credentials that were taken back."""
        return [row[0] for row in self._rows("SELECT credential FROM revoked ORDER BY credential")]

    def server(self) -> str:
        """The server's own credential."""
        rows = self._rows("SELECT credential FROM server")
        return str(rows[0][0]) if rows else ""

    def version(self) -> int:
        """Another number whenever another process has written to the file."""
        return int(self._rows("PRAGMA data_version")[0][0])

    def introduce(self, coordinator: Coordinator) -> None:
        """Tell the server who its devices are."""
        for member in self.members():
            coordinator.add(member.device)
            coordinator.quarantine(member.device, on=member.quarantined)
            if member.removed:
                coordinator.remove(member.device)

    def recover(self) -> Coordinator:
        """The server as it was: the newest snapshot and the journal behind it."""
        with self._reading():
            snapshot = self._snapshots()[-1]
            coordinator = self._unpacked(snapshot)
            coordinator.recover(self.journal(snapshot.line))
        return coordinator

    def verify(self) -> Verification:
        """Recompute the newest snapshot from the older one and the journal between them."""
        with self._reading():
            return self._verified()

    def _verified(self) -> Verification:
        snapshots = self._snapshots()
        older, newer = snapshots[0], snapshots[-1]
        coordinator, expected = self._unpacked(older), self._unpacked(newer)
        records = list(self.journal(older.line, newer.line))
        coordinator.recover(records)
        coordinator.close(newer.tick)
        list(self.journal(newer.line))  # what came after it is checked, too
        return Verification(newer.tick, len(records), coordinator.digest() == expected.digest())

    def repair(self) -> int:
        """Go on from the newest intact snapshot and the lines that can still be read behind it.

        Returns how many lines had to be given up: their devices believe them safe.
        """
        lines = self.lines()
        snapshot = self._snapshots(damaged_too=True)[-1]
        coordinator = self._unpacked(snapshot)
        good: list[Record] = []
        with suppress(StoreError):
            good.extend(self.journal(snapshot.line))
        coordinator.recover(good)
        behind = self._rows("SELECT count(*) FROM journal WHERE line <= ?", (snapshot.line,))
        with self._writing():
            execute = self._connection.execute
            execute("DELETE FROM snapshot WHERE line != ?", (snapshot.line,))
            execute(
                "DELETE FROM journal WHERE line NOT IN "
                "(SELECT line FROM journal WHERE line > ? ORDER BY line LIMIT ?)",
                (snapshot.line, len(good)),
            )
        self.snapshot(coordinator)
        return lines - int(behind[0][0]) - len(good)

    def journal(self, after: int = 0, until: int | None = None) -> Iterator[Record]:
        """The lines behind one and up to another, checked."""
        last = 2**62 if until is None else until
        for line, arrived, device, sent, values, checksum in self._rows(
            "SELECT line, arrived, device, sent, vals, checksum FROM journal "
            "WHERE line > ? AND line <= ? ORDER BY line",
            (after, last),
        ):
            if _checksum(arrived, device, sent, values) != checksum:
                raise StoreError(f"line {line} of {self.folder / FILE} is damaged: {_REMEDY}")
            yield Record(arrived, device, sent, np.frombuffer(values, dtype="<f4"))

    def snapshot_tick(self) -> int:
        """The tick of the newest snapshot."""
        return self._snapshots()[-1].tick

    def history(self) -> tuple[Coordinator, list[Record]]:
        """The server as it was at the older snapshot, and all lines since."""
        with self._reading():
            older = self._snapshots()[0]
            return self._unpacked(older), list(self.journal(older.line))

    def lines(self) -> int:
        """How many lines the journal holds."""
        return int(self._rows("SELECT count(*) FROM journal")[0][0])

    def _rows(self, query: str, values: tuple[int, ...] = ()) -> list[tuple[Any, ...]]:
        with _explained(self.folder / FILE):
            return self._connection.execute(query, values).fetchall()

    def _snapshots(self, *, damaged_too: bool = False) -> list[Snapshot]:
        """Oldest first. A damaged one is an error, or is left out."""
        rows = self._rows("SELECT tick, line, state, checksum FROM snapshot ORDER BY line")
        intact = [Snapshot(*row[:3]) for row in rows if _checksum(*row[:3]) == row[3]]
        if len(intact) < len(rows) and not damaged_too:
            raise StoreError(f"a snapshot in {self.folder / FILE} is damaged: {_REMEDY}")
        if not intact:
            raise StoreError(f"{self.folder / FILE} has no intact snapshot: {_LAST_RESORT}")
        return intact

    def _unpacked(self, snapshot: Snapshot) -> Coordinator:
        coordinator = Coordinator(self.manifest())
        with np.load(io.BytesIO(snapshot.state), allow_pickle=False) as arrays:
            coordinator.restore(dict(arrays))
        self.introduce(coordinator)
        return coordinator


_REMEDY = (
    "`paofed fleet repair` goes on from the newest intact snapshot and the lines behind it; "
    "copy the folder first"
)
_LAST_RESORT = "restore the folder from a copy, or salvage the file with sqlite3's .recover"


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_finished(path: Path) -> bool:
    """Whether a file is more than the beginning of a store."""
    try:
        connection = sqlite3.connect(path)
    except sqlite3.Error:
        return True  # something else: not ours to replace
    try:
        return bool(connection.execute("SELECT count(*) FROM manifest").fetchone()[0])
    except sqlite3.OperationalError:
        return False  # no such table
    except sqlite3.DatabaseError:
        return True
    finally:
        connection.close()


def _checksum(*parts: object) -> int:
    """Of numbers and one blob; what is neither has another one."""
    return zlib.crc32(b" ".join(p if isinstance(p, bytes) else repr(p).encode() for p in parts))


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say in one line what SQLite found, and what can be done."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise  # of a row, not of the file
    except sqlite3.OperationalError as error:
        raise StoreError(f"{path} cannot be used: {_first_line(error)}") from None
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} is damaged ({_first_line(error)}): {_LAST_RESORT}") from None


def _first_line(error: sqlite3.Error) -> str:
    return (str(error).splitlines() or ["?"])[0]


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays as the bytes of an `.npz`."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()
