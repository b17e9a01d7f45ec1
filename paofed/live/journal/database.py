"""One SQLite file: its transactions, its lock, and what is said when it is damaged."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from paofed.errors import InputError, PaofedError, require_format
from paofed.files import locking
from paofed.live.journal.schema import COLUMNS, FORMAT, TABLES, TOTAL, checksum, is_intact

Row = tuple[Any, ...]
# Is called with each stage of a write: tests let the power fail there.
Sync = Callable[[str], None]

FILE = "fleet.sqlite"
LAST_RESORT = "restore a backup with `paofed fleet restore`"
REMEDY = (
    "`paofed fleet repair` goes on from the newest intact snapshot and the lines behind it; "
    "copy the folder first"
)


class StoreError(InputError):
    """Raised for a store that cannot be opened, is damaged, or is no store."""


class TakenOverError(PaofedError):
    """Raised when another server does the work of this one."""


class Counts(NamedTuple):
    """How much a database has committed; both counts only grow within one history."""

    history: int  # a number that changes with each repair
    lines: int  # the number of the journal's last line
    changes: int  # the number of changes of who is in the fleet, or of what it has agreed on


class Database:
    """A fleet's file, open: rows, transactions, and errors that say what can be done.

    SQLite nests no transactions: who opens one calls nothing that opens another. What has to be
    called inside a transaction says so.
    """

    def __init__(self, folder: Path) -> None:
        """Open the file so that whatever is committed is on disk."""
        self.folder = folder
        self.path = folder / FILE
        with explained(self.path):
            self._connection = sqlite3.connect(self.path, isolation_level=None)
            with self.closed_on_error():
                self._connection.create_function("crc", -1, checksum, deterministic=True)
                for pragma in ("journal_mode = WAL", "synchronous = FULL"):
                    self.execute(f"PRAGMA {pragma}")

    def close(self) -> None:
        """Close the file; what was not committed is gone."""
        self._connection.close()

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Close the file if the block fails."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def make_tables(self) -> None:
        """Make the tables of a new fleet."""
        with explained(self.path):
            self._connection.executescript(f"BEGIN IMMEDIATE; {TABLES} COMMIT;")
        with self.writing():
            self.execute(f"PRAGMA user_version = {FORMAT}")
            self.execute("UPDATE seal SET schema = ?", (self._schema(),))

    def copy_to(self, other: Self) -> None:
        """Write what the file holds, as of one moment, to another one; a server may be at work."""
        self._connection.backup(other._connection)

    # Transactions

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Commit what the block writes, all or nothing."""
        with explained(self.path):
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.rollback()
                raise
            self._connection.commit()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one moment of the file inside the block, whatever its server writes meanwhile."""
        with explained(self.path):
            self.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.rollback()

    def execute(self, statement: str, values: Row = ()) -> None:
        """Write, inside a transaction."""
        self._connection.execute(statement, values)

    def put(self, table: str, *rows: Row, again: str = "ABORT") -> None:
        """Write rows with their checksums, inside a transaction.

        `again` is what SQLite does about a row that is there already.
        """
        columns = ", ".join((*COLUMNS[table], "checksum"))
        marks = ", ".join("?" * (len(COLUMNS[table]) + 1))
        statement = f"INSERT OR {again} INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 (constants)
        self._connection.executemany(statement, [(*row, checksum(*row)) for row in rows])

    def rows(self, query: str, values: Row = ()) -> list[Row]:
        """Return what a query finds, inside a transaction or outside."""
        with explained(self.path):
            return self._connection.execute(query, values).fetchall()

    def value(self, query: str, values: Row = ()) -> Any:
        """Return the only value that a query finds."""
        return self.rows(query, values)[0][0]

    def select(self, table: str, which: str = "", values: Row = ()) -> list[Row]:
        """Return rows of a table with their checksums, by a condition in SQL."""
        columns = ", ".join(COLUMNS[table])
        return self.rows(f"SELECT {columns}, checksum FROM {table} {which}", values)  # noqa: S608 (constants)

    def read(self, table: str, what: str, which: str = "", values: Row = ()) -> list[Row]:
        """Return rows of a table without checksums; one that is not as it was written is an error.

        `what` is what a row is of; {} stands for its first value.
        """
        found = self.select(table, which, values)
        for row in found:
            if not is_intact(table, row):
                raise self.damaged(what.format(row[0]))
        return [row[:-1] for row in found]

    def version(self) -> int:
        """Return a number that changes whenever another process has written to the file."""
        return int(self.value("PRAGMA data_version"))

    def counts(self) -> Counts:
        """Return the counts of what the file holds."""
        rows = self.rows(
            "SELECT history, (SELECT coalesce(max(seq), 0) FROM sqlite_sequence "
            "WHERE name = 'journal'), changes FROM seal"
        )
        if len(rows) != 1 or not all(isinstance(value, int) for value in rows[0]):
            raise StoreError(f"the counts in {self.path} are damaged: {LAST_RESORT}")
        return Counts(*rows[0])

    # Damage

    def check(self) -> None:
        """Refuse a file with damaged pages or other tables than paofed's, or of a later paofed."""
        with explained(self.path):
            found = self.value("PRAGMA quick_check")
            if found != "ok":
                raise sqlite3.DatabaseError(found)
        number = int(self.value("PRAGMA user_version"))
        if not number:
            raise StoreError(
                f"{self.path} is empty, or what was written to {FILE}-wal is lost: {LAST_RESORT}"
            )
        require_format(f"{self.path} is a fleet's database", number, FORMAT)
        if self.rows("SELECT schema FROM seal") != [(self._schema(),)]:
            raise StoreError(
                f"the tables of {self.path} are not as paofed made them, damaged or changed by "
                f"hand: {LAST_RESORT}"
            )

    def _schema(self) -> int:
        rows = self.rows(  # as bytes, since damaged text cannot be decoded
            "SELECT CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB) "
            "FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY name"
        )
        return checksum(*(part for row in rows for part in row))

    def require_total(self) -> None:
        """Refuse a file in which a row that is sealed is missing, or not the newest."""
        if self.value("SELECT total FROM seal") != self.value(TOTAL):
            raise StoreError(
                f"rows of devices, credentials or manifests in {self.path} are missing: {REMEDY}"
            )

    def damaged(self, what: str, remedy: str = REMEDY) -> StoreError:
        """Return the error that says that something in the file is damaged."""
        return StoreError(f"{what} in {self.path} is damaged: {remedy}")


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


def nothing(_: object) -> None:
    """Do nothing."""


def _first_line(error: sqlite3.Error) -> str:
    return (str(error).splitlines() or ["?"])[0]
