"""What laws with memory say at some ticks alone, without walking through all ticks before them.

A word below both thresholds of an on-off chain switches it on, whatever it was, and one above both
switches it off. So the last such word before a tick decides, and only the words since then matter.
A battery forgets likewise: once it is full, what filled it before does not matter.
"""

from collections.abc import Callable

import numpy as np

from paofed.core.arrays import BoolArray, IntArray, WordArray
from paofed.world.availability import OnOff
from paofed.world.battery import Cells
from paofed.world.events import ThresholdArray

Words = Callable[[IntArray, IntArray], WordArray]  # the random words of ticks and clients

_AT_ONCE = 64  # ticks of a client whose words are drawn together


def on_at(chain: OnOff, words: Words, n: IntArray, k: IntArray) -> BoolArray:
    """Whether the chain of client k[i] is on at tick n[i]; no client stands twice at one tick.

    The thresholds of the chain are given for each of these places.
    """
    order = np.lexsort((n, k))
    n, k, chain = n[order], k[order], OnOff(*(limits[order] for limits in chain))
    # Where the place before has the same client, its tick is the last that need be looked at.
    beyond = np.where(np.diff(k, prepend=-1) == 0, np.roll(n, 1), -1)
    on, known = np.zeros((2, n.size), dtype=bool)
    left, tick = np.arange(n.size), n
    while left.size:
        first, start, stay = (limits[left] for limits in chain)
        word = words(tick, k[left])
        if_off, if_on = (word < np.where(tick == 0, first, limit) for limit in (start, stay))
        # One that is undecided is on where it was on before; or, with `if_off`, where it was not.
        on[left] ^= if_off
        known[left] = if_off == if_on
        further = (if_off != if_on) & (tick - 1 > beyond[left])
        left, tick = left[further], tick[further] - 1
    # What is not known yet is as the place before, or turned: add up the turns since one is known.
    turns, place = np.cumsum(on), np.arange(n.size)
    base = np.maximum.accumulate(np.where(known, place, 0))
    found = np.empty_like(on)
    found[order] = (turns - turns[base] + on[base]) % 2 == 1
    return found


def offered_at(cells: Cells, words: Words, n: IntArray, k: IntArray) -> BoolArray:
    """Whether the battery of client k[i] offers the contact wanted at tick n[i]: all that are.

    The batteries are given for each of these places.
    """
    order = np.lexsort((n, k))
    n, k, capacity, fill = n[order], k[order], cells.capacity[order], cells.fill[order]
    begins = np.flatnonzero(np.diff(k, prepend=-1))  # of each client's contacts
    counts = np.diff(begins, append=k.size)
    since, level = np.zeros(begins.size, dtype=np.int64), cells.start[order[begins]]
    offered = np.empty(n.size, dtype=bool)
    for turn in range(counts.max(initial=0)):  # every client's first contact, then its second, ...
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
    """What batteries gain over the ticks from `begin` up to `end`, up to the room they have."""
    gained, left = np.zeros_like(room), np.flatnonzero(room > 0)
    while left.size:
        ticks = end[left, None] - 1 - np.arange(_AT_ONCE)
        there = ticks >= begin[left, None]
        drawn = words(np.maximum(ticks, 0), k[left, None]) < fill[left, None]
        gained[left] += (drawn & there).sum(axis=1)
        end = end - _AT_ONCE
        left = left[(gained[left] < room[left]) & (end[left] > begin[left])]
    return np.minimum(gained, room)
