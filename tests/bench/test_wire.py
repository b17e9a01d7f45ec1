"""Bytes on the wire: packets are read right, and a contact costs what the README says."""

import json
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.bench import wire
from paofed.bench.capture import Capture, Packet, connected, parse
from paofed.bench.wire import Exchange, exchanges
from paofed.cli import main
from paofed.errors import InputError
from tests.system import lacks, needs


@pytest.fixture
def listening() -> None:
    """The right to listen, which takes more than a package."""
    try:
        with Capture():
            pass
    except InputError as error:
        lacks(str(error))


def segment(source: int, target: int, options: int, content: bytes) -> bytes:
    tcp = struct.pack(">HHII", source, target, 0, 0)
    tcp += bytes([(5 + options) << 4]) + bytes(7) + bytes(4 * options)
    whole = 20 + len(tcp) + len(content)
    ip = bytes([0x45, 0]) + struct.pack(">H", whole) + bytes(5) + bytes([6]) + bytes(10)
    return ip + tcp + content


@given(st.integers(0, 65535), st.integers(0, 65535), st.integers(0, 10), st.binary(max_size=1000))
def test_a_segment_is_read(source: int, target: int, options: int, content: bytes) -> None:
    data = segment(source, target, options, content)
    assert parse(data) == Packet(source, target, len(data), len(content))


@given(st.binary(max_size=60))
def test_other_packets_are_passed_over(data: bytes) -> None:
    found = parse(data)
    assert found is None or (data[0] >> 4 == 4 and data[9] == 6)


@pytest.mark.usefixtures("listening")
def test_what_passes_is_counted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, Capture() as counting:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            far, _ = server.accept()
            with far:
                own = client.getsockname()[1]
                assert connected(port) == {own}
                counting.clear()
                client.sendall(b"x" * 100)
                far.recv(100)
                packets = counting.packets(port, without=())
                assert sum(packet.content for packet in packets) == 100
                assert {(packet.source, packet.target) for packet in packets} <= {
                    (own, port),
                    (port, own),
                }
                assert all(packet.whole >= packet.content + 40 for packet in packets)
                assert counting.packets(port, without=(own,)) == []


def test_without_the_right_to_listen_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("paofed.bench.capture.socket.socket", refuse)
    with pytest.raises(InputError, match="packets cannot be counted here"):
        Capture()


@pytest.mark.usefixtures("listening")
def test_a_contact_of_four_parameters() -> None:
    """One exchange over plain MQTT is three packets, and less than 260 bytes with TCP/IP."""
    needs("mosquitto")
    said: list[str] = []
    found = {(e.security, e.stay): e for e in exchanges(said.append, shares=(4,), contacts=4)}
    assert len(found) == 4
    assert all(e.payload == 45 for e in found.values())
    plain, anew = found["none", True], found["none", False]
    assert plain.total < 260
    assert plain.protocol == 18
    assert plain.packets < 4
    assert anew.total > plain.total
    assert found["certificate", True].total > plain.total
    assert found["certificate", False].total > 5 * anew.total
    assert len(said) == 2


def test_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        Exchange(4, "none", True, 45, 18, 156, 3),
        Exchange(200, "none", True, 1613, 20, 156, 3),
    ]
    monkeypatch.setattr("paofed.cli.bench.wire.exchanges", lambda _: found)
    assert main(["bench", "wire"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines[1].split()) == "4 of 200 plain, stays 45 18 156 219 88%"
    assert " ".join(lines[2].split()) == "200 of 200 plain, stays 1,613 20 156 1,789 0%"
    assert main(["bench", "wire", "--json"]) == 0
    assert [row["total"] for row in json.loads(capsys.readouterr().out)] == [219, 1789]
    assert wire.SHARED == (4, 16, 32, 200)
