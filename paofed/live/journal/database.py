"""One SQLite file: its transactions, its lock, and what is said when it is damaged."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paofed.errors import InputError, PaofedError, require_format
from paofed.files import locking
from paofed.live.journal import confirmed
from paofed.live.journal.confirmed import Confirmed
from paofed.live.journal.schema import FORMAT, TABLES, checksum
from paofed.words import counted

FILE = "fleet.sqlite"

CONFIRMED = FILE + confirmed.SUFFIX
LAST_RESORT = "restore a backup with `paofed fleet restore`"
REMEDY = (
    "`paofed fleet repair` goes on from the newest intact snapshot and the lines behind it; "
    "copy the folder first"
)
_GO_ON = (
    "restore a newer backup with `paofed fleet restore`, or let `paofed fleet repair` go on with "
    "what is there: devices will not send again what they believe safe"
)


class StoreError(InputError):
    """Raised for a store that cannot be opened, is damaged, or is no store."""


class TakenOverError(PaofedError):
    """Raised when another server does the work of this one."""


class Database:
    """A fleet's file, open: transactions, and errors that say what can be done."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._connection = connection
        self._ahead = True  # whether the database may hold more than was confirmed

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

    def _make_tables(self) -> None:
        """Make the tables of a new fleet, and begin to count what is confirmed."""
        with explained(self.folder / FILE):
            self._connection.executescript(f"BEGIN IMMEDIATE; {TABLES} COMMIT;")
        with self._writing():
            self._connection.execute(f"PRAGMA user_version = {FORMAT}")
            self._connection.execute("UPDATE seal SET schema = ?", (self._schema(),))
        self._begin_confirming()

    def _require_format(self) -> None:
        """Refuse a file without tables, or with those of a later paofed."""
        number = int(self._rows("PRAGMA user_version")[0][0])
        if not number:
            raise StoreError(
                f"{self.folder / FILE} is empty, or what was written to {FILE}-wal is lost: "
                f"{LAST_RESORT}"
            )
        require_format(f"{self.folder / FILE} is a fleet's database", number, FORMAT)

    def _schema(self) -> int:
        rows = self._rows(  # as bytes, since damaged text cannot be decoded
            "SELECT CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB) "
            "FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY name"
        )
        return checksum(*(part for row in rows for part in row))

    def _check_schema(self) -> None:
        """Refuse tables whose schema is not as paofed made it."""
        if self._rows("SELECT schema FROM seal") != [(self._schema(),)]:
            raise StoreError(
                f"the tables of {self.folder / FILE} are not as paofed made them, damaged or "
                f"changed by hand: {LAST_RESORT}"
            )

    # What was confirmed

    def confirm(self, sync: Callable[[str], None] = lambda _: None) -> None:
        """Count what is committed, so that its loss would be noticed; then people may be told."""
        if self._ahead:
            path = self.folder / CONFIRMED
            with explained(path):
                confirmed.write(path, self._held(), sync)
            self._ahead = False

    def _begin_confirming(self) -> None:
        """Confirm what is there now, and forget whatever was confirmed before."""
        path = self.folder / CONFIRMED
        with explained(path):
            confirmed.create(path, self._held())
        self._ahead = False

    def _held(self) -> Confirmed:
        """Return the counts of what the database holds."""
        rows = self._rows(
            "SELECT history, (SELECT coalesce(max(seq), 0) FROM sqlite_sequence "
            "WHERE name = 'journal'), changes FROM seal"
        )
        if len(rows) != 1 or not all(isinstance(value, int) for value in rows[0]):
            raise StoreError(f"the counts in {self.folder / FILE} are damaged: {LAST_RESORT}")
        return Confirmed(*rows[0])

    def _noted(self) -> Confirmed | None:
        """Return what was confirmed; read this before the database, which may go on meanwhile."""
        path = self.folder / CONFIRMED
        with explained(path):
            return confirmed.read(path)

    def _require(self, known: Confirmed | None, held: Confirmed) -> None:
        """Refuse a database that has less than was confirmed."""
        path = self.folder / FILE
        if known is None:
            raise StoreError(
                f"{self.folder / CONFIRMED} is missing or damaged, so nobody can tell whether "
                f"{path.name} has all that was confirmed: {_GO_ON}"
            )
        if known.history != held.history:
            raise StoreError(
                f"{path} and {CONFIRMED} do not belong together, one of them is a copy from before "
                f"a repair or from elsewhere: {_GO_ON}"
            )
        lines, changes = known.lines - held.lines, known.changes - held.changes
        if lines > 0 or changes > 0:
            raise StoreError(f"{path} lacks {missing(lines, changes)}: {_GO_ON}")

    def copy_to(self, folder: Path) -> None:
        """Write a copy of the file, as of one moment and all of it confirmed, to a new place.

        The fleet's server may be at work.
        """
        path = folder / FILE
        with explained(path):
            copy = connect(path)
            try:
                path.chmod(0o600)
                self._connection.backup(copy)
                Database(folder, copy)._begin_confirming()
            finally:
                copy.close()

    # Transactions

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with explained(self.folder / FILE):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.rollback()
                raise
            self._connection.commit()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """See one moment of the file inside the block, whatever its server writes meanwhile."""
        with explained(self.folder / FILE):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.rollback()

    def _rows(
        self, query: str, values: tuple[object, ...] | dict[str, object] = ()
    ) -> list[tuple[Any, ...]]:
        with explained(self.folder / FILE):
            return self._connection.execute(query, values).fetchall()

    def version(self) -> int:
        """Return a number that changes whenever another process has written to the file."""
        return int(self._rows("PRAGMA data_version")[0][0])


@contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Be the only process that changes a fleet's model; the lock ends with the process.

    The folder itself is locked, since nobody can delete it and go on, and a file in it, since some
    network file systems lock files alone.
    """
    folder = Path(folder)
    running = f"a server of {folder} is running: stop it first, or leave it at work"
    with locking(folder / "lock", StoreError(running)), locking(folder, StoreError(running)):
        yield


def is_locked(folder: str | Path) -> bool:
    """Whether some process is at work on a fleet's model."""
    try:
        with locked(folder):
            return False
    except StoreError:
        return True


def connect(path: Path) -> sqlite3.Connection:
    """Open the file so that whatever is committed is on disk."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.create_function("crc", -1, checksum, deterministic=True)
    try:
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def is_finished(path: Path) -> bool:
    """Whether a file is more than the beginning of a store that was never finished."""
    try:
        connection = sqlite3.connect(path)
    except sqlite3.Error:
        return True  # something else, which we must not replace
    try:
        return bool(connection.execute("SELECT count(*) FROM manifest").fetchone()[0])
    except sqlite3.OperationalError:
        return False  # there is no such table
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return True
    finally:
        connection.close()


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say in one line what SQLite found, and what can be done about it."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be used: {error.strerror}") from None
    except UnicodeDecodeError:  # SQLite's own text about its schema
        raise StoreError(
            f"{path} is damaged (text that cannot be decoded): {LAST_RESORT}"
        ) from None
    except sqlite3.Error as error:
        usable = isinstance(error, sqlite3.OperationalError) and "decode" not in str(error)
        if usable:  # the file is fine: a full disk, say, or another process at work
            raise StoreError(f"{path} cannot be used: {_first_line(error)}") from None
        raise StoreError(f"{path} is damaged ({_first_line(error)}): {LAST_RESORT}") from None


def missing(lines: int, changes: int) -> str:
    """Say how much is missing; empty if nothing is."""
    updates = counted(lines, "confirmed update") if lines > 0 else ""
    what = "of who is in the fleet or of what it has agreed on"
    joined = f"{counted(changes, 'confirmed change')} {what}" if changes > 0 else ""
    return " and ".join(filter(None, (updates, joined)))


def _first_line(error: sqlite3.Error) -> str:
    return (str(error).splitlines() or ["?"])[0]
