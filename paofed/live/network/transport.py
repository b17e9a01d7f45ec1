"""How messages travel: all that a device and a server ask of what carries them.

They ask it to pass messages on by topic, to keep the last message of a topic that is to be
retained, and to come back by itself. It may lose, double and delay messages: what matters is
repeated by whoever made it.
"""

import ssl
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

Heard = Callable[[str, bytes], None]  # a topic and a message


class Login(Protocol):
    """Where the broker is and who one is there, as a fleet's `Credential` says it."""

    @property
    def name(self) -> str:
        """Who one is."""

    @property
    def client_id(self) -> str:
        """What the connection is called."""

    @property
    def host(self) -> str:
        """Of the broker."""

    @property
    def port(self) -> int:
        """Of the broker."""

    @property
    def user(self) -> str | None:
        """The name to give to the broker, where it asks for one."""

    @property
    def password(self) -> str | None:
        """What proves it, if not a certificate."""

    @property
    def certificate(self) -> str | None:
        """What proves it, if not a password."""

    def tls(self) -> ssl.SSLContext | None:
        """How to encrypt; None: not at all."""


class Connection(Protocol):
    """One party's connection: messages in, messages out, attempts for ever.

    `heard`, `ready` and `lost` (see `Transport.connect`) may be called from any thread.
    """

    up: threading.Event  # connected, and subscribed to everything
    received: int  # bytes of messages
    sent: int  # likewise
    messages: int  # sent
    last_sent: float  # when, by the monotonic clock

    def open(self) -> None:
        """Begin to connect, and go on until closed; it may be opened again."""

    def close(self) -> None:
        """End the connection in good order."""

    def subscribe(self, topic: str) -> None:
        """Hear one more topic, what is retained there first, now and after every reconnection."""

    def unsubscribe(self, topic: str) -> None:
        """Hear it no more."""

    def send(self, topic: str, payload: bytes, *, retain: bool = False) -> bool:
        """Pass a message on, if there is a connection; none is kept for later."""


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
        """A connection for one party, to be opened; `+` in a topic stands for any one part of it.

        `ready` is called whenever there is a connection, `lost` with the reason when there is none.
        """
