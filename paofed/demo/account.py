"""What came of a demonstration: the learning curve from the server's journal, and a simulation."""

from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.metrics import mean_squared_error
from paofed.live.device.footprint import footprint
from paofed.live.fleet.settings import Settings
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Record
from paofed.simulate.engines.reference import replay
from paofed.world.trace import Trace


class Account(NamedTuple):
    """Both curves (mean squared error by tick), and how much was heard."""

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
        verified, few = store.verify().agrees, store.manifest()
        live, contacts = _from_journal(store, trace, first)
    simulated = replay(trace, few.row, wire=np.float32)
    full = replace(few, algorithm="online-fedsgd", shared=few.features)
    every = footprint(full, Settings.load(folder).name, 0)
    return Account(live, simulated.mse, contacts, every.up + every.down, verified)


def _from_journal(store: Store, trace: Trace, first: int) -> tuple[FloatArray, FloatArray]:
    z_test, targets = trace.fourier_map(trace.x_test), trace.test_targets
    server, records = store.history()
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
