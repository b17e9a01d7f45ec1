"""MQTT as a transport: connections to a broker that come back by themselves.

The broker only has to pass messages on (quality of service 0): a message that is lost is sent again
by whoever made it. The identity of a device is its topic, which the broker checks.
"""

import logging
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from paofed.live.network.transport import Heard, Login, packet_size

_log = logging.getLogger("paofed.mqtt")
_log.addFilter(lambda record: "exception in" in record.getMessage())  # the library logs much else
_CLOSING = 2.0  # seconds for a connection to end in good order
_SOON, _LATEST = 0.5, 60.0  # seconds before the first and between further attempts
KEEP_ALIVE = 60  # seconds of silence after which a connection proves that it lives
_AT_ONCE = 50  # topics in a packet: brokers limit how large a packet may be


class Mqtt:
    """The transport (paofed.live.network.transport) over the broker that a credential names."""

    def __init__(self, keep_alive: int = KEEP_ALIVE, *, retained: bool = True) -> None:
        """`retained` says whether messages are passed on that the broker kept from before."""
        self._keep_alive = keep_alive
        self._retained = retained

    def connect(
        self,
        credential: Login,
        topics: Sequence[str],
        heard: Heard,
        *,
        ready: Callable[[], None] = lambda: None,
        lost: Callable[[str], None] = lambda _: None,
    ) -> "Link":
        """Return a connection for one party, to be opened."""
        return Link(
            credential,
            topics,
            heard,
            ready=ready,
            lost=lost,
            keep_alive=self._keep_alive,
            retained=self._retained,
        )


