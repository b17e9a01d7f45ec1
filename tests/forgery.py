"""Files that lie: `.npz` archives whose bytes say other than they hold."""

import io
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Where a member's entry in the directory of an archive says things, and how.
DIRECTORY = b"PK\x01\x02"
FLAGS, METHOD, CHECKSUM = (8, "<H"), (10, "<H"), (16, "<I")
PACKED_SIZE, SIZE = (20, "<I"), (24, "<I")


def npy(array: NDArray[Any]) -> bytes:
    """An array as an `.npy` holds it."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def claiming(shape: str, dtype: str = "<f8", behind: bytes = b"") -> bytes:
    """An `.npy` whose header says anything."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + behind


def archive(path: Path, members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """Write members as they are."""
    with zipfile.ZipFile(path, "w", method, compresslevel=1) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def members_of(path: Path) -> dict[str, bytes]:
    """What an archive holds."""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def lie(path: Path, place: tuple[int, str], value: int, member: str = "") -> Path:
    """Let the directory say something else of one member, or of the first."""
    content = bytearray(path.read_bytes())
    offset, form = place
    entry = content.index(DIRECTORY)
    while member and content[entry + 46 :].find(member.encode()) != 0:
        entry = content.index(DIRECTORY, entry + 1)
    struct.pack_into(form, content, entry + offset, value)
    path.write_bytes(bytes(content))
    return path
