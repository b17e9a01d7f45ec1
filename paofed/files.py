"""Files that are either whole or not there: write to a temporary name, then rename."""

import contextlib
import csv
import ctypes
import fcntl
import hashlib
import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from paofed.errors import FileError


def require_writable(path: Path) -> None:
    """Refuse a place that cannot be written to, before any long work begins."""
    folder = path.parent
    if path.is_dir():
        raise FileError(f"{path} is a directory: give the name of a file to write")
    if not folder.is_dir():
        raise FileError(f"{folder} is not a directory: create it first, or write elsewhere")
    if not os.access(folder, os.W_OK):
        raise FileError(f"{folder} may not be written to: write elsewhere")


def require_archive(path: Path) -> None:
    """Refuse a place, as `require_writable` does, or a name that is not that of an archive."""
    if path.suffix != ".npz":
        raise FileError(f"{path} is no archive's name: expected one that ends in .npz")
    require_writable(path)


def require_folder(path: Path) -> None:
    """Refuse a place where no folder can be made, before any long work begins."""
    nearest = next(place for place in (path, *path.parents) if place.exists())
    if not nearest.is_dir():
        raise FileError(f"{path} cannot be made a directory: {nearest} is a file")
    if not os.access(nearest, os.W_OK):
        raise FileError(f"{nearest} may not be written to: write elsewhere")


def make_folder(path: Path) -> None:
    """Create a folder, and those above it, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path} cannot be made a directory: {error.strerror}") from None


def is_ours_alone(folder: Path) -> bool:
    """Whether a folder belongs to this user and nobody else may write to it.

    What programs keep to run it later belongs into such a folder. An empty folder of this user is
    made one.
    """
    try:
        found = folder.stat()
        if found.st_uid != os.geteuid():
            return False
        if found.st_mode & 0o022 and not any(folder.iterdir()):
            folder.chmod(0o700)
            found = folder.stat()
        return not found.st_mode & 0o022
    except OSError:
        return False


def read_text(path: Path) -> str:
    """Read a text file; a file that cannot be read raises one clear FileError."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FileError(f"{path} cannot be read: it is not text in UTF-8") from None


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode())


def write_secret(path: Path, text: str) -> None:
    """Write a text file that its owner alone may read, whole or not at all."""
    with replacing(path, secret=True) as file:
        file.write(text.encode())


@contextlib.contextmanager
def replacing(path: Path, *, secret: bool = False) -> Iterator[BinaryIO]:
    """Open `path` for writing; it appears, whole, only when the block ends without an error.

    With `secret`, only the owner can read the file, from the first byte on.
    """
    require_writable(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}") from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if not secret:
            temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return the permissions that new files lack.

    Mkstemp's 0600 would surprise who shares files.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    mask = os.umask(0o022)  # on other systems than Linux, the mask can only be read by setting it
    os.umask(mask)
    return mask


def write_table(path: Path, header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a CSV, whole or not at all; floats keep every digit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([[repr(float(v)) if isinstance(v, float) else v for v in row] for row in rows])
    with replacing(path) as file:
        file.write(text.getvalue().encode())


@contextlib.contextmanager
def locking(path: Path, otherwise: Exception) -> Iterator[None]:
    """Be the only process that has locked this file or folder, or raise `otherwise`.

    The lock ends with the process at the latest. A folder that cannot be locked, as on some network
    file systems, is passed over.
    """
    is_folder = path.is_dir()
    handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if isinstance(error, BlockingIOError) or not is_folder:
                raise otherwise from None
        yield
    finally:
        os.close(handle)


_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE


def exchanged(new: Path, place: Path, aside: Path | None) -> None:
    """Put the folder `new` in the place of `place`, and the folder there in the place of `aside`.

    With `aside` None, `place` is absent or an empty folder. The change is one step where the system
    can do that; elsewhere nothing is in `place` for a moment.
    """
    try:
        if aside is None:
            new.replace(place)
        elif _swap(new, place):
            new.rename(aside)
        else:
            place.rename(aside)
            new.rename(place)
    except OSError as error:  # `place` is a mounted disk, say
        raise FileError(
            f"{place} cannot be replaced by {new}, which is whole: {error.strerror}"
        ) from None


def _swap(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; return whether the system could do that."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False  # another system than Linux
    names = os.fsencode(one), os.fsencode(other)
    return bool(renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0)
