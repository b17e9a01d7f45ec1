"""A device whose samples come line by line, and which contacts its fleet between them.

with Device("0-north-wall.json", state="north-wall.npz") as device:
life = OverLines(device, Rhythm(every=4))
life.join()
for answer in life.answers(sys.stdin):
print(answer)
print(life)
"""

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from paofed.errors import InputError, whole
from paofed.live.device.device import Device
from paofed.live.model.sample_lines import HeaderError, Row, SampleReader
from paofed.words import counted

_log = logging.getLogger("paofed.device")
_LINGER = 5.0  # seconds for a last contact
_LONGEST_WAIT = 1e6  # seconds


@dataclass(frozen=True, kw_only=True)
class Rhythm:
    """When a device contacts its fleet, and how long it waits then."""

    every: int = 1  # samples from one contact to the next
    contacts: float = 1.0  # share of those contacts that are made, by chance
    wait: float = 5.0  # longest wait for a reply, in seconds
    join_within: float | None = None  # seconds after which to give up; None: never

    def __post_init__(self) -> None:
        whole("every", self.every, least=1)
        require_seconds("wait", self.wait)
        require_seconds("join_within", self.join_within or 0.0)
        if not 0 < self.contacts <= 1:
            raise InputError(
                f"contacts is {self.contacts:g}: expected a share above 0, at most 1",
                key="contacts",
            )


def require_seconds(key: str, value: float) -> None:
    """Refuse a time that nobody can wait."""
    if not 0 <= value < _LONGEST_WAIT:
        raise InputError(
            f"{key} is {value:g}: expected seconds from 0 to {_LONGEST_WAIT:,.0f}", key=key
        )


class OverLines:
    """A device from its first line to its last; its text sums up what came of it."""

    def __init__(
        self,
        device: Device,
        rhythm: Rhythm | None = None,
        *,
        intervals: bool = False,
        say: Callable[[str], None] = _log.warning,
    ) -> None:
        """`intervals`: whether answers have their 90 % interval. `say`: takes what people read."""
        self.device, self.rhythm = device, rhythm or Rhythm()
        self._intervals, self._say = intervals, say
        self.samples = self.untold = self.bad = 0  # lines in all, without target, passed over
        self._told = True  # whether the fleet has what was learned last
        self._meant = False  # whether this contact is made: not every contact is
        self._chance = np.random.default_rng().random
        self._away = ""  # why the fleet is not reached, as it was told last

    def join(self) -> None:
        """Ask until the fleet's manifest is known, and begin with the fleet's model if one answers.

        A device with a saved state knows the manifest, and has begun.
        """
        device, told, limit = self.device, "", self.rhythm.join_within
        end = math.inf if limit is None else time.monotonic() + limit
        while not device.knows_fleet():
            device.contact(min(_LINGER, max(end - time.monotonic(), 0.0)))
            why = device.why_not()
            if time.monotonic() >= end and not device.knows_fleet():
                raise InputError(f"the fleet was not reached: {why or 'there was no time'}")
            if why not in ("", told):
                self._say(f"the fleet is not reached yet ({why}); trying on")
                told = why
        if not device.edge.joined:
            device.contact(min(self.rhythm.wait, max(end - time.monotonic(), 0.0)))
        self._say(f"{device.label} of {device.fleet}: {device.footprint}")

    def answers(self, lines: Iterable[str]) -> Iterator[str]:
        """Learn from each sample, and yield what was predicted before; contact the fleet between.

        A line is read by the names that the fleet has agreed on. A line that cannot be used is
        answered by an empty one.
        """
        rows = SampleReader(self.device.manifest)
        for line in lines:
            try:
                rows.follow(self.device.manifest)  # the fleet may have been changed meanwhile
                row = rows.parse(line)
                answer = None if row is None else self._taken(row)
            except HeaderError:
                raise  # until a right header comes, no line of CSV can be used
            except InputError as error:
                self.bad += 1
                self.device.edge.not_plausible()  # the fleet's people hear of a sensor that fails
                self._say(f"passed over: {error}")
                yield ""
            else:
                if answer is not None:
                    yield answer
                    if self._due and self._decided():
                        self._contact(self.rhythm.wait if self._hopeful() else 0.0)
        if not self._told and (self._meant if self._due else self._decided()):
            self._contact(_LINGER)

    def __str__(self) -> str:
        """Say what came of the lines until now."""
        device = self.device
        covered = device.coverage if device.knows_fleet() else math.nan
        past = device.unknown_past
        return (
            f"{counted(self.samples, 'sample')}, "
            f"{f'{self.untold} without a target, ' if self.untold else ''}"
            f"{device.implausible} implausible, "
            f"{f'{past} without the past that they need, ' if past else ''}"
            f"{counted(self.bad, 'line')} passed over; "
            f"{device.answered} of "
            f"{device.contacts} messages answered; {device.bytes_sent} bytes sent, "
            f"{device.bytes_received} received"
            f"{'' if math.isnan(covered) else f'; intervals covered {covered:.0%} until now'}"
        )

    @property
    def _due(self) -> bool:
        """Whether a contact may be made after the last sample."""
        return self.samples % self.rhythm.every == 0

    def _decided(self) -> bool:
        """Decide by chance, once for each contact, whether it is made."""
        self._meant = self._chance() < self.rhythm.contacts
        return self._meant

    def _hopeful(self) -> bool:
        """Whether a reply can be expected; if not, there is nothing to wait for."""
        if not self.device.stays:
            return True
        return not self.device.why_not() and not self.device.edge.unanswered

    def _taken(self, row: Row) -> str:
        """Predict, and learn if there is a target; return the prediction as text."""
        x, y, at = row.x, row.y, time.time() if row.at is None else row.at
        found = [self.device.predict(x, at)]
        found += self.device.interval(x, at) if self._intervals else ()
        if math.isnan(y):
            self.device.remember(x, None, at)
            if not self.untold:
                self._say(
                    "a line has no target: it is only predicted; while there are no targets, this "
                    "device reads the fleet's model and has no vote"
                )
            self.untold += 1
        else:
            self.device.learn(x, y, at)
            self._told = False
        self.samples += 1
        return "" if math.isnan(found[0]) else ",".join(f"{number:.9g}" for number in found)

    def _contact(self, wait: float) -> None:
        self._told = self.device.contact(wait)
        why = self.device.why_not()
        if why not in ("", self._away):
            self._say(f"the fleet is not reached ({why}); it goes on learning")
        if self._away and not why:
            self._say("the fleet is reached again")
        self._away = why
