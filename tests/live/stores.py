"""Stores with some history, and hands that reach behind them."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.live.journal.database import CONFIRMED, FILE, StoreError
from paofed.live.journal.schema import MIGRATIONS, SEALED, checksum
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Coordinator
from tests.live.fleets import live, opened, records, server, stored, update


def execute(folder: Path, *statements: tuple[str, tuple[object, ...]]) -> None:
    """Change the file behind the store's back."""
    connection = sqlite3.connect(folder / FILE)
    try:
        with connection:
            for sql, values in statements:
                connection.execute(sql, values)
    finally:
        connection.close()


def ask(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / FILE)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def flip(folder: Path, table: str, column: str, line: int, place: int = 40) -> None:
    """Flip one bit of a blob."""
    ((blob,),) = ask(folder, f"SELECT {column} FROM {table} WHERE line = {line}")  # noqa: S608
    damaged = bytearray(blob)
    damaged[place] ^= 4
    execute(folder, (f"UPDATE {table} SET {column} = ? WHERE line = ?", (bytes(damaged), line)))  # noqa: S608


def lived(ticks: int) -> Coordinator:
    """The server that saw it all and never stopped."""
    coordinator = server()
    for tick in range(ticks):
        for device in range(3):
            values = np.sin([device + 3.0 * tick, device - tick])
            records(coordinator, device, update(tick, *values))
        coordinator.close(tick + 1)
    return coordinator


def refusal(folder: Path, does: Callable[[Store], object] = lambda _: None) -> str:
    with pytest.raises(StoreError) as refused, opened(folder) as store:
        does(store)
    says = str(refused.value)
    assert "\n" not in says
    assert str(folder) in says
    return says


EPOCHS = 5  # the version from which on a manifest has a generation


def as_before(folder: Path, *, version: int) -> None:
    """Let a fleet's folder be as a paofed that made this version of the schema left it."""
    path, new = folder / FILE, folder / "before.sqlite"
    connection = sqlite3.connect(new)
    connection.create_function("crc", -1, checksum)
    try:
        connection.executescript("".join(MIGRATIONS[:version]))
        connection.execute("ATTACH ? AS now", (str(path),))
        tables = connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")
        # The seal comes last: the others' triggers write to it.
        for (table,) in sorted(tables.fetchall(), key=lambda row: row[0] == "seal"):
            asked = connection.execute(f"PRAGMA main.table_info({table})").fetchall()
            columns = ", ".join(row[1] for row in asked)
            connection.execute(f"DELETE FROM main.{table}")  # noqa: S608 (our own names)
            connection.execute(
                f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM now.{table}"  # noqa: S608
            )
        if version < EPOCHS:
            connection.execute("UPDATE main.manifest SET checksum = crc(CAST(json AS BLOB))")
            connection.execute("UPDATE main.snapshot SET checksum = crc(tick, line, state)")
        if SEALED <= version < EPOCHS:
            connection.execute(
                "UPDATE main.seal SET total = total - (SELECT sum(checksum) FROM now.manifest)"
            )
        connection.commit()
        connection.execute(f"PRAGMA main.user_version = {version}")
    finally:
        connection.close()
    new.replace(path)
    if version < SEALED:
        (folder / CONFIRMED).unlink()


class PowerCutError(Exception):
    """Ends a write wherever it stands."""


def made(tmp_path: Path) -> Path:
    """Three devices, 25 ticks, snapshots after 10 and 20: lines 31 to 75, snapshots at 30, 60."""
    folder = tmp_path / "fleet"
    with stored(folder) as store:
        live(store, store.recover(), range(25), snapshots=10)
    return folder


def goes_on(fleet: Path) -> None:
    """What is written after a repair is there after a restart."""
    with opened(fleet) as store:
        coordinator = store.recover()
        coordinator.close(25)
        for ticks in (range(25, 28), range(28, 45)):
            live(store, coordinator, ticks, snapshots=10)
            again = store.recover()
            again.close(coordinator.tick)
            assert again.digest() == coordinator.digest()
            assert store.verify().agrees
