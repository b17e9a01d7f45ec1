"""What the demonstration's devices will see and have agreed on, and what came of it in the end."""

import math
from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.metrics import mean_squared_error
from paofed.core.random import child
from paofed.live.device.footprint import footprint
from paofed.live.fleet.settings import Settings
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Record
from paofed.live.protocol.manifest import USUAL_BOUND, USUAL_CLIP, Manifest
from paofed.live.protocol.quantity import Quantity
from paofed.simulate.engines.reference import replay
from paofed.world.realize import make_world
from paofed.world.scenario import Scenario
from paofed.world.streams import INPUTS
from paofed.world.trace import Trace

ALGORITHM = "pao-fed-u1"
SHARED = 4
_PRESENCE = (0.75, 0.5, 0.25, 0.1)


def scenario_of(devices: int, ticks: int) -> Scenario:
    """Return Setting I, smaller and with more contacts.

    Messages take no time unless something fails.
    """
    values = Scenario.load("setting-1").model_dump()
    values |= {"name": "demo", "clients": devices, "ticks": ticks}
    values["stream"]["samples"] = [ticks * (3 + k % 2) // 4 for k in range(devices)]
    presence = [_PRESENCE[k % len(_PRESENCE)] for k in range(devices)]
    values["availability"]["probabilities"] = presence
    values["delay"] = {"kind": "geometric", "base": 0.0}
    return Scenario.model_validate(values)


def first_tick(earliest: float, scenario: Scenario) -> int:
    """Return the server's tick at which the trace begins: its windows are those of tick 0."""
    period = -(-scenario.features // SHARED)
    return period * math.ceil(earliest / period)


def manifest_of(scenario: Scenario, seed: int, tick_seconds: float, start: float) -> Manifest:
    """Return the manifest of a live fleet with the scenario's numbers and its world's map."""
    key = child(make_world(scenario, seed, 0).key, 0, 1)
    return Manifest(
        algorithm=ALGORITHM,
        features=scenario.features,
        shared=SHARED,
        kernel_width=scenario.kernel_width,
        seed=key.low | key.high << 32,  # a key is a seed in two words
        step_size=scenario.step_size,
        max_age=scenario.max_age,
        tick_seconds=tick_seconds,
        start=start,
        epoch=0,
        inputs=tuple(Quantity(name=f"x{i}").limited() for i in range(INPUTS)),
        target=Quantity(name="y").limited(),
        clip=USUAL_CLIP,
        bound=USUAL_BOUND,
    )


class Account(NamedTuple):
    """What came of it, live and simulated: both curves of the squared error, what was heard."""

    live: FloatArray
    simulated: FloatArray
    contacts: FloatArray  # accepted updates by tick, summed up
    full_bytes: int  # bytes of a contact with all parameters both ways, as MQTT
    verified: bool


def account_of(folder: Path, trace: Trace, first: int) -> Account:
    """Replay the journal in a fleet's folder tick by tick, and the same events in the simulator.

    `first` is the server's tick at which the trace began.
    """
    with closing(Store.open(folder)) as store:
        verified, few = store.verify().agrees, store.epochs.manifest()
        live, contacts = _from_journal(store, trace, first)
    simulated = replay(trace, few.row, wire=np.float32)
    full = replace(few, algorithm="online-fedsgd", shared=few.features)
    every = footprint(full, Settings.load(folder).name, 0)
    return Account(live, simulated.mse, contacts, every.up + every.down, verified)


def _from_journal(store: Store, trace: Trace, first: int) -> tuple[FloatArray, FloatArray]:
    z_test, targets = trace.fourier_map(trace.x_test), trace.test_targets
    server, records = store.past.history()
    by_tick: defaultdict[int, list[Record]] = defaultdict(list)
    for record in records:
        by_tick[max(record.arrived - first, 0)].append(record)
    mse, contacts = np.empty(trace.ticks), np.zeros(trace.ticks)
    for n in range(trace.ticks):
        server.recover(by_tick[n])
        server.close(first + n + 1)
        mse[n] = mean_squared_error(server.w, z_test, targets.at(n))
        contacts[n] = len(by_tick[n])
    return mse, np.cumsum(contacts)
