"""Packets of the loopback interface, counted as they pass: what is really on the wire."""

import socket
import struct
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple, Self

from paofed.errors import InputError

_IP = 0x0800
# A packet passes the loopback interface twice, out and in: only the latter is counted.
_ARRIVING = 0
_TCP = 6
_ESTABLISHED = "01"
_PORTS = struct.Struct(">HH")


class Packet(NamedTuple):
    """One TCP segment: its ends, its bytes with all headers of IP and TCP, and without."""

    source: int
    target: int
    whole: int
    content: int


class Capture:
    """Captures packets while the block lasts; needs Linux, and root or the right CAP_NET_RAW."""

    def __init__(self) -> None:
        try:
            self._socket = socket.socket(
                socket.AF_PACKET,  # type: ignore[attr-defined, unused-ignore] # on Linux
                socket.SOCK_DGRAM,
                socket.htons(_IP),
            )
            self._socket.bind(("lo", 0))
        except (OSError, AttributeError) as error:
            raise InputError(
                f"packets cannot be counted here ({error}): it takes Linux, and root or the right "
                f"CAP_NET_RAW"
            ) from None
        self._socket.settimeout(0.1)
        self._packets: list[Packet] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._listen)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                data, (_, _, kind, *_) = self._socket.recvfrom(65535)
            except TimeoutError:
                continue
            packet = parse(data) if kind == _ARRIVING else None
            if packet is not None:
                self._packets.append(packet)

    def clear(self) -> None:
        """Forget all packets so far."""
        time.sleep(0.15)  # packets on their way are forgotten too
        self._packets.clear()

    def packets(self, broker: int, without: Collection[int]) -> list[Packet]:
        """Return the packets to and from the broker's port, except those of some other ports."""
        time.sleep(0.15)  # a TCP acknowledgement may be 40 ms late
        return [
            packet
            for packet in self._packets
            if broker in packet[:2] and not set(packet[:2]) & set(without)
        ]


def connected(broker: int) -> set[int]:
    """Return the ports at the other end of the broker's connections, as Linux lists them."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    open_ones = [words[1:3] for words in lines if words[3] == _ESTABLISHED]
    ends = [[int(place.rpartition(":")[2], 16) for place in places] for places in open_ones]
    return {local for local, remote in ends if remote == broker}


def parse(data: bytes) -> Packet | None:
    """Read an IPv4 packet with a TCP segment; None for any other packet."""
    if len(data) < 20 or data[0] >> 4 != 4 or data[9] != _TCP:
        return None
    header, whole = (data[0] & 15) * 4, int.from_bytes(data[2:4], "big")
    if len(data) < header + 20:
        return None
    source, target = _PORTS.unpack_from(data, header)
    segment = (data[header + 12] >> 4) * 4
    return Packet(source, target, whole, whole - header - segment)
