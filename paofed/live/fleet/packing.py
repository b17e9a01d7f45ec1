"""The files of a fleet's folder in one tar, and back, without trusting what the tar says.

The first file, `contents`, has the names of all the others. A tar can hold much else: links,
folders, and sparse files, a few bytes of which stand for as many zeros as a disk has room for. None
of these is a part of a backup: a plain file is never larger than the tar that holds it.
"""

import io
import shutil
import tarfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, Self

from paofed.errors import FileError, InputError
from paofed.files import replacing

_CONTENTS = "contents"
_KINDS = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.XHDTYPE)  # plain files, and their long names
_LONGEST_HEADER = 2**16  # bytes of the names and times before a file
_LONGEST_CONTENTS = 2**26  # bytes: the names of a million files
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
        listed = _listed(archive)
        missing = {*parts.needed, *listed}
        for member in iter(archive.next, None):
            if member.name not in listed or not parts.has(member.name):
                raise FileError(
                    f"{path} is not a backup of a fleet: it holds {member.name!r:.{_SHOWN}}"
                )
            if member.name not in missing:
                raise FileError(f"{path} is not a backup of a fleet: {member.name} is there twice")
            missing.remove(member.name)
            with (
                _content(archive, member) as content,
                replacing(place / member.name, secret=True) as file,
            ):
                shutil.copyfileobj(content, file)
    if missing:
        raise FileError(
            f"{path} is not a whole backup of a fleet: there is no {min(missing):.{_SHOWN}} in it"
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


def _listed(archive: tarfile.TarFile) -> set[str]:
    """Return the names that the first file of the tar lists."""
    first = archive.next()
    if first is None or first.name != _CONTENTS or first.size > _LONGEST_CONTENTS:
        raise tarfile.ReadError(f"it does not begin with its {_CONTENTS}")
    with _content(archive, first) as content:
        return set(content.read().decode().split("\n"))


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    """Open a plain file, which is no larger than the tar."""
    largest = Path(str(archive.name)).stat().st_size
    is_plain = not member.issparse() and 0 <= member.size <= largest
    content = archive.extractfile(member) if is_plain else None
    if content is None:
        raise tarfile.ReadError(f"{member.name!r:.{_SHOWN}} has not the bytes that it claims")
    return content
