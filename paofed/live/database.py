"""One SQLite file: its schema, its transactions, its lock, and what is said when it is damaged."""

import fcntl
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paofed.errors import InputError

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
LAST_RESORT = "restore the folder from a copy, or salvage the file with sqlite3's .recover"


class StoreError(InputError):
    """A store that cannot be opened, is damaged, or is not one."""


class Database:
    """A fleet's file, open: transactions, and errors that say what can be done."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._connection = connection

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
        """See one moment of the file, whatever its server writes meanwhile."""
        with explained(self.folder / FILE):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.rollback()

    def _rows(self, query: str, values: tuple[int, ...] = ()) -> list[tuple[Any, ...]]:
        with explained(self.folder / FILE):
            return self._connection.execute(query, values).fetchall()

    def version(self) -> int:
        """Another number whenever another process has written to the file."""
        return int(self._rows("PRAGMA data_version")[0][0])


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


def connect(path: Path) -> sqlite3.Connection:
    """Open the file so that what is committed is on disk."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def is_finished(path: Path) -> bool:
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


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say in one line what SQLite found, and what can be done."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise  # of a row, not of the file
    except sqlite3.OperationalError as error:
        raise StoreError(f"{path} cannot be used: {_first_line(error)}") from None
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} is damaged ({_first_line(error)}): {LAST_RESORT}") from None


def _first_line(error: sqlite3.Error) -> str:
    return (str(error).splitlines() or ["?"])[0]
