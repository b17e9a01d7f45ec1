"""A transport within one process: for tests, and for applications that are a whole fleet.

Nothing is encrypted and no rights are checked: whoever has the hub may send anything.
"""

import threading
import time
from collections.abc import Callable, Sequence

from paofed.live.network.transport import Heard, Login


class Hub:
    """Passes messages on at once, in one order for all; parties can be cut off."""

    def __init__(self) -> None:
        self._parties: list[_Party] = []  # the parties whose connections are open
        self._retained: dict[str, bytes] = {}
        self._cut: set[str] = set()
        self._lock = threading.RLock()

    def connect(
        self,
        credential: Login,
        topics: Sequence[str],
        heard: Heard,
        *,
        ready: Callable[[], None] = lambda: None,
        lost: Callable[[str], None] = lambda _: None,
    ) -> "_Party":
        """Return a connection for one party, to be opened."""
        return _Party(self, credential.name, topics, heard, ready, lost)

    def cut(self, name: str) -> None:
        """Cut a party off, by its name at the broker, until `mend`."""
        with self._lock:
            self._cut.add(name)
            for party in self._named(name):
                party.fall("the connection was cut")

    def mend(self, name: str) -> None:
        """Let a party that was cut off come back."""
        with self._lock:
            self._cut.discard(name)
            for party in self._named(name):
                party.rise()

    def forget(self) -> None:
        """Forget all retained messages, as a broker that is restarted."""
        with self._lock:
            self._retained.clear()

    def _named(self, name: str) -> "list[_Party]":
        return [party for party in self._parties if party.name == name]

    # Called by parties

    def join(self, party: "_Party") -> None:
        """Open a party's connection."""
        with self._lock:
            self._parties.append(party)
            if party.name in self._cut:
                party.fall("the connection is cut")
            else:
                party.rise()

    def leave(self, party: "_Party") -> None:
        """Close a party's connection."""
        with self._lock:
            self._parties = [other for other in self._parties if other is not party]

    def tell(self, party: "_Party", topic: str) -> None:
        """Send a party the retained message of a topic that it begins to listen to."""
        with self._lock:
            for place, payload in list(self._retained.items()):
                if matches(topic, place):
                    party.hear(place, payload)

    def publish(self, topic: str, payload: bytes, *, retain: bool) -> None:
        """Pass a message on to all who listen to its topic."""
        with self._lock:
            if retain:
                self._retained.pop(topic, None)
                if payload:  # an empty payload clears the retained message
                    self._retained[topic] = payload
            for party in list(self._parties):
                if party.up.is_set() and any(matches(t, topic) for t in party.topics):
                    party.hear(topic, payload)


class _Party:
    """One party's connection to a hub (paofed.live.network.transport)."""

    def __init__(
        self,
        hub: Hub,
        name: str,
        topics: Sequence[str],
        heard: Heard,
        ready: Callable[[], None],
        lost: Callable[[str], None],
    ) -> None:
        self.name = name
        self.topics = list(topics)
        self.up = threading.Event()
        self.received = self.sent = self.messages = 0
        self.last_sent = 0.0
        self._hub = hub
        self._heard, self._ready, self._lost = heard, ready, lost

    def open(self) -> None:
        """Open the connection."""
        self._hub.join(self)

    def close(self) -> None:
        """Close the connection."""
        self.up.clear()
        self._hub.leave(self)

    def subscribe(self, topic: str) -> None:
        """Listen to one more topic; a retained message comes first."""
        if topic not in self.topics:
            self.topics.append(topic)
        if self.up.is_set():
            self._hub.tell(self, topic)

    def unsubscribe(self, topic: str) -> None:
        """Stop listening to a topic."""
        if topic in self.topics:
            self.topics.remove(topic)

    def send(self, topic: str, payload: bytes, *, retain: bool = False) -> bool:
        """Send a message, unless the party is cut off; return whether it was sent."""
        if not self.up.is_set():
            return False
        self.sent += len(payload)
        self.messages += 1
        self.last_sent = time.monotonic()
        self._hub.publish(topic, payload, retain=retain)
        return True

    # Called by the hub

    def hear(self, topic: str, payload: bytes) -> None:
        """Pass a message that arrived to the application."""
        self.received += len(payload)
        self._heard(topic, payload)

    def rise(self) -> None:
        """Note that there is a connection."""
        if not self.up.is_set():
            self.up.set()
            for topic in list(self.topics):
                self._hub.tell(self, topic)
            self._ready()

    def fall(self, why: str) -> None:
        """Note that there is no connection any more, and why."""
        self.up.clear()
        self._lost(why)


def matches(pattern: str, topic: str) -> bool:
    """Whether a topic matches a pattern in which + stands for any one part."""
    parts, places = topic.split("/"), pattern.split("/")
    return len(parts) == len(places) and all(
        place in ("+", part) for part, place in zip(parts, places, strict=True)
    )
