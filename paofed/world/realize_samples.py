"""Realise nature over a table as a list of samples, each as `realize` would have it.

Every number is a function of client and tick, so numbers are drawn at the samples alone. Laws with
memory look back over as many ticks as they remember.
"""

import numpy as np

from paofed.core.arrays import BoolArray, IntArray, WordArray
from paofed.core.random import Key, philox, uniform
from paofed.memory import require_memory
from paofed.world.events import threshold
from paofed.world.faults import Measured
from paofed.world.lookback import Words, offered_at, on_at
from paofed.world.realize import (
    Purpose,
    past_of,
    run_key,
    start_of,
    table_map,
    with_faults,
    world_key,
)
from paofed.world.recorded import Recorded
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from paofed.world.trace import Losses, SparseTrace

_TICK_BYTES = 100  # bytes that one tick of outages takes


def realize_samples(
    scenario: Scenario, world: int = 0, run: int = 0, *, seed: int = 0
) -> SparseTrace:
    """Realise one run over a table."""
    readings, made = read(scenario.table), world_key(seed, world)
    chance = _Chance(scenario, run_key(made, run), readings.tick, readings.device)
    available = chance.contacts()
    lost = chance.losses(available)
    x_test, test_targets = past_of(scenario, readings)
    seen = Measured(readings.tick, readings.device, readings.x, readings.y)
    seen = with_faults(scenario, seen, seed, world, run)
    return SparseTrace(
        ticks=scenario.ticks,
        clients=scenario.clients,
        tick=readings.tick,
        client=readings.device,
        x=seen.x,
        y=seen.y,
        truth=readings.y,
        available=available,
        delay=chance.delays(),
        lottery=uniform(chance.words(Purpose.EVENTS)[3]),
        lost_up=lost.up,
        lost_down=lost.down,
        fourier_map=table_map(scenario, made),
        x_test=x_test,
        test_targets=test_targets,
        start=start_of(scenario, made),
        newcomers_whole=scenario.newcomers == "whole",
        personal=scenario.personal,
    )


class _Chance:
    """What chance does to the samples of client k[i] at tick n[i]."""

    def __init__(self, scenario: Scenario, key: Key, n: IntArray, k: IntArray) -> None:
        self._scenario, self._key, self._n, self._k = scenario, key, n, k

    def words(self, purpose: Purpose) -> WordArray:
        """The four random words of every sample."""
        return philox(self._key, self._k, self._n, 0, purpose)

    def contacts(self) -> BoolArray:
        """Return which samples have a contact.

        The client must be available, hit by no outage, use the contact, and have one in its
        battery.
        """
        there = self._presence() & ~self._outages() & self._used()
        battery, wanted = self._scenario.battery, np.flatnonzero(there)
        if battery is not None:
            n, k = self._n[wanted], self._k[wanted]
            there[wanted] = offered_at(battery.cells(k), self._asked(Purpose.CONTACT, 2), n, k)
        return there

    def _presence(self) -> BoolArray:
        law = self._scenario.availability
        if isinstance(law, Recorded):
            return self._recorded(law).astype(bool)
        return on_at(law.on_off(self._k), self._asked(Purpose.EVENTS, 1), self._n, self._k)

    def _outages(self) -> BoolArray:
        law, ticks = self._scenario.outages, self._scenario.ticks
        if law is None:
            return np.zeros(self._n.size, dtype=bool)
        require_memory(_TICK_BYTES * ticks, f"outages over {ticks:,} ticks", "take longer ticks")
        began = law.began(self._key, ticks, Purpose.OUTAGE)[self._n]
        words = philox(self._key, self._k, np.maximum(began, 0), 0, Purpose.HIT)[0]
        hit: BoolArray = (began >= 0) & (words < law.shares(self._k))
        return hit

    def _used(self) -> BoolArray:
        share = self._scenario.contacts
        if share is None:
            return np.ones(self._n.size, dtype=bool)
        used: BoolArray = self.words(Purpose.CONTACT)[3] < threshold(share)
        return used

    def losses(self, available: BoolArray) -> Losses:
        """Return which messages of these contacts never arrive."""
        if self._scenario.loss is None:
            return Losses(*np.zeros((2, self._n.size), dtype=bool))
        up, down, _, _ = self.words(Purpose.CONTACT)
        losing_up, losing_down = self._scenario.loss.thresholds(self._k)
        return Losses(available & (up < losing_up), available & (down < losing_down))

    def delays(self) -> IntArray:
        """Return the delay of each message."""
        law = self._scenario.delay
        if isinstance(law, Recorded):
            return self._recorded(law)
        return law.ladder().delays(self.words(Purpose.EVENTS)[2], self._k)

    def _recorded(self, law: Recorded) -> IntArray:
        return law.table(self._scenario.ticks, self._scenario.clients)[self._n, self._k]

    def _asked(self, purpose: Purpose, word: int) -> Words:
        """Return a function that draws a word at other ticks, for laws that look back."""
        return lambda n, k: philox(self._key, k, n, 0, purpose)[word]
