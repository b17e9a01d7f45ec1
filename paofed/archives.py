"""Named arrays in one `.npz`: written whole, and read without trusting what the file says.

A file may be damaged, forged, or of another program. So whoever reads one says what the file must
hold. Names, types and shapes are compared with that before any array is read; what the file claims
about sizes is compared with the bytes that are there and with the memory of this machine. Nothing
is evaluated or unpickled.
"""

import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.errors import FileError, InputError, require_format
from paofed.files import replacing
from paofed.forms import Contents
from paofed.memory import require_memory

_ARCHIVE = "a .npz of plain arrays"
_MAGIC = b"\x93NUMPY"
# By version of NumPy's format: how many bytes the length of the header has.
_WIDTHS = {b"\1\0": 2, b"\2\0": 4, b"\3\0": 4}
_NOTE = re.compile(rb"paofed format ([1-9]\d{0,8})")  # the comment of an archive
# The header of a plain array has 118 bytes, but some programs leave room in it.
_LONGEST_HEADER = 4096
_TYPE = re.compile(r"'descr'\s*:\s*'([<>|=]?[biufcSU][1-9]\d*)'", re.ASCII)
# A column of an array of records, and all of them.
_COLUMN = r"\('(\w+)', '([<>|=]?[biuf][1-9]\d*)'\)"
_RECORD = re.compile(rf"'descr': \[((?:{_COLUMN}(?:, )?)+)\]", re.ASCII)
_COLUMNS_FIRST = re.compile(r"'fortran_order'\s*:\s*(?:(True)|False)")
_SHAPE = re.compile(r"'shape'\s*:\s*\(([\d,\s]*)\)", re.ASCII)
_ENCRYPTED = 0x1  # the flag of a member that is encrypted
# How many bytes one packed byte can stand for.
_HOLDS = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}
_CHUNK = 2**18  # bytes that are read at a time
_CHARACTERS = 0x110000
# Halves of characters, from the first up to the second number: no text has them.
_SURROGATES = (0xD800, 0xE000)

# The exceptions of zipfile and NumPy for a file that is not what they take it for.
_DAMAGE = (
    OSError, EOFError, ValueError, TypeError, ArithmeticError, LookupError, RuntimeError,
    struct.error, zlib.error, zipfile.BadZipFile, zipfile.LargeZipFile,
)  # fmt: skip


class _RefusedError(Exception):
    """Says why a file cannot be trusted."""


