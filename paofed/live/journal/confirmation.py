"""How much of a fleet's database was confirmed to anybody: a small file beside it.

SQLite reads a write-ahead log that was cut off, damaged or deleted up to where it can, and says
nothing. So this file counts what was committed as well, on disk before anybody is told of it. After
a power cut the database may be ahead of this file; it is behind only if something was lost.

The file is two lines of text, each in a block of its own, and written in place: the older line is
overwritten, so that a line torn by a power cut leaves the other one.
"""

import fcntl
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from paofed.files import replacing
from paofed.live.journal.database import (
    FILE,
    Counts,
    Database,
    StoreError,
    Sync,
    explained,
    nothing,
)
from paofed.words import counted

CONFIRMED = f"{FILE}-confirmed"
_WORD = "paofed-confirmed-1"
_BLOCK = 4096  # bytes that a disk writes as a whole, or a multiple of that
_SLOTS = 2
_GO_ON = (
    "restore a newer backup with `paofed fleet restore`, or let `paofed fleet repair` go on with "
    "what is there: devices will not send again what they believe safe"
)

# Without `fdatasync`, `fsync` writes the file's times as well.
_sync_data: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


class Confirmation:
    """Counts what a database has committed, in the file beside it."""

    def __init__(self, database: Database) -> None:
        self.ahead = True  # whether the database may hold more than was confirmed
        self._database = database
        self._path = database.folder / CONFIRMED

    def catch_up(self, sync: Sync = nothing) -> None:
        """Count what is committed, so that its loss would be noticed; then people may be told."""
        if self.ahead:
            with explained(self._path):
                write(self._path, self._database.counts(), sync)
            self.ahead = False

    def recount(self, sync: Sync = nothing) -> None:
        """Confirm what is committed, also if nothing is known to be new."""
        self.ahead = True
        self.catch_up(sync)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change who is in the fleet; the change is committed and confirmed when the block ends."""
        self.recount()  # first, since a change that could not be counted must not be made
        with self._database.writing():
            yield
        self.recount()

    def begin(self) -> None:
        """Confirm what is there now, and forget whatever was confirmed before."""
        with explained(self._path):
            create(self._path, self._database.counts())
        self.ahead = False

    def read(self) -> Counts | None:
        """Return what was confirmed; read this before the database, which may go on meanwhile."""
        with explained(self._path):
            return read(self._path)

    def require(self, known: Counts | None) -> None:
        """Refuse a database that has less than was confirmed."""
        path, held = self._database.path, self._database.counts()
        if known is None:
            raise StoreError(
                f"{self._path} is missing or damaged, so nobody can tell whether {path.name} has "
                f"all that was confirmed: {_GO_ON}"
            )
        if known.history != held.history:
            raise StoreError(
                f"{path} and {CONFIRMED} do not belong together, one of them is a copy from before "
                f"a repair or from elsewhere: {_GO_ON}"
            )
        lines, changes = known.lines - held.lines, known.changes - held.changes
        if lines > 0 or changes > 0:
            raise StoreError(f"{path} lacks {missing(lines, changes)}: {_GO_ON}")


def missing(lines: int, changes: int) -> str:
    """Say how much is missing; empty if nothing is."""
    updates = counted(lines, "confirmed update") if lines > 0 else ""
    what = "of who is in the fleet or of what it has agreed on"
    joined = f"{counted(changes, 'confirmed change')} {what}" if changes > 0 else ""
    return " and ".join(filter(None, (updates, joined)))


# The file


def create(path: Path, counts: Counts) -> None:
    """Begin anew, whole or not at all: what the file said before no longer counts.

    Like SQLite's own files, the file belongs to the database's owner, whoever makes it.
    """
    with replacing(path, secret=True) as file:
        file.write(_line_of(counts).ljust(_BLOCK) * _SLOTS)
        if os.geteuid() == 0:
            owner = path.with_name(FILE).stat()
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # so that the file's name outlives a power cut as well
    finally:
        os.close(folder)


def read(path: Path) -> Counts | None:
    """Return what was confirmed, or None if the file is not there or cannot be read."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    return max((found for found in _slots(content) if found), default=None)


def write(path: Path, counts: Counts, sync: Sync) -> None:
    """Write what is confirmed, on disk before this returns; other processes may do so meanwhile."""
    handle = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # until the file is closed
        slots = _slots(os.pread(handle, _SLOTS * _BLOCK, 0))
        newest = max(range(_SLOTS), key=lambda slot: slots[slot] or (-1,))
        known = slots[newest]
        if known is None or known.history != counts.history:
            raise OSError(0, "it was damaged or replaced meanwhile")
        further = Counts(
            known.history,
            max(known.lines, counts.lines),
            max(known.changes, counts.changes),
        )
        if further != known:
            line, start = _line_of(further), (1 - newest) * _BLOCK
            half = len(line) // 2
            os.pwrite(handle, line[:half], start)
            sync("inside confirmation")
            os.pwrite(handle, line[half:], start + half)
            _sync_data(handle)
            sync("after confirmation")
    finally:
        os.close(handle)


def _slots(content: bytes) -> list[Counts | None]:
    return [_counts_in(content[slot * _BLOCK :][:_BLOCK]) for slot in range(_SLOTS)]


def _line_of(counts: Counts) -> bytes:
    """Write counts as a line of text with its checksum."""
    text = f"{_WORD} {counts.history} {counts.lines} {counts.changes}"
    return f"{text} {zlib.crc32(text.encode()):08x}\n".encode()


def _counts_in(block: bytes) -> Counts | None:
    """Read a block that begins with such a line; None if it is damaged."""
    line = block.partition(b"\n")[0]
    numbers = line.split(b" ")[1:-1]
    if len(numbers) != len(Counts._fields) or not all(n.isdigit() for n in numbers):
        return None
    found = Counts(*map(int, numbers))
    return found if _line_of(found) == line + b"\n" else None
