"""What laws with memory say at some ticks alone, without walking through all ticks before them.

A word below both thresholds of an on-off chain switches the chain on, whatever its state was, and a
word above both switches it off. So the last such word before a tick decides, and only the words
since then matter. A battery forgets likewise: once the battery is full, what filled it before does
not matter.
"""

from collections.abc import Callable

import numpy as np

from paofed.core.arrays import BoolArray, IntArray, WordArray
from paofed.world.availability import OnOff
from paofed.world.battery import Cells
from paofed.world.events import ThresholdArray

# Takes ticks and clients, returns their random words.
Words = Callable[[IntArray, IntArray], WordArray]

_AT_ONCE = 64  # how many ticks of a client have their words drawn together


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
