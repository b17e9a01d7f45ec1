"""The tables of a fleet's database, from the first version to the present, and their checksums."""

import json
import zlib
from collections.abc import Sequence

# From an empty file to the present schema, one step each; `user_version` counts the steps done.
# They may use the SQL function `crc(...)`, which is `checksum` below.
MIGRATIONS: Sequence[str] = (
    """
    CREATE TABLE manifest (json TEXT NOT NULL, checksum INTEGER NOT NULL);
    CREATE TABLE device (
        id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE,
        quarantined INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE journal (
        line INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again, even when all are deleted
        arrived INTEGER NOT NULL, device INTEGER NOT NULL,
        sent INTEGER NOT NULL, vals BLOB NOT NULL, checksum INTEGER NOT NULL);
    CREATE TABLE snapshot (
        tick INTEGER NOT NULL, line INTEGER PRIMARY KEY, state BLOB NOT NULL,
        checksum INTEGER NOT NULL);
    """,
    # A device that has left keeps its index for ever and gives its label back.
    """
    CREATE TABLE member (
        id INTEGER PRIMARY KEY, label TEXT NOT NULL, credential TEXT NOT NULL DEFAULT '',
        quarantined INTEGER NOT NULL DEFAULT 0, removed INTEGER NOT NULL DEFAULT 0);
    INSERT INTO member (id, label, quarantined) SELECT id, label, quarantined FROM device;
    DROP TABLE device;
    ALTER TABLE member RENAME TO device;
    CREATE UNIQUE INDEX present ON device (label) WHERE NOT removed;
    CREATE TABLE revoked (credential TEXT PRIMARY KEY);
    CREATE TABLE server (credential TEXT NOT NULL);
    """,
    # Every row has a checksum. The table `seal` tells that a row, or the newest form of a row, is
    # missing: it holds how often rows were changed, and the sum of their checksums. Its `schema` is
    # the checksum of the tables themselves, and its `history` a number that changes with each
    # repair.
    """
    ALTER TABLE device ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE revoked ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE server ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    UPDATE device SET checksum = crc(id, label, credential, quarantined, removed);
    UPDATE revoked SET checksum = crc(credential);
    UPDATE server SET checksum = crc(credential);
    CREATE TABLE seal (
        history INTEGER NOT NULL, changes INTEGER NOT NULL, total INTEGER NOT NULL,
        schema INTEGER NOT NULL);
    INSERT INTO seal SELECT abs(random() / 2), 0, coalesce(sum(checksum), 0), 0 FROM (
        SELECT checksum FROM device UNION ALL SELECT checksum FROM revoked UNION ALL
        SELECT checksum FROM server);
    CREATE TRIGGER device_added AFTER INSERT ON device BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    CREATE TRIGGER device_changed AFTER UPDATE ON device BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum - old.checksum; END;
    CREATE TRIGGER credential_revoked AFTER INSERT ON revoked BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    CREATE TRIGGER server_named AFTER INSERT ON server BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    CREATE TRIGGER server_gone AFTER DELETE ON server BEGIN
        UPDATE seal SET changes = changes + 1, total = total - old.checksum; END;

    -- Lines are numbered without gaps from now on. A repair used to leave one behind the snapshot
    -- that it took: what is before a gap moves up to it.
    CREATE TEMP TABLE gap AS SELECT line AS behind, coalesce(
        (SELECT min(line) FROM journal WHERE line > snapshot.line),
        (SELECT seq + 1 FROM sqlite_sequence WHERE name = 'journal'),
        line + 1) - line - 1 AS size
        FROM snapshot WHERE checksum = crc(tick, line, state);
    DELETE FROM gap WHERE size <= 0;
    UPDATE journal SET line = -line - (SELECT sum(size) FROM gap WHERE behind >= line)
        WHERE line <= (SELECT max(behind) FROM gap);
    UPDATE journal SET line = -line WHERE line < 0;
    UPDATE snapshot SET line = -line - (SELECT sum(size) FROM gap WHERE behind >= line)
        WHERE line <= (SELECT max(behind) FROM gap) AND checksum = crc(tick, line, state);
    UPDATE snapshot SET line = -line, checksum = crc(tick, -line, state) WHERE line < 0;
    DROP TABLE gap;
    """,
    # A line also says how well its device predicted.
    """
    ALTER TABLE journal ADD COLUMN level INTEGER NOT NULL DEFAULT 0;
    UPDATE journal SET checksum = crc(arrived, device, sent, vals, 0)
        WHERE checksum = crc(arrived, device, sent, vals);
    """,
    # A fleet may agree on something else. Each manifest has its generation, the journal's last line
    # and the tick when it began, when and why that was, and the snapshots that were taken under it.
    # A manifest that is lost is noticed in the same way as a device that is lost.
    """
    CREATE TABLE agreed (
        generation INTEGER PRIMARY KEY, json TEXT NOT NULL, line INTEGER NOT NULL,
        tick INTEGER NOT NULL, time REAL NOT NULL, why TEXT NOT NULL, checksum INTEGER NOT NULL);
    INSERT INTO agreed SELECT rowid, json, 0, 0, 0.0, 'made', checksum FROM manifest;
    UPDATE agreed SET time = CAST(json_extract(json, '$.start') AS REAL)
        WHERE checksum = crc(CAST(json AS BLOB));
    UPDATE agreed SET checksum = crc(generation, json, line, tick, time, why)
        WHERE checksum = crc(CAST(json AS BLOB));
    DROP TABLE manifest;
    ALTER TABLE agreed RENAME TO manifest;
    CREATE TABLE state (
        tick INTEGER NOT NULL, line INTEGER NOT NULL, generation INTEGER NOT NULL,
        state BLOB NOT NULL, checksum INTEGER NOT NULL,
        PRIMARY KEY (generation, line, tick));
    INSERT INTO state SELECT tick, line, generation, state, CASE
        WHEN snapshot.checksum = crc(tick, line, state) THEN crc(tick, line, generation, state)
        ELSE snapshot.checksum END
        FROM snapshot, (SELECT coalesce(max(generation), 1) AS generation FROM manifest);
    DROP TABLE snapshot;
    ALTER TABLE state RENAME TO snapshot;
    UPDATE seal SET total = total + (SELECT coalesce(sum(checksum), 0) FROM manifest);
    CREATE TRIGGER manifest_agreed AFTER INSERT ON manifest BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    CREATE TRIGGER manifest_forgotten AFTER DELETE ON manifest BEGIN
        UPDATE seal SET total = total - old.checksum; END;
    """,
    # A replaced credential may be good for a while beside the new one.
    """
    CREATE TABLE expiring (
        credential TEXT PRIMARY KEY, device INTEGER NOT NULL, until INTEGER NOT NULL,
        checksum INTEGER NOT NULL);
    CREATE TRIGGER credential_expires AFTER INSERT ON expiring BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    CREATE TRIGGER credential_expired AFTER DELETE ON expiring BEGIN
        UPDATE seal SET changes = changes + 1, total = total - old.checksum; END;
    """,
    # A gateway speaks for devices; it is in this table itself, as its own speaker.
    """
    CREATE TABLE spoken (
        device INTEGER PRIMARY KEY, gateway INTEGER NOT NULL, checksum INTEGER NOT NULL);
    CREATE TRIGGER device_spoken_for AFTER INSERT ON spoken BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    """,
    # Devices that run firmware in C, which cannot follow every change of the fleet.
    """
    CREATE TABLE firmware (device INTEGER PRIMARY KEY, checksum INTEGER NOT NULL);
    CREATE TRIGGER firmware_noted AFTER INSERT ON firmware BEGIN
        UPDATE seal SET changes = changes + 1, total = total + new.checksum; END;
    CREATE TRIGGER firmware_gone AFTER DELETE ON firmware BEGIN
        UPDATE seal SET changes = changes + 1, total = total - old.checksum; END;
    """,
)
SEALED = 3  # the version from which on a file beside the database says what was confirmed
WIRE_2 = 4  # the version from which on devices speak wire version 2
EPOCHS = 5  # the version from which on a manifest has a generation


def checksum(*parts: object) -> int:
    """Return a checksum of numbers, texts and blobs.

    A part of any other type, such as None, counts by its `repr`: a damaged row of other types has
    another checksum than the row that was written.
    """
    return zlib.crc32(b" ".join(map(_bytes, parts)))


def is_intact(row: Sequence[object], *kinds: type) -> bool:
    """Whether a row ends with its checksum, and has values of these types before it.

    SQLite keeps values of any type in any column, and a checksum can be made for all of them.
    """
    *values, total = row
    typed = all(type(value) is kind for value, kind in zip(values, kinds, strict=True))
    return typed and checksum(*values) == total


def _bytes(part: object) -> bytes:
    if isinstance(part, bytes):
        return part
    # Not the `repr` of a text: which of its characters are printable changes with Python.
    return (json.dumps(part) if isinstance(part, str) else repr(part)).encode()
