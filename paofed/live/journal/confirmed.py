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
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

from paofed.files import replacing

SUFFIX = "-confirmed"
_WORD = "paofed-confirmed-1"
_BLOCK = 4096  # bytes that a disk writes as a whole, or a multiple of that
_SLOTS = 2

# Without `fdatasync`, `fsync` writes the file's times as well.
_sync_data: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


class Confirmed(NamedTuple):
    """What somebody was told to be safe; both counts only grow within one history."""

    history: int  # a number that changes with each repair
    lines: int  # the number of the journal's last line
    changes: int  # the number of changes of who is in the fleet, or of what it has agreed on

    def to_line(self) -> bytes:
        """Write the record as a line of text with its checksum."""
        text = f"{_WORD} {self.history} {self.lines} {self.changes}"
        return f"{text} {zlib.crc32(text.encode()):08x}\n".encode()

    @classmethod
    def from_block(cls, block: bytes) -> Self | None:
        """Read a block that begins with such a line; None if it is damaged."""
        line = block.partition(b"\n")[0]
        numbers = line.split(b" ")[1:-1]
        if len(numbers) != len(cls._fields) or not all(n.isdigit() for n in numbers):
            return None
        found = cls(*map(int, numbers))
        return found if found.to_line() == line + b"\n" else None


def create(path: Path, confirmed: Confirmed) -> None:
    """Begin anew, whole or not at all: what the file said before no longer counts.

    Like SQLite's own files, the file belongs to the database's owner, whoever makes it.
    """
    with replacing(path, secret=True) as file:
        file.write(confirmed.to_line().ljust(_BLOCK) * _SLOTS)
        if os.geteuid() == 0:
            owner = path.with_name(path.name.removesuffix(SUFFIX)).stat()
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # so that the file's name outlives a power cut as well
    finally:
        os.close(folder)


def read(path: Path) -> Confirmed | None:
    """Return what was confirmed, or None if the file is not there or cannot be read."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    return max((found for found in _slots(content) if found), default=None)


def write(path: Path, confirmed: Confirmed, sync: Callable[[str], None]) -> None:
    """Write what is confirmed, on disk before this returns; other processes may do so meanwhile.

    `sync` is called at each stage of the write: tests let the power fail there.
    """
    handle = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # until the file is closed
        slots = _slots(os.pread(handle, _SLOTS * _BLOCK, 0))
        newest = max(range(_SLOTS), key=lambda slot: slots[slot] or (-1,))
        known = slots[newest]
        if known is None or known.history != confirmed.history:
            raise OSError(0, "it was damaged or replaced meanwhile")
        further = Confirmed(
            known.history,
            max(known.lines, confirmed.lines),
            max(known.changes, confirmed.changes),
        )
        if further != known:
            line, start = further.to_line(), (1 - newest) * _BLOCK
            half = len(line) // 2
            os.pwrite(handle, line[:half], start)
            sync("inside confirmation")
            os.pwrite(handle, line[half:], start + half)
            _sync_data(handle)
            sync("after confirmation")
    finally:
        os.close(handle)


def _slots(content: bytes) -> list[Confirmed | None]:
    return [Confirmed.from_block(content[slot * _BLOCK :][:_BLOCK]) for slot in range(_SLOTS)]
