"""Changes valid content by chance: bytes, text, and values inside archives with right checksums."""

import io
import json
import re
import sqlite3
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from paofed.live.journal.database import FILE as STORE
from paofed.live.journal.schema import COLUMNS, TOTAL, checksum
from tests.forgery import npy

Mutation = Callable[[bytes, Random], bytes]

NUMBERS: tuple[Any, ...] = (
    -1, 0, 1, 2, 255, 256, 2**31, 2**63 - 1, 2**64, 10**30, 10**400,
    -0.5, 1e-320, 1e308, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
_DEEP: Any = json.loads("[" * 60 + "]" * 60)
VALUES = (
    *NUMBERS,
    None,
    True,
    "",
    "x",
    "ü",
    "\0",
    "\ud800",
    "9" * 400,
    "-",
    [],
    {},
    [1],
    {"a": 1},
    _DEEP,
)
# What stands in the place of a word in a text.
WORDS = (
    "", "-1", "1e400", "nan", "inf", "9" * 5000, "0x" + "f" * 6000, "[" * 400, "{a=" * 400, '"',
    "\0", "\r", "\n", "\ufeff", "ü", "x" * 70_000, "=", "[[", "#", ",", ",,,,", "true", "1979-05-27"
)  # fmt: skip


def in_bytes(content: bytes, chance: Random) -> bytes:
    """What a disk or a stranger makes of bytes."""
    changed = bytearray(content)
    place = chance.randrange(len(changed) + 1)
    length = chance.choice((1, 2, 8, 64, 512))
    match chance.randrange(7):
        case 0 | 1:
            for _ in range(chance.choice((1, 1, 1, 4, 20))):
                changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        case 2:
            del changed[place:]
        case 3:
            del changed[place : place + length]
        case 4:
            changed[place:place] = chance.randbytes(length)
        case 5:
            changed[place : place + length] = bytes(min(length, len(changed) - place))
        case _:
            source = chance.randrange(len(changed))
            changed[place : place + length] = changed[source : source + length]
    return bytes(changed)


def in_words(content: bytes, chance: Random) -> bytes:
    """A text with another word or line, in Unicode or not."""
    text = content.decode(errors="replace")
    lines = text.splitlines(keepends=True) or [""]
    match chance.randrange(6):
        case 0 | 1 | 2:
            words = list(re.finditer(r"[\w.+-]+|[^\w\s]", text))
            word = chance.choice(words) if words else None
            begin, end = word.span() if word else (0, 0)
            return (text[:begin] + chance.choice(WORDS) + text[end:]).encode(errors="replace")
        case 3:
            del lines[chance.randrange(len(lines))]
        case 4:
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
        case _:
            return text.replace("\n", chance.choice(("\r", "\r\n", "\n\n", ""))).encode()
    return "".join(lines).encode()


def in_json(content: bytes, chance: Random) -> bytes:
    """JSON with another value, or without one, somewhere."""
    try:
        holder = {"": json.loads(content)}
    except ValueError:
        return in_words(content, chance)
    _change(holder, chance)
    return json.dumps(holder.get("", {})).encode()


def _change(holder: Any, chance: Random) -> None:
    """Change a value in a list or dictionary, or in one that it holds."""
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    key = chance.choice(keys)
    inner = holder[key]
    if isinstance(inner, list | dict) and inner and chance.random() < 0.8:
        _change(inner, chance)
    elif chance.random() < 0.2 and key != "":
        del holder[key]
    elif chance.random() < 0.1 and isinstance(holder, dict):
        holder[chance.choice(("horizon", "", "\0"))] = chance.choice(VALUES)
    else:
        holder[key] = chance.choice(VALUES)


def in_arrays(content: bytes, chance: Random) -> bytes:
    """An `.npz` in which one array is another, with right checksums."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        comment = archive.comment
    name = chance.choice(list(members))
    match chance.randrange(8):
        case 0:
            del members[name]
        case 1:
            members[chance.choice(("model_x.npy", "x.npy", "x", name.upper()))] = members[name]
        case 2:
            members[name] = in_bytes(members[name], chance)
        case _:
            members[name] = npy(_changed(members[name], chance))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", chance.choice((0, zipfile.ZIP_DEFLATED))) as archive:
        for member, held in members.items():
            archive.writestr(member, held)
        archive.comment = comment
    return file.getvalue()


def _changed(content: bytes, chance: Random) -> Any:
    """An array with other values, of another type or shape."""
    array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    if array.dtype.kind == "U":
        texts = [
            in_json(str(text).encode(), chance).decode(errors="replace") for text in array.flat
        ]
        return np.array(texts).reshape(array.shape)
    with np.errstate(all="ignore"):
        match chance.randrange(4):
            case 0:
                return (
                    array.astype(
                        chance.choice(("<f4", ">f8", "|b1", "<i8", "|u1", "<U3")), casting="unsafe"
                    )
                    if array.dtype.names is None
                    else array[:0]
                )
            case 1:
                more = chance.choice((0, 1, 3, 64))
                return (
                    np.resize(array, (more, *array.shape[1:]))
                    if array.ndim
                    else np.resize(array, more)
                )
            case 2:
                return np.ascontiguousarray(array.T) if array.ndim > 1 else array[..., None]
            case _:
                return _with_value(array, chance)


def _with_value(array: Any, chance: Random) -> Any:
    changed = np.array(array)
    flat = changed.reshape(-1)
    if changed.dtype.names:
        flat = flat[chance.choice(changed.dtype.names)]
    if not flat.size or flat.dtype.kind not in "iufb":
        return changed
    kinds = {"f": (-1.0, 0.0, 1e308, np.inf, np.nan), "b": (0, 1)}
    if flat.dtype.kind in "iu":
        limits = np.iinfo(flat.dtype)
        values: tuple[Any, ...] = (0, 1, limits.min, limits.max, limits.max // 2)
    else:
        values = kinds[flat.dtype.kind]
    place = chance.randrange(flat.size) if chance.random() < 0.7 else slice(None)
    flat[place] = chance.choice(values)
    return changed


def in_database(content: bytes, chance: Random) -> bytes:
    """A fleet's database in which one value is another, with right checksums."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / STORE
        path.write_bytes(content)
        with closing(sqlite3.connect(path)) as connection:
            connection.create_function("crc", -1, checksum)
            _forge(connection, chance)
            connection.commit()
        return path.read_bytes()


def _forge(connection: sqlite3.Connection, chance: Random) -> None:
    table = chance.choice((*COLUMNS, "journal", "snapshot", "snapshot"))
    columns = list(COLUMNS[table])
    rows = connection.execute(f"SELECT rowid, {', '.join(columns)} FROM {table}").fetchall()  # noqa: S608
    if not rows:
        return
    number, *values = chance.choice(rows)
    place = columns.index("state") if table == "snapshot" else chance.randrange(len(columns))
    values[place] = _forged(values[place], chance)
    connection.execute("PRAGMA ignore_check_constraints = 1")
    try:
        connection.execute(  # the triggers of the table keep the seal
            f"UPDATE OR IGNORE {table} SET {columns[place]} = ?, checksum = ? WHERE rowid = ?",  # noqa: S608
            (values[place], checksum(*values), number),
        )
        connection.execute(f"UPDATE seal SET total = ({TOTAL})")  # noqa: S608
    except sqlite3.Error:  # a value that the table does not take
        connection.rollback()


def _forged(value: Any, chance: Random) -> Any:
    if isinstance(value, bytes) and value[:2] == b"PK" and chance.random() < 0.9:
        return in_arrays(value, chance)
    if isinstance(value, str) and value.startswith("{"):
        return in_json(value.encode(), chance).decode()
    if isinstance(value, bytes) and chance.random() < 0.5:
        return in_bytes(value, chance)
    return chance.choice((-1, 0, 1, 5, 2**31, 2**62, 0.5, 1e300, "x", "", b"", b"\xff" * 8, None))


def in_tar(content: bytes, chance: Random) -> bytes:
    """A tar in which a header says other things, or a file holds others, with right checksums.

    Or each file but the first, which lists them, claims the bytes of all behind it.
    """
    file, chosen = io.BytesIO(), chance.choice((*range(10), None))
    with (
        tarfile.open(fileobj=io.BytesIO(content)) as old,
        tarfile.open(fileobj=file, mode="w") as new,
    ):
        for number, member in enumerate(old):
            taken = old.extractfile(member)
            held = taken.read() if taken is not None else b""
            if chosen is None and number:
                rest = len(content) - member.offset_data
                member.pax_headers = {"GNU.sparse.realsize": str(rest)}
            elif number == chosen:
                if chance.random() < 0.6:
                    held = of_name(member.name)(held, chance)
                else:
                    _misname(member, chance)
            member.size = len(held)
            new.addfile(member, io.BytesIO(held))
    return file.getvalue()


def _misname(member: tarfile.TarInfo, chance: Random) -> None:
    match chance.randrange(3):
        case 0:
            member.type = chance.choice((b"0", b"1", b"2", b"5", b"S", b"L", b"x", b"g", b"7"))
        case 1:
            member.name = chance.choice(
                ("../x", "/x", "x", "devices/x", "devices/a/b", "ü", "contents")
            )
        case _:
            sparse = chance.choice(("size", "map", "realsize"))
            key = chance.choice((f"GNU.sparse.{sparse}", "size", "path", "mtime"))
            value = chance.choice(
                ("-1", "0", "1e9", "99999999999", "0,x", "0,4", "x\0y", "9" * 5000)
            )
            member.pax_headers = {key: value}


def of_name(name: str) -> Mutation:
    """How a file of this name is changed: in its bytes, or in what it holds."""
    within = {
        ".json": in_json, ".npz": in_arrays, ".tar": in_tar, ".sqlite": in_database,
        ".toml": in_words, ".csv": in_words, ".conf": in_words,
    }.get(Path(name).suffix)  # fmt: skip

    def mutated(content: bytes, chance: Random) -> bytes:
        if not content or within is None or chance.random() < 0.3:
            return in_bytes(content, chance) if content else b"x"
        if within is in_json and chance.random() < 0.3:
            return in_words(content, chance)
        return within(content, chance)

    return mutated