class _Claim(NamedTuple):
    """What the header of an array says about the bytes that follow."""

    stream: IO[bytes]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    columns_first: bool

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def plain_arrays(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the arrays; refuse those of Python objects, which NumPy would write as a pickle."""
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise TypeError(f"{name} holds Python objects: expected numbers or text")
    return dict(arrays)


def save_arrays(
    path: Path, arrays: Mapping[str, NDArray[np.generic]], contents: Contents | None = None
) -> None:
    """Write named arrays as one compressed `.npz`, whole or not at all.

    The number of the format that `contents` describes is noted in the archive's comment, which
    NumPy and other programs pass over.
    """
    with replacing(path) as file:
        np.savez_compressed(file, **plain_arrays(arrays))
        if contents is not None:
            note = f"paofed format {contents.format}".encode()
            file.seek(-2, 2)  # an archive ends with the length of its comment, which is 0 here
            file.write(struct.pack("<H", len(note)) + note)


def load_arrays(
    path: Path, contents: Contents, what: str, error: type[InputError] = FileError
) -> dict[str, NDArray[Any]]:
    """Read the arrays of an `.npz` that must be `what`, such as "a trace".

    `contents` says which names, types and shapes that means. A file that cannot be read raises a
    FileError, one that only a newer paofed can read a NewerFormatError, and a readable file that
    holds something else an `error`.
    """
    with _reading(path, _ARCHIVE) as file:
        return _load(file, path, contents, what, error)


def packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return named arrays, which may be of records, as the bytes of an `.npz`."""
    file = io.BytesIO()
    np.savez(file, **plain_arrays(arrays))
    return file.getvalue()


def unpacked(content: bytes, which: str, contents: Contents, what: str) -> dict[str, NDArray[Any]]:
    """Return the arrays that `packed` wrote, and raise a FileError for other bytes.

    `contents` says which names, types and shapes there may be. Errors say that `which`, such as
    "a snapshot", is not `what`, such as "a server's state".
    """
    with _explained(which, _ARCHIVE):
        return _load(io.BytesIO(content), which, contents, what, FileError)


def names_of(path: Path) -> set[str]:
    """Return the names of the arrays in an `.npz`, for callers that take several kinds of file."""
    with _reading(path, _ARCHIVE) as file, _archive(file) as archive:
        return set(_members(archive, _size(file)))


def load_array(path: Path) -> NDArray[Any]:
    """Read the single array of an `.npy`."""
    with _reading(path, "a .npy of one plain array") as file:
        claim = _claim(file, _size(file))
        _require_memory(path, [claim])
        return _read(claim)


@contextmanager
def _reading(path: Path, expected: str) -> Iterator[BinaryIO]:
    """Open a file; everything that turns out to be wrong with it becomes one clear error."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise FileError(f"{path} does not exist") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    with file, _explained(path, expected):
        yield file


@contextmanager
def _explained(which: Path | str, expected: str) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except _RefusedError as error:
        raise FileError(f"{which} cannot be read: {error}") from None
    except MemoryError:
        raise FileError(f"{which} needs more memory than this machine gives") from None
    except _DAMAGE:
        raise FileError(
            f"{which} cannot be read as {expected}: it is truncated, damaged, or something else"
        ) from None


def _load(
    file: BinaryIO, which: Path | str, contents: Contents, what: str, error: type[InputError]
) -> dict[str, NDArray[Any]]:
    """Read the arrays of an open archive; `which` it is and `what` it must be stand in errors."""
    with ExitStack() as streams:
        archive = streams.enter_context(_archive(file))
        require_format(f"{which} is {what}", _format(archive), contents.format)
        members = _members(archive, _size(file))
        claims: dict[str, _Claim] = {}
        wrong = contents.misnamed(members)
        if wrong is None:
            claims = {name: _opened(archive, streams, member) for name, member in members.items()}
            wrong = contents.misshapen(claims)
        if wrong is not None:
            raise error(f"{which} is not {what}: {wrong}")
        _require_memory(which, claims.values())
        return {name: _read(claim) for name, claim in claims.items()}


def _archive(file: BinaryIO) -> zipfile.ZipFile:
    if file.read(len(_MAGIC)) == _MAGIC:
        raise _RefusedError("it holds a single array, not a .npz archive of named ones")
    return zipfile.ZipFile(file)


def _format(archive: zipfile.ZipFile) -> int:
    """Read the number that `save_arrays` noted; where nobody did, the archive is of the first."""
    noted = _NOTE.fullmatch(archive.comment)
    return 1 if noted is None else int(noted[1])


def _size(file: BinaryIO) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the arrays of an archive of `size` bytes by name; none of them is opened yet."""
    members: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name == member.filename:
            raise _RefusedError(f"its entry {name!r} is not an array")
        if name in members:
            raise _RefusedError(f"it holds {name!r} twice")
        if member.flag_bits & _ENCRYPTED or member.compress_type not in _HOLDS:
            raise _RefusedError(f"{name!r} is encrypted, or packed in a way that is not known here")
        if member.file_size > _HOLDS[member.compress_type] * member.compress_size:
            raise _RefusedError(
                f"{name!r} claims {member.file_size:,} bytes, which the {member.compress_size:,} "
                f"that are there cannot hold"
            )
        members[name] = member
    if sum(member.compress_size for member in members.values()) > size:
        raise _RefusedError("its entries claim more bytes than it has")
    return members


def _opened(archive: zipfile.ZipFile, streams: ExitStack, member: zipfile.ZipInfo) -> _Claim:
    """Open a member of the archive and read the header of its array."""
    size = member.file_size
    # The library would stop at this size without an error; to allow one byte more shows that there
    # is more.
    member.file_size += 1
    return _claim(streams.enter_context(archive.open(member)), size)


def _claim(stream: IO[bytes], size: int) -> _Claim:
    """Read the header of an array; header and array together have `size` bytes."""
    magic, version = stream.read(len(_MAGIC)), stream.read(2)
    width = _WIDTHS.get(version, 0)
    length = int.from_bytes(stream.read(width), "little")
    header = stream.read(min(length, _LONGEST_HEADER)).decode("latin-1")
    dtype, order, shape = _dtype(header), _COLUMNS_FIRST.search(header), _SHAPE.search(header)
    if magic != _MAGIC or dtype is None or order is None or shape is None:
        raise _RefusedError("it holds something else than plain arrays")
    sizes = tuple(int(digits) for digits in shape[1].replace(",", " ").split())
    claim = _Claim(stream, dtype, sizes, order[1] is not None)
    there = size - len(magic) - len(version) - width - length
    if claim.size * claim.dtype.itemsize != there:
        raise _RefusedError(
            f"an array claims shape {claim.shape} of type {claim.dtype}, but has {there:,} bytes"
        )
    return claim


def _dtype(header: str) -> np.dtype[Any] | None:
    """Return the type that the header of an array names; None if it is not a plain one."""
    if plain := _TYPE.search(header):
        return np.dtype(plain[1])
    record = _RECORD.search(header)
    return np.dtype(re.findall(_COLUMN, record[1])) if record else None


def _require_memory(path: Path | str, claims: Iterable[_Claim]) -> None:
    # Engines compute in numbers of eight bytes, so narrower numbers are counted as if widened.
    needed = sum(
        claim.size * max(claim.dtype.itemsize, 8 if claim.dtype.kind in "iuf" else 1)
        for claim in claims
    )
    try:
        require_memory(needed, f"what {path} holds", "read it on a larger machine")
    except InputError as error:
        raise FileError(str(error)) from None


def _read(claim: _Claim) -> NDArray[Any]:
    """Read exactly the bytes that the array's header claims."""
    flat = np.empty(claim.size, claim.dtype)
    raw = flat.view(np.uint8)
    for begin in range(0, raw.size, _CHUNK):
        chunk = raw[begin : begin + _CHUNK]
        part = claim.stream.read(chunk.size)
        if len(part) < chunk.size:
            raise EOFError
        chunk[:] = np.frombuffer(part, np.uint8)
    if claim.stream.read(1):  # at its end the library also compares the checksum
        raise _RefusedError("an array has more bytes than it claims")
    _check_values(flat, raw)
    native = flat.astype(claim.dtype.newbyteorder("="), copy=False)
    return native.reshape(claim.shape, order="F" if claim.columns_first else "C")


def _check_values(flat: NDArray[Any], raw: NDArray[np.uint8]) -> None:
    """Refuse bytes that are neither true nor false in a bool array, or no character in a text."""
    if flat.dtype.kind == "b" and (raw > 1).any():
        raise _RefusedError("a truth value is neither true nor false")
    if flat.dtype.kind == "U":
        codes = flat.view(np.dtype(np.uint32).newbyteorder(flat.dtype.byteorder))
        first, beyond = _SURROGATES
        if ((codes >= _CHARACTERS) | ((codes >= first) & (codes < beyond))).any():
            raise _RefusedError("a text holds a number that is no character")


def is_run(path: Path) -> bool:
    """Whether a file is what `paofed run --out` writes, rather than a fleet's model."""
    return {"models", "provenance"} <= names_of(path)
