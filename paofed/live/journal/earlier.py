"""A fleet's folder as an earlier paofed would have left it: what upgrades are tested on."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from paofed.live.journal.database import CONFIRMED, FILE
from paofed.live.journal.schema import EPOCHS, MIGRATIONS, SEALED, WIRE_2, checksum
from paofed.live.protocol.manifest import SINCE_2


def as_before(folder: Path, *, version: int) -> None:
    """Turn a fleet's folder into what a paofed with this version of the schema would have left.

    Values for which that schema had no room are gone. Nobody may have the database open.
    """
    path, new = folder / FILE, folder / "before.sqlite"
    with closing(sqlite3.connect(new)) as connection:
        connection.create_function("crc", -1, checksum)
        connection.create_function("earlier", 1, _first_form if version < WIRE_2 else str)
        connection.executescript("".join(MIGRATIONS[:version]))
        connection.execute("ATTACH ? AS now", (str(path),))
        _copy_tables(connection)
        connection.execute("UPDATE main.manifest SET json = earlier(json)")
        if version < EPOCHS:
            connection.execute("UPDATE main.manifest SET checksum = crc(CAST(json AS BLOB))")
            connection.execute("UPDATE main.snapshot SET checksum = crc(tick, line, state)")
        if version < WIRE_2:
            without_level = "crc(arrived, device, sent, vals)"
            connection.execute(f"UPDATE main.journal SET checksum = {without_level}")  # noqa: S608
        if SEALED <= version < EPOCHS:
            connection.execute(
                "UPDATE main.seal SET total = total - (SELECT sum(checksum) FROM now.manifest)"
            )
        connection.commit()
        connection.execute(f"PRAGMA main.user_version = {version}")
    new.replace(path)
    if version < SEALED:
        (folder / CONFIRMED).unlink()


def _copy_tables(connection: sqlite3.Connection) -> None:
    """Copy the rows that both schemas have from the database `now` to `main`."""
    tables = connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")
    # The table `seal` comes last: triggers of the others write to it.
    for (table,) in sorted(tables.fetchall(), key=lambda row: row[0] == "seal"):
        asked = connection.execute(f"PRAGMA main.table_info({table})").fetchall()
        columns = ", ".join(row[1] for row in asked)
        connection.execute(f"DELETE FROM main.{table}")  # noqa: S608 (our own names)
        connection.execute(  # a line had only one snapshot: the last one is kept
            f"INSERT OR REPLACE INTO main.{table} ({columns}) "  # noqa: S608
            f"SELECT {columns} FROM now.{table} ORDER BY rowid"
        )


def _first_form(text: str) -> str:
    """Return a manifest as wire version 1 had it."""
    values: dict[str, Any] = json.loads(text)
    for number in (*values["inputs"], values["target"]):
        del number["low"], number["high"]
    return json.dumps({k: v for k, v in values.items() if k not in {*SINCE_2, "wire"}})
