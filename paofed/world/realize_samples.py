"""Realise nature over a table as a list of samples, each as `realize` would have it.

Every number is a function of client and tick, so numbers are drawn at the samples alone. Laws with
memory look back over as many ticks as they remember.
"""

from collections.abc import Callable

import numpy as np

from paofed.core.arrays import BoolArray, IntArray, WordArray
from paofed.core.due import SampleLabels
from paofed.core.random import Key, philox, uniform
from paofed.memory import require_memory
from paofed.world.availability import Cells, OnOff
from paofed.world.faults import Measured
from paofed.world.realize import (
    Purpose,
    calibration_of,
    labels_of,
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
from paofed.world.value import ThresholdArray, threshold

# Takes ticks and clients, returns their random words.
Words = Callable[[IntArray, IntArray], WordArray]

_AT_ONCE = 64  # how many ticks of a client have their words drawn together

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
        calibration=calibration_of(scenario, made),
        newcomers_whole=scenario.newcomers == "whole",
        personal=scenario.personal,
        labels=labels_of_readings(scenario, world, run, seed=seed),
    )


def labels_of_readings(
    scenario: Scenario, world: int, run: int, *, seed: int
) -> SampleLabels | None:
    """Return the labels of a table's readings in one run; None where each is there at once."""
    readings, key = read(scenario.table), run_key(world_key(seed, world), run)
    labels = labels_of(scenario, key, readings.tick, readings.device)
    return None if labels is None else labels.if_any_lacks()


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


# What follows says what laws with memory have come to at some ticks alone, without walking through
# all ticks before them. A word below both thresholds of an on-off chain switches the chain on,
# whatever its state was, and a word above both switches it off. So the last such word before a tick
# decides, and only the words since then matter. A battery forgets likewise: once the battery is
# full, what filled it before does not matter.


def on_at(chain: OnOff, words: Words, n: IntArray, k: IntArray) -> BoolArray:
    """Return whether the chain of client k[i] is on at tick n[i]; each (n[i], k[i]) is given once.

    The thresholds in `chain` are given for each i.
    """
    order = np.lexsort((n, k))
    n, k, chain = n[order], k[order], OnOff(*(limits[order] for limits in chain))
    # Where the entry before has the same client, the search need not go back beyond its tick.
    beyond = np.where(np.diff(k, prepend=-1) == 0, np.roll(n, 1), -1)
    on, known = np.zeros((2, n.size), dtype=bool)
    left, tick = np.arange(n.size), n
    while left.size:
        first, start, stay = (limits[left] for limits in chain)
        word = words(tick, k[left])
        if_off, if_on = (word < np.where(tick == 0, first, limit) for limit in (start, stay))
        # An undecided tick leaves the chain as it was at the tick before or, where `if_off` holds,
        # turns it round: `on` counts these turns.
        on[left] ^= if_off
        known[left] = if_off == if_on
        further = (if_off != if_on) & (tick - 1 > beyond[left])
        left, tick = left[further], tick[further] - 1
    # An entry that is not known yet equals the entry before, or its opposite: count the turns since
    # the last known entry.
    turns, place = np.cumsum(on), np.arange(n.size)
    base = np.maximum.accumulate(np.where(known, place, 0))
    found = np.empty_like(on)
    found[order] = (turns - turns[base] + on[base]) % 2 == 1
    return found


def offered_at(cells: Cells, words: Words, n: IntArray, k: IntArray) -> BoolArray:
    """Return whether the battery of client k[i] offers the contact wanted at tick n[i].

    All contacts that are wanted must be given. The batteries in `cells` are given for each i.
    """
    order = np.lexsort((n, k))
    n, k, capacity, fill = n[order], k[order], cells.capacity[order], cells.fill[order]
    begins = np.flatnonzero(np.diff(k, prepend=-1))  # where the contacts of each client begin
    counts = np.diff(begins, append=k.size)
    since, level = np.zeros(begins.size, dtype=np.int64), cells.start[order[begins]]
    offered = np.empty(n.size, dtype=bool)
    # The first contact of every client, then the second of every client, and so on.
    for turn in range(counts.max(initial=0)):
        who = np.flatnonzero(counts > turn)
        now = begins[who] + turn
        room = capacity[now] - level[who]
        gained = _gained(fill[now], words, since[who], n[now] + 1, k[now], room)
        offered[now] = level[who] + gained > 0
        level[who] += gained - offered[now]
        since[who] = n[now] + 1
    found = np.empty_like(offered)
    found[order] = offered
    return found


def _gained(
    fill: ThresholdArray, words: Words, begin: IntArray, end: IntArray, k: IntArray, room: IntArray
) -> IntArray:
    """Return what batteries gain over the ticks from `begin` up to `end`, at most `room`."""
    gained, left = np.zeros_like(room), np.flatnonzero(room > 0)
    while left.size:
        ticks = end[left, None] - 1 - np.arange(_AT_ONCE)
        there = ticks >= begin[left, None]
        drawn = words(np.maximum(ticks, 0), k[left, None]) < fill[left, None]
        gained[left] += (drawn & there).sum(axis=1)
        end = end - _AT_ONCE
        left = left[(gained[left] < room[left]) & (end[left] > begin[left])]
    return np.minimum(gained, room)
