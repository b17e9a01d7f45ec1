"""Who in a fleet needs somebody to look, what for, and since when: all of it is decided here.

aside        the rule has set the device aside: its updates lie far outside, and count little
implausible  the device says that its samples are outside the plausible ranges time and again
worse        the device predicts far worse than the fleet: 6 dB, for 32 contacts in a row
refused      ten messages in a row were refused
silent       no contact for 16 times its usual gap, nor for twice its longest gap of late

Somebody has looked at a device that is quarantined or removed: nothing is said of it. A device
whose messages are refused is not called silent as well.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.live.protocol.coordinator import REPORT_AFTER, Coordinator
from paofed.live.protocol.devices import REASONS
from paofed.live.protocol.level import decibels
from paofed.live.protocol.trend import NEVER
from paofed.words import counted

KINDS = ("aside", "implausible", "worse", "refused", "silent")
_OVER = {  # by KINDS: what is said in a log when it is over
    "aside": "is no longer set aside: its updates count in full again",
    "implausible": "measures what is plausible again",
    "worse": "predicts about as well as the others again",
    "silent": "is heard again",
}  # the server's loop logs refusals as they happen
_MOST = 10  # lines at once: a site that is cut off is one piece of news, not hundreds


@dataclass(frozen=True)
class Trouble:
    """What is the matter with a device, since which tick, in words that follow its name."""

    kind: str
    since: int
    words: str


class _Kind(NamedTuple):
    """One of KINDS: whom it applies to, since when, and how it is said, each by index."""

    kind: str
    applies: NDArray[np.bool_]
    since: NDArray[Any]
    words: Callable[[int], str]


def judged(coordinator: Coordinator) -> dict[int, tuple[Trouble, ...]]:
    """Return the devices with which something is the matter, and what."""
    devices = coordinator.devices
    members = devices.known & ~devices.quarantined
    members[list(coordinator.removed)] = False
    found: dict[int, tuple[Trouble, ...]] = {}
    for kind, applies, since, words in _kinds(coordinator):
        for k in np.flatnonzero(applies & members[: applies.size]).tolist():
            found[k] = (*found.get(k, ()), Trouble(kind, int(since[k]), words(k)))
    return found


def _kinds(coordinator: Coordinator) -> Iterator[_Kind]:
    devices, wellbeing = coordinator.devices, coordinator.wellbeing
    rows, contacts = wellbeing.devices, coordinator.presence.devices
    fleet = wellbeing.error.late
    refused = devices.refused >= REPORT_AFTER
    silent = coordinator.presence.silent(coordinator.tick) & ~refused[: contacts.size]

    def outside(k: int) -> str:
        return (
            f"is set aside: its updates lie far outside those of the others, and count as at most "
            f"{coordinator.rule.allowance(k):.1f} usual differences, on trial; it is broken "
            f"(mend it, or `paofed fleet quarantine`), or alone where it measures (wait, or "
            f"`paofed fleet trust`)"
        )

    def implausible(_: int) -> str:
        return "measures what is not plausible, time and again"

    def worse(k: int) -> str:
        own = decibels(int(rows["level"][k])) or 0.0
        own_words, others = map(coordinator.manifest.error_in_words, (own, fleet))
        return f"predicts far worse than the fleet: {own_words} against {others}"

    def why(k: int) -> str:
        return f"is refused again and again: {REASONS[devices.refused_why[k]]}"

    def gap(k: int) -> str:
        return f"is silent for longer than is usual for it, {contacts['gap'][k]:.3g} ticks"

    yield _Kind("aside", rows["aside_since"] >= 0, rows["aside_since"], outside)
    since = contacts["implausible_since"]
    yield _Kind("implausible", since >= 0, since, implausible)
    yield _Kind("worse", wellbeing.far_worse(), rows["far_since"], worse)
    yield _Kind("refused", refused, devices.refused_since, why)
    yield _Kind("silent", silent, devices.last_seen, gap)


class Line(NamedTuple):
    """A line of a log, and its level."""

    level: int
    text: str


class News:
    """Says in lines for a log what has changed: remembers what was the matter at the last call."""

    def __init__(self) -> None:
        self._known: set[tuple[int, str]] = set()
        self._worse = False

    def of(self, coordinator: Coordinator, label: Callable[[int], str]) -> list[Line]:
        """Return what is new; `label` returns the name that people use for a device."""
        found = judged(coordinator).items()
        faults = {(device, fault.kind): fault for device, its in found for fault in its}
        changes = [
            (logging.WARNING, k, faults[k, kind].words)
            for k, kind in sorted(faults.keys() - self._known)
            if kind in _OVER
        ]
        looked_at = coordinator.removed | set(np.flatnonzero(coordinator.devices.quarantined))
        changes += [
            (logging.INFO, k, _OVER[kind])
            for k, kind in sorted(self._known - faults.keys())
            if kind in _OVER and k not in looked_at and (k, "refused") not in faults
        ]
        self._known = set(faults)
        # Looking a label up takes time, so it is done only for devices that are logged.
        told = changes[:_MOST]
        lines = [Line(level, f"device {k} ({label(k)}) {words}") for level, k, words in told]
        if len(changes) > _MOST:
            more = counted(len(changes) - _MOST, "more change")
            lines.append(Line(logging.WARNING, f"and {more} (`paofed fleet status`)"))
        return [*self._of_fleet(coordinator), *lines]

    def _of_fleet(self, coordinator: Coordinator) -> list[Line]:
        error = coordinator.wellbeing.error
        before, self._worse = self._worse, error.worse_since != NEVER
        if before == self._worse:
            return []
        now, usual = map(coordinator.manifest.error_in_words, (error.late, error.usual))
        numbers = f"{now}, usually {usual}"
        if self._worse:
            return [Line(logging.WARNING, f"the fleet predicts worse than it did: {numbers}")]
        return [Line(logging.INFO, f"the fleet predicts as it used to again: {numbers}")]
