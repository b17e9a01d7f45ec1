"""Stores with some history, and hands that reach behind them."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.live.journal.database import FILE, StoreError
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


def history(store: Store) -> object:
    """What an export would be made from."""
    return store.past.history()


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
