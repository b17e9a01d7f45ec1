"""Thousands of devices in one process: just enough MQTT to put a broker and a server under load.

The updates of these devices are real, their models are not: nobody learns here. Each device sends
its next contact as soon as the last is answered, a limited number of devices at a time. After a
lost connection each comes back at a time of its own, as real devices do.
"""

import errno
import heapq
import math
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from paofed.errors import InputError, PaofedError
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.mosquitto import LOCAL
from paofed.live.network.mqtt import pause
from paofed.live.network.topics import SERVER, Topics
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import Update, encode

_CONNECT, _SUBSCRIBE, _SUBACK, _PUBLISH = 0x10, 0x82, 0x90, 0x30
_CLEAN_SESSION = 2
_KEEP_ALIVE = 3600
_AT_ONCE = 200  # connections that are being made at a time
_LOST = 5.0  # seconds after which a contact counts as lost
PATIENCE = 120.0  # seconds without any answer after which no answer is expected


class LoadOutcome(NamedTuple):
    """What came of a load: contacts answered and lost, and how long each answer took."""

    answered: int
    seconds: float
    lost: int
    latencies: np.ndarray  # seconds, of the contacts that were answered

    @property
    def rate(self) -> float:
        """Answered contacts per second."""
        return self.answered / self.seconds

    def percentile(self, share: float) -> float:
        """Return the milliseconds within which `share` percent of the contacts were answered."""
        return float(np.percentile(self.latencies, share)) * 1e3 if self.answered else np.nan

    def as_json(self, shares: Iterable[float]) -> dict[str, object]:
        """Return the rate, what was lost, and the milliseconds of these percentiles."""
        times = {str(share): self.percentile(share) for share in shares}
        return {"rate": self.rate, "lost": self.lost, "milliseconds": times}


class CrowdDevice:
    """One device: its connection, and the answer it waits for."""

    __slots__ = ("failures", "index", "sent", "socket", "up")

    def __init__(self, index: int) -> None:
        self.index = index
        self.socket: socket.socket | None = None
        self.up = False
        self.failures = 0
        self.sent = 0.0  # when its contact left; 0: no answer is waited for


