"""What has changed in a fleet since somebody last looked, in lines for a log."""

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.trend import NEVER
from paofed.live.server.judgement import judged
from paofed.words import counted

_OVER = {  # by the kinds of paofed.live.server.judgement: what is said when it is over
    "aside": "is no longer set aside: its updates count in full again",
    "implausible": "measures what is plausible again",
    "worse": "predicts about as well as the others again",
    "silent": "is heard again",
}  # the server's loop logs refusals as they happen
_MOST = 10  # lines at once: a site that is cut off is one piece of news, not hundreds


class Line(NamedTuple):
    """A line of a log, and its level."""

    level: int
    text: str


class News:
    """Remembers what was the matter at the last call."""

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
