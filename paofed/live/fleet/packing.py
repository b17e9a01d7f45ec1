"""The files of a fleet's folder in one tar, and back, without trusting what the tar says.

The first file, `contents`, has the names of all the others, in their order. A tar can hold much
else: links, folders, sparse files, a few bytes of which stand for as many zeros as a disk has room
for, and files that share their bytes with others. None of these is a part of a backup: its plain
files together are never larger than the tar that holds them.
"""

import io
import shutil
import tarfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, Self

from paofed.errors import FileError, InputError
from paofed.files import replacing

_CONTENTS = "contents"
_KINDS = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.XHDTYPE)  # plain files, and their long names
_LONGEST_HEADER = 2**16  # bytes of the names and times before a file
_SPARSE = "GNU.sparse."  # how the names begin of what is said of a sparse file
_SHOWN = 100  # characters of a name that an error quotes
# What tarfile raises for a header that makes no sense.
_DAMAGE = (tarfile.TarError, EOFError, ValueError, ArithmeticError, LookupError, RuntimeError)


class _PlainInfo(tarfile.TarInfo):
    """The header of a plain file; any other header is refused before the library acts on it."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Read the 512 bytes of a header."""
        found = super().frombuf(buf, encoding, errors)
        if found.type not in _KINDS:
            raise tarfile.ReadError(f"{found.name!r:.{_SHOWN}} is no plain file")
        if found.type == tarfile.XHDTYPE and not 0 <= found.size <= _LONGEST_HEADER:
            raise tarfile.ReadError(f"what is said of a file has {found.size:,} bytes")
        return found


def pack(path: Path, files: Mapping[str, Path]) -> None:
    """Write files by name to one file, which its owner alone may read, whole or not at all."""
    with replacing(path, secret=True) as file, tarfile.open(fileobj=file, mode="w") as archive:
        names = "\n".join(files).encode()
        contents = tarfile.TarInfo(_CONTENTS)
        contents.size = len(names)
        archive.addfile(contents, io.BytesIO(names))
        for name, found in files.items():
            archive.add(found, name)


class Parts(NamedTuple):
    """What may be in a backup, by names in the fleet's folder."""

    needed: Collection[str]  # files without which there is no fleet
    optional: Collection[str]  # other files
    folders: Collection[str]  # any files directly inside these folders

    def has(self, name: str) -> bool:
        """Whether a file of this name may be in a backup."""
        if name in self.needed or name in self.optional:
            return True
        folder, *last = PurePosixPath(name).parts or ("",)
        return folder in self.folders and len(last) == 1 and last != [".."] and "\0" not in name


def unpack(path: Path, place: Path, parts: Parts) -> None:
    """Write what `pack` packed into the folder `place`; refuse a tar that holds anything else.

    The folders of `parts` are made, whether or not anything is in them.
    """
    for name in parts.folders:
        (place / name).mkdir(mode=0o700)
    with _reading(path) as archive:
        files = _plain_files(archive, path.stat().st_size)
        for name, member in zip_longest(_listed(archive, next(files, None)), files):
            if member is None:
                raise _lacking(path, name)
            if member.name != name or not parts.has(name):
                raise FileError(
                    f"{path} is not a backup of a fleet: it holds {member.name!r:.{_SHOWN}}"
                )
            if (place / name).exists():
                raise FileError(f"{path} is not a backup of a fleet: {name} is there twice")
            with (
                _content(archive, member) as content,
                replacing(place / name, secret=True) as file,
            ):
                shutil.copyfileobj(content, file)
    for name in parts.needed:
        if not (place / name).exists():
            raise _lacking(path, name)


def _lacking(path: Path, name: str) -> FileError:
    return FileError(
        f"{path} is not a whole backup of a fleet: there is no {name!r:.{_SHOWN}} in it"
    )


@contextmanager
def _reading(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path, "r:", tarinfo=_PlainInfo) as archive:
            yield archive
    except InputError:
        raise
    except FileNotFoundError:
        raise FileError(f"{path} cannot be read: there is no such file") from None
    except OSError as error:
        raise FileError(f"{path} cannot be unpacked: {error.strerror}") from None
    except _DAMAGE as error:
        raise FileError(f"{path} is not a backup of a fleet, or not a whole one: {error}") from None


def _plain_files(archive: tarfile.TarFile, size: int) -> Iterator[tarfile.TarInfo]:
    """Yield the files of a tar of `size` bytes; together they are no larger than the tar."""
    left = size
    for member in iter(archive.next, None):
        left -= member.size
        is_sparse = member.issparse() or any(key.startswith(_SPARSE) for key in member.pax_headers)
        if is_sparse or member.size < 0 or left < 0:
            raise tarfile.ReadError(f"{member.name!r:.{_SHOWN}} has not the bytes that it claims")
        yield member


def _listed(archive: tarfile.TarFile, first: tarfile.TarInfo | None) -> Iterator[str]:
    """Yield the names that the first file of the tar lists; a longer name than any is cut."""
    if first is None or first.name != _CONTENTS:
        raise tarfile.ReadError(f"it does not begin with its {_CONTENTS}")
    with _content(archive, first) as content:
        for line in iter(partial(content.readline, _LONGEST_HEADER), b""):
            yield line.decode().removesuffix("\n")


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    """Open a plain file."""
    content = archive.extractfile(member)
    if content is None:
        raise tarfile.ReadError(f"{member.name!r:.{_SHOWN}} is no plain file")
    return content
