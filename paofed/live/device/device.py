"""A device of a fleet, for applications: learn, predict, contact.

Needs NumPy and paho-mqtt. Learning and predicting never wait for the network. A contact waits for
its reply for as long as it is told to; an update that was not answered is sent again.
"""

import logging
import queue
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from paofed.errors import FileError, InputError, MissingMethodError, PaofedError
from paofed.live.device.footprint import Footprint, footprint
from paofed.live.device.state import TOO_LARGE, save_state, taken_up
from paofed.live.network.credential import Credential
from paofed.live.network.mqtt import KEEP_ALIVE, Mqtt
from paofed.live.network.topics import SERVER
from paofed.live.network.transport import Transport
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.seen import Measured, Sample
from paofed.words import counted

_log = logging.getLogger("paofed.device")
_SHORTEST_WAIT = 1.0  # seconds
_SILENT_BROKER = "the broker has not answered yet"
_SILENT_SERVER = "no server answers: it is down, or this device is quarantined"
_NO_MANIFEST = "the fleet has a new manifest, which is not there: a newer paofed may be needed"


class NotJoinedError(PaofedError):
    """Raised by a device that has not heard yet what its fleet has agreed on."""


class Device:
    """One device. Not for use by several threads at once."""

    def __init__(
        self,
        file: str | Path | Credential,
        *,
        state: str | Path | None = None,
        save_every: float = 60.0,
        patience: int = 1,
        stay: bool = True,
        keep_alive: int = KEEP_ALIVE,
        transport: Transport | None = None,
    ) -> None:
        """Begin, with the file that `paofed fleet add` wrote; the connection is made meanwhile.

        `file` may also be the Credential that such a file holds. `state`: a file in which model and
        unconfirmed updates survive a power cut, written at most every `save_every` seconds.
        `patience`: ticks to wait before an update is sent again. `stay`: whether the device stays
        connected between contacts. `keep_alive`: seconds of silence after which a connection is
        checked. `transport`: what carries the messages, if not MQTT.
        """
        credential = file if isinstance(file, Credential) else Credential.load(file)
        if credential.who == SERVER:
            raise InputError(f"{file} is the server's own file: a device has one of its own")
        if credential.devices is not None:
            raise InputError(f"{file} is a gateway's file, for `paofed gateway`")
        self.label, self.device, self.fleet = credential.label, credential.device, credential.fleet
        self._state = None if state is None else Path(state)
        self._save_every, self._saved = save_every, seconds()
        self._patience = patience
        self.confirmed = 0  # updates that the server has on disk, since this start
        self.contacts = self.answered = 0  # messages sent, and those that were answered in time
        self.implausible = 0  # samples outside the plausible ranges, since this start
        # Samples that look back at values that the device does not know, since this start.
        self.unknown_past = 0
        self._edge: Edge | None = None
        if self._state is not None:
            self._edge = taken_up(self._state, self.device, credential.since, patience)
        self._topics = credential.topics
        self._inbox: queue.SimpleQueue[tuple[str, bytes]] = queue.SimpleQueue()
        self._why = ""  # why the last connection ended, or could not be made
        self._connected = True  # whether there was a connection in the last contact
        self._silent = False  # whether a server's answer was waited for in vain
        self._unchanged = False  # whether the manifest was read again and is the same
        self._unreadable: bytes | None = None  # a manifest that cannot be read
        self._cannot = ""  # why that manifest cannot be read
        self._link = (transport or Mqtt(keep_alive)).connect(
            credential,
            [self._topics.down(self.device)],
            lambda topic, payload: self._inbox.put((topic, payload)),
            lost=self._lost,
        )
        if self._edge is None:
            self._link.subscribe(self._topics.manifest)
        self.stays = stay  # whether it stays connected between contacts
        if stay:
            self._link.open()

    # What an application calls

    @property
    def manifest(self) -> Manifest:
        """What the fleet has agreed on."""
        return self._joined().manifest

    @property
    def edge(self) -> Edge:
        """The device's part of the protocol: its model, and its updates that wait."""
        return self._joined()

    @property
    def footprint(self) -> Footprint:
        """What taking part costs the device."""
        return footprint(self.manifest, self.fleet, self.device)

    @property
    def bytes_sent(self) -> int:
        """The bytes of MQTT messages sent."""
        return self._link.sent

    @property
    def bytes_received(self) -> int:
        """The bytes of MQTT messages received."""
        return self._link.received

    def learn(self, x: Sample, y: float, at: float | None = None) -> None:
        """Learn from one sample, as measured; a sample that is not plausible is only counted.

        `at` is when the sample was measured, in seconds since 1970 (None: now). It matters where
        the fleet's inputs look back or go by the calendar. A sample that looks back at values that
        the device does not know is only counted as well.
        """
        edge, when = self._joined(), _when(at)
        restarts = edge.restarts
        if not edge.learn(x, float(y), when):
            why = edge.manifest.implausible(x, float(y))
            self.unknown_past += not why
            if why:
                self._passed_over(why)
        if edge.restarts > restarts:
            _log.warning(TOO_LARGE, "this sample", edge.manifest.step_size)
        self._save_now_and_then()

    def predict(self, x: Sample, at: float | None = None) -> float:
        """Return the target at one input, as measured.

        The result is NaN where an input looks back at a value that the device does not know.
        """
        return self._joined().predict(x, _when(at))

    def remember(self, x: Measured, y: float | None = None, at: float | None = None) -> None:
        """Keep what was measured, for inputs that look back.

        None stands for what was not measured.
        """
        self._joined().remember(x, y, _when(at))
        self._save_now_and_then()

    def interval(self, x: Sample, at: float | None = None) -> tuple[float, float]:
        """Return low and high between which the target is, nine times in ten in the long run."""
        return self._joined().interval(x, _when(at))

    @property
    def coverage(self) -> float:
        """The share of samples that were within their interval; NaN before the first sample."""
        return self._joined().intervals.coverage

    def contact(self, wait: float = 5.0) -> bool:
        """Send what was learned, if there is a connection; return whether the server has answered.

        A sample gives the device updates for one sweep over the model; after that a contact sends
        nothing of its own, and takes over a part of the fleet's model. Returns True as well where
        there is nothing to send or to take over in this tick. With `wait` 0, a later call finds the
        reply.
        """
        deadline = seconds() + wait
        if not self.stays:
            self._why = ""
            self._link.open()
        try:
            self._connected = self._link.up.wait(wait)
            # Noted now, since closing the connection sets another reason.
            why = self._why or _SILENT_BROKER
            answered = self._connected and self._talk(deadline)
        finally:
            if not self.stays:
                self._link.close()
        if wait > 0 and not self._connected:
            self._why = why
        elif answered or wait > 0:
            self._silent = not answered
        self._save_now_and_then()
        return answered

    def close(self) -> None:
        """Save the state and disconnect; unconfirmed updates are sent after the next start."""
        try:
            self._hear()
        finally:
            self.save()
            if self.stays:
                self._link.close()

    def save(self) -> bool:
        """Write the state now; return whether there is a state file and it could be written."""
        if self._state is None or self._edge is None:
            return False
        self._saved = seconds()
        try:
            save_state(self._state, self._edge)
        except (OSError, FileError) as error:  # a full disk must not end the learning
            _log.warning("the state cannot be saved: %s", error)
            return False
        return True

    def knows_fleet(self) -> bool:
        """Whether the device knows what the fleet has agreed on, so that it can learn."""
        self._hear()
        return self._edge is not None

    def why_not(self) -> str:
        """Say why the fleet is not reached; empty where nothing is known to be wrong."""
        self._hear()
        if not (self._link.up.is_set() if self.stays else self._connected):
            return self._why
        if self._cannot or not self._silent:
            return self._cannot
        return _SILENT_SERVER if self._edge is None or not self._edge.outdated else _NO_MANIFEST

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Internals

    def _joined(self) -> Edge:
        self._hear()
        if self._edge is None:
            raise NotJoinedError(
                f"{self.label} has not heard from its fleet yet: call contact() until it is True"
            )
        return self._edge

    def _adopt(self, payload: bytes) -> None:
        """Follow a manifest; if it cannot be read, say so and go on without it."""
        old = self._edge
        try:
            manifest = Manifest.from_json(payload)
        except InputError as error:
            if old is None and isinstance(error, MissingMethodError):
                raise  # it can never take part like this, and has nothing to go on with
            if payload != self._unreadable:
                _log.warning("%s; this device goes on alone", error)
            self._unreadable, self._cannot = payload, str(error)
            return
        self._unreadable, self._cannot = None, ""
        if old is None:
            self._edge = Edge(manifest, self.device, patience=self._patience)
        elif old.manifest == manifest:
            self._unchanged = True
            return
        else:
            self._edge = old.under(manifest)
        self._link.unsubscribe(self._topics.manifest)

    def _talk(self, deadline: float) -> bool:
        self._hear()
        if self._unchanged and self._edge is not None:
            self._edge.outdated = False  # if the server still disagrees, it will say so again
        self._unchanged = False
        return self._agreed(deadline) and self._exchange(deadline)

    def _agreed(self, deadline: float) -> bool:
        """Wait until the device has a manifest that the server follows, too."""

        def missing() -> bool:
            return self._edge is None or self._edge.outdated

        if missing() and self._unreadable is None:  # a new manifest will come without asking
            self._link.subscribe(self._topics.manifest)
        return self._wait_while(missing, deadline)

    def _exchange(self, deadline: float) -> bool:
        """Send and wait for the reply; a device that had to join goes on with its first update."""
        while True:
            edge = self._joined()
            hello = not edge.joined or edge.tick(seconds()) is None
            payload = edge.contact(seconds())
            if payload is None:
                return True
            self._link.send(self._topics.up(self.device), payload)
            self.contacts += 1
            # The server answers few hellos in a tick: a hello without answer is sent again in the
            # next.
            tick = max(edge.manifest.tick_seconds, _SHORTEST_WAIT)
            patience = min(deadline, seconds() + tick) if hello else deadline
            answered = self._wait_while(_unanswered(edge), patience)
            self.answered += answered
            if edge.outdated and not self._agreed(deadline):
                return False
            if not edge.outdated and not hello:
                return answered
            if seconds() >= deadline:
                return False

    def _wait_while(self, missing: Callable[[], bool], deadline: float) -> bool:
        """Process messages until nothing is missing, or the deadline is over.

        Return whether nothing is missing any more.
        """
        while missing():
            try:
                topic, payload = self._inbox.get(timeout=max(deadline - seconds(), 0.0))
            except queue.Empty:
                return False
            self._take(topic, payload)
        return True

    def _hear(self) -> None:
        while not self._inbox.empty():
            self._take(*self._inbox.get())

    def _take(self, topic: str, payload: bytes) -> None:
        if topic == self._topics.manifest:
            self._adopt(payload)
        elif self._edge is not None:
            self._safe(self._edge.receive(payload, seconds()))
            self._silent = self._silent and self._edge.unanswered > 0

    def _safe(self, ticks: frozenset[int]) -> None:
        """Note that the updates of these ticks are on the server's disk."""
        self.confirmed += len(ticks)

    def _lost(self, why: str) -> None:
        self._why = why

    def _passed_over(self, why: str) -> None:
        """Count an implausible sample.

        Log the first, and then one whenever their number has doubled.
        """
        self.implausible += 1
        if self.implausible.bit_count() == 1:
            _log.warning("%s; not learned from: %s", why, counted(self.implausible, "sample"))

    def _save_now_and_then(self) -> None:
        if seconds() - self._saved >= self._save_every:
            self.save()


def _unanswered(edge: Edge) -> Callable[[], bool]:
    return lambda: edge.unanswered > 0 and not edge.outdated


def _when(at: float | None) -> float:
    """Return when a sample was measured: now, unless `at` says when."""
    return time.time() if at is None else at


def seconds() -> float:
    """Return a clock that nobody sets; where there is one, it goes on while the device sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
