"""Fleets with a past, to be looked at: made of real messages that a real server has taken."""

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np

from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.journal.host import Host
from paofed.live.protocol.level import IMPLAUSIBLE
from paofed.live.protocol.messages import Update, encode
from tests.live.fleets import f32, manifest
from tests.ports import free_port

BROKEN = {"refused": 1, "silent": 2, "implausible": 3, "worse": 4}  # whom what happens to


def lived(
    folder: Path,
    labels: Sequence[str],
    ticks: int,
    *,
    tick_seconds: float = 60.0,
    share: float = 1.0,
    broken: bool = True,
    budget: int = 0,
    http: str = "",
    wall: Callable[[], float] = time.time,
) -> Fleet:
    """A fleet whose last tick is now; a `share` of devices is heard in each tick.

    If some are broken, those of BROKEN are so in the last third of the time.
    """
    start = math.floor(wall()) - ticks * tick_seconds
    settings = Settings(name="greenhouse", security="none", http=http, budget=budget)
    agreed = manifest(start=start, tick_seconds=tick_seconds, clip=6.0, bound=6.0)
    with patch("paofed.live.journal.store.time.time", lambda: start):
        fleet = Fleet.create(folder, settings, agreed)
    random = np.random.default_rng(0)
    with fleet.store() as store:
        store.roster.add_all(labels)
        host = Host(store, lambda _: None, snapshot_every=1_000_000)
        for tick in range(ticks):
            host.advance(tick)
            late = broken and tick > ticks * 2 // 3
            for device in np.flatnonzero(random.random(len(labels)) < share).tolist():
                if not (late and device == BROKEN["silent"]):
                    host.receive(device, _message(device, tick, random, late=late))
        host.advance(ticks)
        host.snapshot()
    return fleet


def _message(device: int, tick: int, random: np.random.Generator, *, late: bool) -> bytes:
    fine = round(128 + (-8 - 10 * (1 - math.exp(-tick / 40)) + random.normal()) / 0.75)
    level = int(fine + (device % 7 - 3))
    if late and device == BROKEN["refused"]:
        return b"\x20"
    if late and device == BROKEN["implausible"]:
        level = IMPLAUSIBLE
    if late and device == BROKEN["worse"]:
        level += 20
    sent = tick - int(random.integers(0, 3)) if tick > 3 else tick
    return encode(Update(3, sent, f32(*random.normal(size=2)), (), level))


def named(count: int) -> list[str]:
    """Labels as people give them."""
    places = ("north", "south", "east", "west", "roof", "cellar")
    return [f"{places[k % len(places)]}-{k // len(places) + 1}" for k in range(count)]


def address(fleet: Fleet) -> str:
    """Where the page is."""
    return f"http://{fleet.settings.http}/"


def here() -> str:
    """A free place on this machine."""
    return f"127.0.0.1:{free_port()}"
