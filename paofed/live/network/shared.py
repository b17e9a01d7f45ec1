"""Many parties on one connection: a transport over another one, for a gateway and its devices.

The one connection listens to the topics that all parties have in common (`common`: the manifest)
for as long as it lasts, and keeps the last message of each of them. A party that begins to listen
gets that message at once, and no broker is asked a second time.
"""

import threading
from collections.abc import Callable, Sequence

from paofed.live.network.transport import Connection, Heard, Login, Transport


class Shared:
    """The transport (paofed.live.network.transport) of all who share a connection."""

    def __init__(
        self,
        transport: Transport,
        login: Login,
        common: Sequence[str],
        *,
        ready: Callable[[], None] = lambda: None,
        lost: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._kept: dict[str, bytes | None] = dict.fromkeys(common)
        # By topic, the callbacks of its listeners.
        self._listeners: dict[str, dict[int, Heard]] = {}
        self._parties: dict[int, _Sharing] = {}
        self._lock = threading.Lock()
        self._lost = lost
        self.link: Connection = transport.connect(
            login, common, self._heard, ready=ready, lost=self._all_lost
        )

    def connect(
        self,
        credential: Login,
        topics: Sequence[str],
        heard: Heard,
        *,
        ready: Callable[[], None] = lambda: None,
        lost: Callable[[str], None] = lambda _: None,
    ) -> "_Sharing":
        """Return a part in the connection, to be opened; topics alone say whose it is."""
        del credential, ready
        return _Sharing(self, topics, heard, lost)

    # Called by parties

    def listen(self, party: "_Sharing", topic: str) -> None:
        """Let a party listen to a topic."""
        with self._lock:
            self._parties[id(party)] = party
            self._listeners.setdefault(topic, {})[id(party)] = party.hear
            kept = self._kept.get(topic)
        if topic not in self._kept:
            self.link.subscribe(topic)
        elif kept is not None:
            party.hear(topic, kept)

    def ignore(self, party: "_Sharing", topic: str) -> None:
        """Let a party stop listening to a topic; after the last party, the connection stops too."""
        with self._lock:
            others = self._listeners.get(topic, {})
            others.pop(id(party), None)
            if not others:
                self._listeners.pop(topic, None)
        if not others and topic not in self._kept:
            self.link.unsubscribe(topic)

    def leave(self, party: "_Sharing") -> None:
        """Let a party leave."""
        with self._lock:
            self._parties.pop(id(party), None)

    # Called by the connection

    def _heard(self, topic: str, payload: bytes) -> None:
        with self._lock:
            if topic in self._kept:
                self._kept[topic] = payload
            listeners = list(self._listeners.get(topic, {}).values())
        for heard in listeners:
            heard(topic, payload)

    def _all_lost(self, why: str) -> None:
        self._lost(why)
        with self._lock:
            parties = list(self._parties.values())
        for party in parties:
            party.lost(why)


class _Sharing:
    """One party's part in the connection; `up` is that of the connection."""

    def __init__(
        self, shared: Shared, topics: Sequence[str], heard: Heard, lost: Callable[[str], None]
    ) -> None:
        self.up: threading.Event = shared.link.up
        self.received = self.sent = self.messages = 0
        self.last_sent = 0.0
        self.lost = lost
        self._shared, self._heard = shared, heard
        self._topics = list(topics)
        self._open = False

    def open(self) -> None:
        """Begin to listen."""
        self._open = True
        for topic in self._topics:
            self._shared.listen(self, topic)

    def close(self) -> None:
        """Stop listening; the connection goes on for the others."""
        self._open = False
        for topic in self._topics:
            self._shared.ignore(self, topic)
        self._shared.leave(self)

    def subscribe(self, topic: str) -> None:
        """Listen to one more topic; a retained message comes first."""
        if topic not in self._topics:
            self._topics.append(topic)
        if self._open:
            self._shared.listen(self, topic)

    def unsubscribe(self, topic: str) -> None:
        """Stop listening to a topic."""
        if topic in self._topics:
            self._topics.remove(topic)
            self._shared.ignore(self, topic)

    def send(self, topic: str, payload: bytes, *, retain: bool = False) -> bool:
        """Send a message, if there is a connection."""
        gone = self._shared.link.send(topic, payload, retain=retain)
        if gone:
            self.sent += len(payload)
            self.messages += 1
            self.last_sent = self._shared.link.last_sent
        return gone

    def hear(self, topic: str, payload: bytes) -> None:
        """Pass a message that arrived to the application."""
        self.received += len(payload)
        self._heard(topic, payload)