class Crowd:
    """Devices 0 to n - 1 of a fleet without security."""

    def __init__(self, fleet: str, port: int, manifest: Manifest, devices: int) -> None:
        self._port = port
        self._manifest = manifest
        self._members = [CrowdDevice(k) for k in range(devices)]
        self._poll = select.epoll()
        self._by_number: dict[int, CrowdDevice] = {}
        # (time, device): when which device tries to connect.
        self._due: list[tuple[float, int]] = []
        self._up = self._connecting = 0
        values = manifest.up.block(np.full(manifest.shared, 0.1))
        self._update = encode(Update(manifest.epoch, 0, values))
        topics = Topics(fleet, full=True)
        self._heads = [_text_bytes(topics.up(k).encode()) for k in range(devices)]
        self._hellos = [_hello(topics.user(k), topics.down(k)) for k in range(devices)]

    @property
    def up(self) -> int:
        """How many devices are connected and subscribed."""
        return self._up

    def connect(self, longest: float = 300) -> None:
        """Connect all devices that are not, or give up after `longest` seconds."""
        begin = time.monotonic()
        waiting = {k for _, k in self._due}
        for member in self._members:
            if member.socket is None and member.index not in waiting:
                heapq.heappush(self._due, (begin, member.index))
        while self._up < len(self._members):
            if time.monotonic() - begin > longest:
                break
            self._turn(0.05)

    def lose(self) -> None:
        """Close the connections that the broker has left."""
        while self._up:
            self._turn(0.05)

    def load(
        self,
        *,
        seconds: float = float("inf"),
        contacts: int = 2**62,
        window: int = 200,
        rate: float = float("inf"),
    ) -> LoadOutcome:
        """Send contacts for some time or number, at most `window` at once and `rate` a second."""
        for member in self._members:
            member.sent = 0.0  # answers to earlier contacts are no longer waited for
        begin = now = time.monotonic()
        latencies: list[float] = []
        queue = deque(range(len(self._members)))
        open_ones: deque[tuple[float, int]] = deque()
        started = lost = 0
        self._answers = latencies
        while now - begin < seconds and len(latencies) < contacts:
            now = time.monotonic()
            while open_ones and (self._members[open_ones[0][1]].sent != open_ones[0][0]):
                open_ones.popleft()
            while open_ones and now - open_ones[0][0] > _LOST:
                late, k = open_ones.popleft()
                if self._members[k].sent == late:
                    self._members[k].sent, lost = 0.0, lost + 1
            allowed = min(
                window - (started - lost - len(latencies)), (now - begin) * rate - started
            )
            for _ in range(len(queue)):
                if allowed < 1:
                    break
                member = self._members[queue[0]]
                queue.rotate(-1)
                if member.up and not member.sent:
                    member.sent = now = time.monotonic()
                    open_ones.append((now, member.index))
                    self._contact(member)
                    started, allowed = started + 1, allowed - 1
            self._turn(0.002)
        spent = time.monotonic() - begin
        time.sleep(0.2)
        return LoadOutcome(len(latencies), spent, lost, np.array(latencies))

    def close(self) -> None:
        """Disconnect all devices."""
        for member in self._members:
            if member.socket is not None:
                member.socket.close()
        self._poll.close()

    # How

    def _contact(self, member: CrowdDevice) -> None:
        tick = int((time.time() - self._manifest.start) // self._manifest.tick_seconds)
        message = self._update[:2] + struct.pack("<I", tick) + self._update[6:]
        body = self._heads[member.index] + message
        try:
            if member.socket is not None:
                member.socket.send(bytes((_PUBLISH,)) + _length(len(body)) + body)
        except OSError:
            self._lost(member)

    def _turn(self, longest: float) -> None:
        """Make the connections that are due, and read what has come."""
        now = time.monotonic()
        while self._due and self._due[0][0] <= now and self._connecting < _AT_ONCE:
            self._begin(self._members[heapq.heappop(self._due)[1]])
        for number, events in self._poll.poll(longest):
            member = self._by_number.get(number)
            if member is not None and member.socket is not None:
                self._event(member, member.socket, events)

    def _begin(self, member: CrowdDevice) -> None:
        sock = socket.socket()
        sock.settimeout(0.0)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        member.socket = sock
        self._by_number[sock.fileno()] = member
        self._connecting += 1
        code = sock.connect_ex((LOCAL, self._port))
        self._poll.register(sock.fileno(), select.EPOLLOUT)
        if code not in (0, errno.EINPROGRESS):
            self._lost(member)

    def _event(self, member: CrowdDevice, sock: socket.socket, events: int) -> None:
        try:
            if events & select.EPOLLOUT:
                sock.send(self._hellos[member.index])
                self._poll.modify(sock.fileno(), select.EPOLLIN)
                return
            data = sock.recv(65536)
        except OSError:
            data = b""
        if not data:
            self._lost(member)
        elif member.up:
            if member.sent:
                self._answers.append(time.monotonic() - member.sent)
                member.sent = 0.0
        elif _SUBACK in data:
            member.up, member.failures = True, 0
            self._up += 1
            self._connecting -= 1

    def _lost(self, member: CrowdDevice) -> None:
        """Connect a device again later, each at a random time of its own."""
        if member.socket is not None:
            self._by_number.pop(member.socket.fileno(), None)
            member.socket.close()  # closing also ends the registration with the selector
        if member.up:
            self._up -= 1
        else:
            self._connecting -= 1
        member.socket, member.up, member.sent = None, False, 0.0
        member.failures += 1
        heapq.heappush(self._due, (time.monotonic() + pause(member.failures - 1), member.index))


def until_answered(
    crowd: Crowd, *, seconds: float, window: int = 200, rate: float = math.inf
) -> None:
    """Send contacts for some seconds, again and again, until one is answered."""
    end = time.monotonic() + PATIENCE
    while not crowd.load(seconds=seconds, window=window, rate=rate).answered:
        if time.monotonic() >= end:
            raise silence()


def silence() -> PaofedError:
    """Return the error of a crowd that nobody answers."""
    return PaofedError(
        f"no device was answered for {PATIENCE:g} s: the server or the broker has ended, or this "
        f"machine is too slow for so many devices (--devices)"
    )


@contextmanager
def crowded(fleet: Fleet, devices: int) -> Iterator[Crowd]:
    """Yield a Crowd of so many devices of a fleet, connected and answered."""
    with fleet.store() as store:
        manifest = store.epochs.manifest()
    crowd = Crowd(fleet.settings.name, fleet.settings.port, manifest, devices)
    try:
        crowd.connect()
        if crowd.up < devices:
            raise InputError(f"only {crowd.up:,} of {devices:,} devices could connect")
        # All devices are there, and everything is warm.
        until_answered(crowd, seconds=2.0, rate=devices)
        yield crowd
    finally:
        crowd.close()


def echo(fleet: str, port: int, payload: bytes) -> None:
    """Answer every message with the same few bytes, in a server's place, until killed."""
    sock = socket.create_connection((LOCAL, port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    topics = Topics(fleet, full=True)
    sock.sendall(_hello(topics.user(SERVER), topics.up("+")))
    data = b""
    while chunk := sock.recv(65536):
        data += chunk
        answers = []
        while len(data) > 1:
            size, head = data[1] & 127, 2
            if data[1] & 128:
                if len(data) == 2:
                    break
                size, head = size | data[2] << 7, 3
            if len(data) < head + size:
                break
            if data[0] & 0xF0 == _PUBLISH:
                length = struct.unpack_from(">H", data, head)[0]
                sender = topics.sender(data[head + 2 : head + 2 + length].decode())
                topic = topics.down(sender).encode()
                body = _text_bytes(topic) + payload
                answers.append(bytes((_PUBLISH,)) + _length(len(body)) + body)
            data = data[head + size :]
        sock.sendall(b"".join(answers))


def _hello(name: str, topic: str) -> bytes:
    """Return CONNECT and SUBSCRIBE as one text of bytes."""
    connect = _text_bytes(b"MQTT") + bytes((4, _CLEAN_SESSION)) + struct.pack(">H", _KEEP_ALIVE)
    connect += _text_bytes(name.encode())
    subscribe = struct.pack(">H", 1) + _text_bytes(topic.encode()) + b"\0"
    return b"".join(
        bytes((kind,)) + _length(len(body)) + body
        for kind, body in ((_CONNECT, connect), (_SUBSCRIBE, subscribe))
    )


def _text_bytes(text: bytes) -> bytes:
    return struct.pack(">H", len(text)) + text


def _length(size: int) -> bytes:
    """Return the length of a packet below 16 KiB as MQTT writes it."""
    return bytes((size,)) if size < 128 else bytes((size & 127 | 128, size >> 7))