class Link:
    """A client's connection to its broker.

    `heard`, `ready` and `lost` are called from the connection's own thread.
    """

    def __init__(
        self,
        credential: Login,
        topics: Sequence[str],
        heard: Heard,
        *,
        ready: Callable[[], None] = lambda: None,
        lost: Callable[[str], None] = lambda _: None,
        keep_alive: int = KEEP_ALIVE,
        retained: bool = True,
    ) -> None:
        self.up = threading.Event()  # set while connected and subscribed to everything
        self.received = self.sent = 0  # bytes of MQTT messages
        self.messages = 0  # messages sent
        self.last_sent = 0.0  # when the last message was sent, by the monotonic clock
        self.accepted = threading.Event()  # set once the broker has accepted the present connection
        self._retained = retained
        self._asked: set[str] = set()  # topics subscribed to on the present connection
        self._awaited: set[int | None] = set()  # subscriptions that the broker has not confirmed
        self._topics = list(topics)
        self._heard = heard
        self._ready = ready
        self._lost = lost
        self._failures = 0
        self.client_id = credential.client_id
        self._credential = credential
        self._tls = credential.tls()
        self._keep_alive = keep_alive
        self._client = self._new_client()

    def _new_client(self) -> "_Client":
        credential = self._credential
        client = _Client(
            CallbackAPIVersion.VERSION2,
            client_id=self.client_id,
            protocol=MQTTProtocolVersion.MQTTv311,
        )
        if credential.user is not None:
            client.username_pw_set(credential.user, credential.password)
        if self._tls is not None:
            client.tls_set_context(self._tls)
        # An exception must not end the connection's thread; it is logged.
        client.suppress_exceptions = True
        client.enable_logger(_log)
        client.on_socket_open = _no_delay
        client.on_connect = self._connected
        client.on_subscribe = self._subscribed
        client.on_connect_fail = self._failed
        client.on_disconnect = self._disconnected
        client.on_message = self._message
        return client

    def open(self) -> None:
        """Begin to connect, and go on until closed; the link may be opened again."""
        self._failures = 0
        self._client = self._new_client()  # a client that was closed would leak what it held
        self._wait_before_next()
        self._client.connect_async(self._credential.host, self._credential.port, self._keep_alive)
        self._client.loop_start()

    def close(self) -> None:
        """End the connection in good order."""
        self.up.clear()
        self._client.disconnect()
        # The library waits for its thread, which may wait for a broker that does not answer.
        stopping = threading.Thread(target=_stop, args=(self._client,), daemon=True)
        stopping.start()
        stopping.join(_CLOSING)

    def port(self) -> int:
        """The local port of the connection, or 0 without one."""
        connection: Any = self._client.socket()
        return 0 if connection is None else int(connection.getsockname()[1])

    def subscribe(self, topic: str) -> None:
        """Listen to one more topic, now and after every reconnection."""
        if topic not in self._topics:
            self._topics.append(topic)
        if self.up.is_set():
            self._client.subscribe(topic)

    def unsubscribe(self, topic: str) -> None:
        """Stop listening to a topic."""
        if topic in self._topics:
            self._topics.remove(topic)
            if self.up.is_set():
                self._client.unsubscribe(topic)

    def send(self, topic: str, payload: bytes, *, retain: bool = False) -> bool:
        """Send a message if there is a connection; no message is kept for later."""
        if not self.up.is_set():
            return False
        info = self._client.publish(topic, payload, retain=retain)
        self.sent += packet_size(topic, payload)
        self.messages += 1
        self.last_sent = time.monotonic()
        return info.rc == MQTTErrorCode.MQTT_ERR_SUCCESS

    # Called by the connection's thread

    def _connected(
        self, client: Client, _: Any, __: ConnectFlags, code: ReasonCode, ___: Properties | None
    ) -> None:
        if code.is_failure:
            self._client.why = f"the broker refuses: {code}".lower()
            return
        self.accepted.set()
        self._asked = set(self._topics)
        topics = [(topic, 0) for topic in self._asked]
        parts = [topics[first : first + _AT_ONCE] for first in range(0, len(topics), _AT_ONCE)]
        self._awaited = {client.subscribe(part)[1] for part in parts}

    def _subscribed(
        self, _: Client, __: Any, number: int, codes: list[ReasonCode], ____: Properties | None
    ) -> None:
        if codes and codes[0].is_failure:
            self._lost("the broker refuses the subscription")
            return
        self._awaited.discard(number)
        if not self.up.is_set() and not self._awaited:
            self._failures = 0
            self.up.set()
            # Topics that were added by another thread meanwhile.
            for topic in set(self._topics) - self._asked:
                self._client.subscribe(topic)
            self._ready()

    def _failed(self, _: Client, __: Any) -> None:
        self._again()

    def _disconnected(
        self, _: Client, __: Any, ___: DisconnectFlags, ____: ReasonCode, _____: Properties | None
    ) -> None:
        self._again()

    def _again(self) -> None:
        """Wait before the next attempt: longer after every failure, and for a random time."""
        self.up.clear()
        self._failures += 1
        self._wait_before_next()
        why = "the connection was lost"
        if not self.accepted.is_set() and self._credential.certificate is not None:
            why = "the broker ended the connection; it may not accept this certificate"
        self._lost(self._client.why or why)
        self.accepted.clear()
        self._client.why = ""

    def _wait_before_next(self) -> None:
        wait = pause(self._failures)
        self._client.reconnect_delay_set(wait, wait)  # type: ignore[arg-type] # a fraction will do

    def _message(self, _: Client, __: Any, message: MQTTMessage) -> None:
        topic, payload = message.topic, bytes(message.payload)
        if message.retain and (topic.startswith("$") or not self._retained):
            # A retained message may be the broker's number of some time ago, or an old reading.
            return
        if not topic.startswith("$"):  # what the broker says of itself is no traffic of the fleet
            self.received += packet_size(topic, payload)
        self._heard(topic, payload)


def _stop(client: Client) -> None:
    """Wait for a client's thread, which may end by itself while the library looks for it."""
    with suppress(AttributeError):  # paho then joins a thread that is None already
        client.loop_stop()


class _Client(Client):
    """Remembers why a connection could not be made."""

    why = ""

    def reconnect(self) -> MQTTErrorCode:
        """Reconnect as the library does, and remember why that failed."""
        try:
            return super().reconnect()
        except ssl.SSLCertVerificationError as error:
            self.why = f"the broker's certificate is not trusted: {error.verify_message}"
            raise
        except OSError as error:
            self.why = str(error)
            raise
        except ValueError as error:  # the host name is invalid
            self.why = str(error)
            raise OSError(self.why) from error


def pause(failures: int) -> float:
    """Return seconds to wait before the next attempt: longer every time, and partly random."""
    longest = min(_SOON * 2 ** min(failures, 20), _LATEST)
    return random.uniform(longest / 2, longest)  # noqa: S311 (no secret)


def _no_delay(_: Client, __: Any, sock: Any) -> None:
    """Send small packets at once: waiting to fill them costs 40 ms each."""
    with suppress(OSError, AttributeError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
