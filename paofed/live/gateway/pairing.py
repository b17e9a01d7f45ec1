"""Readings that come one by one become samples: a state machine without clock or network.

For each name, readings that no sample has used yet are held. A reading is stale when it is `window`
seconds or more older than the newest reading that is held: it is forgotten. As soon as all inputs
are held, a prediction can be made from the newest of each.

Where readings do not say their time, a sample is made of the newest reading of each name, as soon
as all inputs and the target are held. Where readings say their time, a target belongs to the
readings that are nearest to it in time, and the sample waits until these are known: a target may
come long after newer inputs. A sample uses its readings up: the readings of a sample lie less than
`window` seconds apart, and no reading is in two samples. Inputs that all sources share are not used
up.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_MOST = 256  # the most readings of one name that are held


class Rule(NamedTuple):
    """What makes a sample."""

    inputs: tuple[str, ...]
    target: str
    window: float  # seconds
    shared: frozenset[str] = frozenset()  # inputs that all sources have in common
    timed: bool = False  # whether readings say when they were made


class Held(NamedTuple):
    """A reading that no sample has used."""

    value: float
    at: float  # seconds


class HeldReadings(NamedTuple):
    """The state: the readings held, and by name when the reading was made that was used last."""

    held: Mapping[str, tuple[Held, ...]] = {}  # the oldest first
    used: Mapping[str, float] = {}


class Paired(NamedTuple):
    """All inputs, and the target where it is known: then this is a sample."""

    inputs: Mapping[str, float]
    target: float | None
    at: float  # the time of the newest input


class Taken(NamedTuple):
    """What comes of a message: the new state, samples, and perhaps inputs to predict from."""

    readings: HeldReadings
    paired: tuple[Paired, ...] = ()  # samples, then inputs alone
    late: int = 0  # readings that are not newer than the one held or used last
    alone: int = 0  # targets without inputs of their time


Match = dict[str, Held] | None  # the inputs of a target; empty: not known yet; None: there are none


def take(readings: HeldReadings, told: Mapping[str, float], at: float, rule: Rule) -> Taken:
    """Take the readings of one message, all of the same time."""
    new = [name for name in told if _is_new(readings, name, at, rule)]
    held = {**readings.held}
    for name in new:
        known = sorted((*held.get(name, ()), Held(told[name], at)), key=_time)
        held[name] = tuple(known[-(_MOST if rule.timed else 1) :])
    newest = max((known[-1].at for known in held.values()), default=-math.inf)
    state, paired, alone = HeldReadings(held, readings.used), list[Paired](), 0
    for target in held.get(rule.target, ()):
        inputs = _match(state, target, newest, rule)
        if inputs:
            paired.append(_paired(inputs, target.value))
        if inputs is None:
            alone += 1
        if inputs != {}:
            state = _used_up(state, target, inputs or {}, rule)
    state = _fresh(state, newest - rule.window)
    late = len(told) - len(new) + sum(at <= newest - rule.window for n in new if n != rule.target)
    if set(new) & set(rule.inputs) and all(name in state.held for name in rule.inputs):
        paired.append(_paired({name: state.held[name][-1] for name in rule.inputs}, None))
    return Taken(state, tuple(paired), late, alone)


def _time(reading: Held) -> float:
    return reading.at


def _is_new(readings: HeldReadings, name: str, at: float, rule: Rule) -> bool:
    """Whether a reading of this time may be used: it comes neither twice nor after its use."""
    known = readings.held.get(name, ())
    if rule.timed:
        came_before = any(one.at == at for one in known)
    else:
        came_before = bool(known) and at <= known[-1].at
    return at > readings.used.get(name, -math.inf) and not came_before


def _match(state: HeldReadings, target: Held, newest: float, rule: Rule) -> Match:
    """Return the readings of all inputs that are nearest to a target, once they are known.

    They are known when no later reading can be nearer: each input was read at the target's time or
    later, and so was the target at the time of the inputs. A `window` later nothing is waited for.
    """
    over = target.at <= newest - rule.window
    found = {}
    for name in rule.inputs:
        nearest = _nearest(state.held.get(name, ()), target.at)
        if nearest is None or _apart(nearest, target) >= rule.window:
            return None if over else {}
        found[name] = nearest
        used = abs(state.used.get(name, -math.inf) - target.at)
        if rule.timed and used < _apart(found[name], target):
            return None  # its inputs are in another sample
    times = [target.at, *(one.at for one in found.values())]
    if max(times) - min(times) >= rule.window:
        return None if over else {}
    if not rule.timed:
        return found
    if not over and any(state.held[name][-1].at < target.at for name in rule.inputs):
        return {}
    last = max(found.values(), key=_time)
    targets = state.held[rule.target]
    rival = _nearest(targets, last.at)
    if rival is not None and _apart(rival, last) < _apart(target, last):
        return None
    return found if over or targets[-1].at >= last.at else {}


def _nearest(known: Sequence[Held], at: float) -> Held | None:
    """Return the reading that is nearest to a time, of two the older; `known` is in order."""
    place = bisect_left(known, at, key=_time)
    return min(known[max(place - 1, 0) : place + 1], key=lambda one: abs(one.at - at), default=None)


def _apart(one: Held, other: Held) -> float:
    return abs(one.at - other.at)


def _paired(inputs: Mapping[str, Held], target: float | None) -> Paired:
    values = {name: one.value for name, one in inputs.items()}
    return Paired(values, target, max(one.at for one in inputs.values()))


def _used_up(
    state: HeldReadings, target: Held, inputs: Mapping[str, Held], rule: Rule
) -> HeldReadings:
    """Return the state without a target, its inputs, and all that was read before each of them."""
    until = {name: one.at for name, one in inputs.items() if name not in rule.shared}
    until[rule.target] = target.at
    held = {
        name: tuple(one for one in known if one.at > until.get(name, -math.inf))
        for name, known in state.held.items()
    }
    return HeldReadings(held, {**state.used, **until})


def _fresh(state: HeldReadings, after: float) -> HeldReadings:
    """Return the state without readings that are stale."""
    fresh = {
        name: tuple(one for one in known if one.at > after) for name, known in state.held.items()
    }
    return state._replace(held={name: known for name, known in fresh.items() if known})
