"""What taking part costs: the numbers that are told are those of real messages and arrays."""

import socket
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from paofed.live.device.footprint import Footprint, footprint
from paofed.live.network.transport import packet_size
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import MOST_REPEATS, Model, Reply, Update, encode
from paofed.live.protocol.quantity import Quantity
from tests.live.fleets import f32, manifest


def paho(topic: str, payload: bytes) -> bytes:
    """The bytes that the MQTT client puts on the line."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv311)
        client._sock = ours  # as if it were connected
        client.publish(topic, payload)
        packet = b""
        theirs.setblocking(False)
        try:
            while len(packet) <= len(payload) or client.want_write():
                client.loop_write()
                packet += theirs.recv(1 << 20)
        finally:
            client._sock = None
        return packet


@pytest.mark.parametrize("rest", [2 + 4, 126, 127, 128, 129, 16383, 16384, 16385, 100_000])
def test_a_packet_is_as_long_as_the_client_makes_it(rest: int) -> None:
    payload = bytes(rest - 2 - 4)
    packet = paho("g/u1", payload)
    assert packet[0] >> 4 == 3
    assert packet.endswith(b"g/u1" + payload)
    assert packet_size("g/u1", payload) == len(packet)


@given(st.integers(2, 300_000))
def test_a_packet_has_seven_bits_of_its_length_in_a_byte(rest: int) -> None:
    length = 1 + sum(rest >= 128**power for power in (1, 2, 3))
    assert packet_size("", bytes(rest - 2)) == 1 + length + rest
    assert packet_size("x" * (rest - 2), b"") == 1 + length + rest


FLEETS = [
    manifest(),
    manifest(features=200, shared=4),
    manifest(features=31, shared=31, algorithm="online-fedsgd"),
    manifest(inputs=tuple(Quantity(name=str(k)) for k in range(9)), features=50, shared=25),
]


@pytest.mark.parametrize("agreed", FLEETS)
@pytest.mark.parametrize("device", [0, 12345])
def test_what_travels_is_what_is_encoded(agreed: Manifest, device: int) -> None:
    part, whole = f32(*range(agreed.shared)), f32(*range(agreed.features))
    told = footprint(agreed, "greenhouse", device)
    up, down = f"greenhouse/u/{device}", f"greenhouse/d/{device}"
    assert told.up == len(paho(up, encode(Update(3, 9, part))))
    assert told.down == len(paho(down, encode(Reply(3, 9, 0, part))))
    assert told.whole == len(paho(down, encode(Model(3, 9, whole))))
    assert told.manifest == len(paho("greenhouse/c2", agreed.to_json().encode()))


@pytest.mark.parametrize("agreed", FLEETS)
def test_the_memory_is_that_of_its_arrays(agreed: Manifest) -> None:
    edge = Edge(agreed, 1)
    edge.receive(encode(Model(3, 9, f32(*range(agreed.features)))), 0.0)
    for second in range(1, MOST_REPEATS + 3):
        edge.news = 1  # something was learned
        edge.contact(float(second))
    assert len(edge.unconfirmed) == MOST_REPEATS + 1
    z = agreed.fourier_map(np.zeros(len(agreed.inputs)))
    kept: list[NDArray[Any]] = [
        agreed.fourier_map.frequencies,
        agreed.fourier_map.phases,
        edge.w,
        *(update.values for update in edge.unconfirmed),
    ]
    held = sum(array.nbytes for array in kept)
    # A step of learning needs z and the model that comes out, for a moment.
    moment = z.nbytes + edge.w.nbytes
    told = footprint(agreed, "greenhouse", 1).memory
    assert held + moment <= told
    # Updates are counted as if they were twice as long; nothing else is invented.
    assert told <= held + moment + 4 * agreed.shared * (MOST_REPEATS + 1)


def test_it_is_told_in_words() -> None:
    text = str(Footprint(12_345, 20, 21, 800, 22))
    assert text == (
        "12.3 kB of memory; a contact is 20 bytes up and 21 down as MQTT, joining 822 down once"
    )
