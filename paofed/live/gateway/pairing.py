"""Readings that come one by one become samples: a state machine without clock or network.

For each name, the newest reading that no sample has used yet is held. A reading is stale when it is
`window` seconds or more older than the newest reading that is held: it is forgotten. As soon as all
inputs are held, a prediction can be made. As soon as the target is held as well, there is a sample,
which uses all of the held readings up. So the readings of a sample lie less than `window` seconds
apart, in any order, and no reading is in two samples.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple


class Rule(NamedTuple):
    """What makes a sample."""

    inputs: tuple[str, ...]
    target: str
    window: float  # seconds


class Held(NamedTuple):
    """A reading that no sample has used."""

    value: float
    at: float  # seconds


class HeldReadings(NamedTuple):
    """The state: the readings held, and by name when the reading was made that was used last."""

    held: Mapping[str, Held] = {}
    used: Mapping[str, float] = {}


class Paired(NamedTuple):
    """All inputs, and the target where it is known: then this is a sample."""

    inputs: Mapping[str, float]
    target: float | None
    at: float  # the time of the newest input


class Taken(NamedTuple):
    """What comes of a message: the new state, and perhaps inputs or a sample."""

    readings: HeldReadings
    paired: Paired | None = None
    late: int = 0  # readings that are not newer than the one held or used last


def take(readings: HeldReadings, told: Mapping[str, float], at: float, rule: Rule) -> Taken:
    """Take the readings of one message, all of the same time."""
    known = {**readings.used, **{name: found.at for name, found in readings.held.items()}}
    new = {n: Held(value, at) for n, value in told.items() if at > known.get(n, -math.inf)}
    held = _fresh({**readings.held, **new}, rule.window)
    late = sum(name not in new or name not in held for name in told)
    inputs = {name: held[name].value for name in rule.inputs if name in held}
    after = HeldReadings(held, readings.used)
    target = held.get(rule.target)
    news = any(name in new for name in (rule.inputs if target is None else held))
    if len(inputs) < len(rule.inputs) or not news:
        return Taken(after, None, late)
    newest = max(held[name].at for name in rule.inputs)
    if target is None:
        return Taken(after, Paired(inputs, None, newest), late)
    used = {**readings.used, **{name: found.at for name, found in held.items()}}
    return Taken(HeldReadings({}, used), Paired(inputs, target.value, newest), late)


def _fresh(held: Mapping[str, Held], window: float) -> dict[str, Held]:
    newest = max((found.at for found in held.values()), default=0.0)
    return {name: found for name, found in held.items() if found.at > newest - window}
