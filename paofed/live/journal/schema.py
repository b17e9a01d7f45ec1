"""The tables of a fleet's database, and the checksums of their rows."""

import json
import zlib
from collections.abc import Sequence

# The number of the format, which the file keeps as its `user_version`; 0: nothing is there yet.
FORMAT = 1

# Every row has a checksum. The table `seal` tells that a row, or the newest form of a row, is
# missing: it holds how often rows were changed, and the sum of their checksums. Its `schema` is the
# checksum of the tables themselves, and its `history` a number that changes with each repair.
TABLES = """
    -- Who is or was in the fleet. A device that has left keeps its index for ever and gives its
    -- label back.
    CREATE TABLE device (
        id INTEGER PRIMARY KEY, label TEXT NOT NULL, credential TEXT NOT NULL,
        quarantined INTEGER NOT NULL, removed INTEGER NOT NULL, checksum INTEGER NOT NULL);
    CREATE UNIQUE INDEX present ON device (label) WHERE NOT removed;

    -- A gateway speaks for devices; it is in this table itself, as its own speaker.
    CREATE TABLE spoken (
        device INTEGER PRIMARY KEY, gateway INTEGER NOT NULL, checksum INTEGER NOT NULL);

    -- Devices that run firmware in C, which cannot follow every change of the fleet.
    CREATE TABLE firmware (device INTEGER PRIMARY KEY, checksum INTEGER NOT NULL);

    -- The server's own credential, those that are revoked, and those that were replaced and are
    -- good for a while beside the new ones.
    CREATE TABLE server (credential TEXT NOT NULL, checksum INTEGER NOT NULL);
    CREATE TABLE revoked (credential TEXT PRIMARY KEY, checksum INTEGER NOT NULL);
    CREATE TABLE expiring (
        credential TEXT PRIMARY KEY, device INTEGER NOT NULL, until INTEGER NOT NULL,
        checksum INTEGER NOT NULL);

    -- What the fleet has agreed on. Each manifest has its generation, the journal's last line and
    -- the tick when it began, and when and why that was.
    CREATE TABLE manifest (
        generation INTEGER PRIMARY KEY, json TEXT NOT NULL, line INTEGER NOT NULL,
        tick INTEGER NOT NULL, time REAL NOT NULL, why TEXT NOT NULL, checksum INTEGER NOT NULL);

    -- The updates that were accepted; lines are numbered without gaps.
    CREATE TABLE journal (
        line INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again, even when all are deleted
        arrived INTEGER NOT NULL, device INTEGER NOT NULL, sent INTEGER NOT NULL,
        vals BLOB NOT NULL, level INTEGER NOT NULL, checksum INTEGER NOT NULL);

    -- The server after a line of the journal, under a manifest.
    CREATE TABLE snapshot (
        tick INTEGER NOT NULL, line INTEGER NOT NULL, generation INTEGER NOT NULL,
        state BLOB NOT NULL, checksum INTEGER NOT NULL,
        PRIMARY KEY (generation, line, tick));

    CREATE TABLE seal (
        history INTEGER NOT NULL, changes INTEGER NOT NULL, total INTEGER NOT NULL,
        schema INTEGER NOT NULL);
    INSERT INTO seal VALUES (abs(random() / 2), 0, 0, 0);

    CREATE TRIGGER device_added AFTER INSERT ON device BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    CREATE TRIGGER device_changed AFTER UPDATE ON device BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum - old.checksum; END;
    CREATE TRIGGER device_spoken_for AFTER INSERT ON spoken BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    CREATE TRIGGER firmware_noted AFTER INSERT ON firmware BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    CREATE TRIGGER firmware_gone AFTER DELETE ON firmware BEGIN
        UPDATE seal SET changes = changes + 1, total = total - old.checksum; END;
    CREATE TRIGGER server_named AFTER INSERT ON server BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    CREATE TRIGGER server_gone AFTER DELETE ON server BEGIN
        UPDATE seal SET changes = changes + 1, total = total - old.checksum; END;
    CREATE TRIGGER credential_revoked AFTER INSERT ON revoked BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    CREATE TRIGGER credential_expires AFTER INSERT ON expiring BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    CREATE TRIGGER credential_expired AFTER DELETE ON expiring BEGIN
        UPDATE seal SET changes = changes + 1, total = total - old.checksum; END;
    CREATE TRIGGER manifest_agreed AFTER INSERT ON manifest BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    CREATE TRIGGER manifest_forgotten AFTER DELETE ON manifest BEGIN
        UPDATE seal SET total = total - old.checksum; END;
"""

# The columns that the checksum of a row is of, and their types: all but the numbers of lines.
COLUMNS: dict[str, dict[str, type]] = {
    "device": {"id": int, "label": str, "credential": str, "quarantined": int, "removed": int},
    "spoken": {"device": int, "gateway": int},
    "firmware": {"device": int},
    "server": {"credential": str},
    "revoked": {"credential": str},
    "expiring": {"credential": str, "device": int, "until": int},
    "manifest": {
        "generation": int,
        "json": str,
        "line": int,
        "tick": int,
        "time": float,
        "why": str,
    },
    "journal": {"arrived": int, "device": int, "sent": int, "vals": bytes, "level": int},
    "snapshot": {"tick": int, "line": int, "generation": int, "state": bytes},
}
# Who is in the fleet and what proves it, which a repair mends row by row.
MEMBERS = ("device", "spoken", "firmware", "server", "revoked", "expiring")
_ALL = " UNION ALL ".join(f"SELECT checksum FROM {table}" for table in (*MEMBERS, "manifest"))  # noqa: S608
TOTAL = f"SELECT coalesce(sum(checksum), 0) FROM ({_ALL})"  # noqa: S608 (constants)


def checksum(*parts: object) -> int:
    """Return a checksum of numbers, texts and blobs.

    A part of any other type, such as None, counts by its `repr`: a damaged row of other types has
    another checksum than the row that was written.
    """
    return zlib.crc32(b" ".join(map(_bytes, parts)))


def is_intact(table: str, row: Sequence[object]) -> bool:
    """Whether a row ends with its checksum, and has values of its table's types before it.

    SQLite keeps values of any type in any column, and a checksum can be made for all of them.
    """
    *values, total = row
    kinds = COLUMNS[table].values()
    typed = all(type(value) is kind for value, kind in zip(values, kinds, strict=True))
    return typed and checksum(*values) == total


def _bytes(part: object) -> bytes:
    if isinstance(part, bytes):
        return part
    # Not the `repr` of a text: which of its characters are printable changes with Python.
    return (json.dumps(part) if isinstance(part, str) else repr(part)).encode()
