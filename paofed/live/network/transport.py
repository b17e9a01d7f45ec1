"""How messages travel: all that a device and a server ask of what carries them.

A transport passes messages on by topic, keeps the last message of a topic that is to be retained,
and reconnects by itself. It may lose, double and delay messages: what matters is repeated by
whoever sent it.
"""

import ssl
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

Heard = Callable[[str, bytes], None]  # called with a topic and a message


class Login(Protocol):
    """Where the broker is and who one is there, as a fleet's `Credential` says it."""

    @property
    def name(self) -> str:
        """The name of the party."""

    @property
    def client_id(self) -> str:
        """The name of the connection."""

    @property
    def host(self) -> str:
        """The broker's host."""

    @property
    def port(self) -> int:
        """The broker's port."""

    @property
    def user(self) -> str | None:
        """The name to give to the broker, where it asks for one."""

    @property
    def password(self) -> str | None:
        """The password for `user`, if there is one."""

    @property
    def certificate(self) -> str | None:
        """The certificate that proves who one is, if there is one."""

    def tls(self) -> ssl.SSLContext | None:
        """Return how to encrypt; None: not at all."""


class Connection(Protocol):
    """One party's connection: receives and sends messages, and tries for ever to connect.

    `heard`, `ready` and `lost` (see `Transport.connect`) may be called from any thread.
    """

    up: threading.Event  # set while connected and subscribed to everything
    received: int  # bytes of messages received
    sent: int  # bytes of messages sent
    messages: int  # messages sent
    last_sent: float  # when the last message was sent, by the monotonic clock

    def open(self) -> None:
        """Begin to connect, and go on until closed; it may be opened again."""

    def close(self) -> None:
        """End the connection in good order."""

    def subscribe(self, topic: str) -> None:
        """Listen to one more topic, also after a reconnection; a retained message comes first."""

    def unsubscribe(self, topic: str) -> None:
        """Stop listening to a topic."""

    def send(self, topic: str, payload: bytes, *, retain: bool = False) -> bool:
        """Send a message if there is a connection; no message is kept for later."""


class Transport(Protocol):
    """Something that connects the parties of a fleet."""

    def connect(
        self,
        credential: Login,
        topics: Sequence[str],
        heard: Heard,
        *,
        ready: Callable[[], None] = lambda: None,
        lost: Callable[[str], None] = lambda _: None,
    ) -> Connection:
        """Return a connection for one party, to be opened; `+` in a topic stands for any one part.

        `ready` is called whenever there is a connection, `lost` with the reason when it has ended.
        """


def packet_size(topic: str, payload: bytes) -> int:
    """Return the bytes of an MQTT message: fixed header, length, topic, payload."""
    rest = 2 + len(topic) + len(payload)
    return 1 + max(1, (rest.bit_length() + 6) // 7) + rest
