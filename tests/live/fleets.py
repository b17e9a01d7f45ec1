"""Fleets to try things on."""

import inspect
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.algorithms.base import PaperParts
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Coordinator, Record
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import Repeat, Update, Values, encode
from paofed.live.protocol.quantity import Quantity

_SMALL = Manifest(
    algorithm="pao-fed-u1",
    features=8,
    shared=2,
    kernel_width=1.0,
    seed=1,
    step_size=0.4,
    max_age=4,
    tick_seconds=1.0,
    start=1.0,
    epoch=3,
    inputs=(Quantity(name="a"), Quantity(name="b", offset=0.5, scale=2.0)),
    target=Quantity(name="y", offset=10.0, scale=4.0),
)


def manifest(**changes: Any) -> Manifest:
    """A small fleet's, with some values changed."""
    return replace(_SMALL, **changes)


def parts(agreed: Manifest) -> PaperParts:
    """The windows and the server rule of a fleet."""
    return agreed.row.require_paper_parts("a live fleet")


def f32(*values: float) -> Values:
    """Numbers as they travel."""
    return np.array(values, dtype="<f4")


def update(
    tick: int, *values: float, repeats: Iterable[tuple[int, tuple[float, ...]]] = (), epoch: int = 3
) -> bytes:
    """An update of the small fleet; each repeat is (ticks earlier, values)."""
    earlier = tuple(Repeat(ticks, f32(*part)) for ticks, part in repeats)
    return encode(Update(epoch, tick, f32(*values or (1.0, -2.0)), earlier))


def server(devices: int = 3, **changes: Any) -> Coordinator:
    """A server that knows some devices."""
    coordinator = Coordinator(manifest(**changes))
    for device in range(devices):
        coordinator.add(device)
    return coordinator


def records(coordinator: Coordinator, device: int, payload: bytes) -> list[Record]:
    """Let the server hear a message; returns the lines that it wants in its journal."""
    effects = coordinator.receive(device, payload)
    return [effect for effect in effects if isinstance(effect, Record)]


@contextmanager
def stored(folder: Path, devices: int = 3, **changes: Any) -> Iterator[Store]:
    """A new fleet's store, closed in the end."""
    store = Store.create(folder, manifest(**changes))
    try:
        for device in range(devices):
            store.roster.add(f"device {device}")
        yield store
    finally:
        store.close()


@contextmanager
def opened(folder: Path, *, to_repair: bool = False) -> Iterator[Store]:
    """A fleet's store, opened again, closed in the end."""
    store = Store.open(folder, to_repair=to_repair)
    try:
        yield store
    finally:
        store.close()


def live(
    store: Store,
    coordinator: Coordinator,
    ticks: Iterable[int],
    snapshots: int = 0,
    keep: float = 0.0,
) -> None:
    """Let every device be heard in every tick, its values a function of (device, tick)."""
    for tick in ticks:
        coordinator.close(tick)
        group = []
        for device in range(len(coordinator.devices)):
            values = np.sin([device + 3.0 * tick, device - tick])
            message = update(tick, *values, epoch=coordinator.manifest.epoch)
            group += records(coordinator, device, message)
        store.write(group)
        store.confirmation.catch_up()
        coordinator.committed()
        coordinator.close(tick + 1)
        if snapshots and (tick + 1) % snapshots == 0:
            store.snapshot(coordinator, keep=keep)


def broken(
    monkeypatch: pytest.MonkeyPatch, owner: type, method: str, right: str, wrong: str
) -> None:
    """Replace some words of a method by others; they must be there."""
    function = inspect.getattr_static(owner, method)
    source = textwrap.dedent(inspect.getsource(function))
    assert right in source
    scope: dict[str, Any] = dict(function.__globals__)
    exec(source.replace(right, wrong), scope)  # noqa: S102 (our own source)
    monkeypatch.setattr(owner, method, scope[method])
