"""The one door to tables: what a table holds, read from its file once."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from paofed.core.arrays import FloatArray
from paofed.errors import FileError, needs_extra
from paofed.world.table.spec import Records, Table

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings


def read(table: Table) -> "Readings":
    """Read a table; the file is read again only after it has changed."""
    try:
        stat = Path(table.file).stat()
    except OSError as error:
        raise FileError(f"{table.file} cannot be read: {error.strerror}") from None
    except ValueError:
        raise FileError(f"{table.file!r} cannot be read: no file can have this name") from None
    return _read(table, stat.st_mtime_ns)


def seen_in(table: Table, records: Records) -> FloatArray:
    """Return what a model sees of every row of a table, by the records of another table."""
    with needs_extra("a table"):
        from paofed.world.table.reader import numbers_of
    return numbers_of(table, records)


def forget() -> None:
    """Forget all tables that were read: the next `read` opens the file."""
    _read.cache_clear()


@lru_cache(maxsize=2)
def _read(table: Table, _changed: int) -> "Readings":
    with needs_extra("a table"):
        from paofed.world.table.reader import readings_of
    return readings_of(table)
