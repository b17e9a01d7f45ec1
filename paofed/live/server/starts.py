"""When a fleet's server was started: a few lines of text in the fleet's folder.

Nothing depends on this file: it shows people in their charts why something changed. If it is
missing or damaged, nothing is shown, and the next start begins another file.
"""

from contextlib import suppress
from pathlib import Path

from paofed.errors import FileError
from paofed.files import read_text, write_text

FILE = "starts"
_MOST = 100  # how many starts are kept


def starts(folder: Path) -> list[float]:
    """Return the last starts, in seconds since 1970, the oldest first."""
    with suppress(FileError, ValueError):
        return sorted(float(line) for line in read_text(folder / FILE).splitlines())
    return []


def started(folder: Path, now: float) -> None:
    """Note a start; if the disk is full, say, it is not noted."""
    kept = [*starts(folder), now][-_MOST:]
    with suppress(FileError, OSError):
        write_text(folder / FILE, "".join(f"{time:.1f}\n" for time in kept))
