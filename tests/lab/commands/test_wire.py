"""Bytes on the wire: packets are read right, and a contact costs what the documents say."""

import json
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.benchmarks.capture import Capture, Packet, connected, parse
from lab.commands import main, wire
from lab.commands.wire import Exchange, exchanges, measured
from paofed.core.tariffs import PARTS, TARIFFS
from paofed.errors import InputError
from tests.effort import long
from tests.system import lacks, needs


@pytest.fixture(scope="module")
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

    monkeypatch.setattr("lab.benchmarks.capture.socket.socket", refuse)
    with pytest.raises(InputError, match="packets cannot be counted here"):
        Capture()


@pytest.fixture(scope="module")
def of_four(listening: None) -> list[Exchange]:  # noqa: ARG001 (asked for before it listens)
    """Contacts of four parameters, each the leanest of several: an acknowledgement may be late."""
    needs("mosquitto")
    said: list[str] = []
    found = list(exchanges(said.append, shares=(4,), contacts=12))
    assert len(said) == 2
    return found


@long
def test_a_contact_of_four_parameters(of_four: list[Exchange]) -> None:
    """One exchange over plain MQTT is three packets, and less than 260 bytes with TCP/IP."""
    found = {(e.security, e.stay): e for e in of_four}
    assert len(found) == 4
    assert all(e.payload == 46 for e in found.values())
    plain, anew = found["none", True], found["none", False]
    assert plain.total < 260
    assert plain.protocol == 18
    assert plain.packets < 4
    assert anew.total > plain.total
    assert found["certificate", True].total > plain.total
    assert found["certificate", False].total > 5 * anew.total


@long
def test_the_tariffs_are_what_is_measured(of_four: list[Exchange]) -> None:
    """To 2 bytes in a message. To connect takes signatures of several lengths, and which end sends
    an acknowledgement more is chance: to two packets without content, 120 bytes.
    """
    found = measured(of_four)
    assert [tariff.name for tariff in found] == [n for n in TARIFFS if n.startswith("mqtt")]
    for tariff in found:
        known = TARIFFS[tariff.name]
        for part in PARTS:
            off = abs(getattr(tariff, part) - getattr(known, part))
            assert off <= (120 if part.startswith("contact") else 2), f"{part} of {tariff}"


def test_tariffs_are_of_the_fewest_parameters() -> None:
    """What is added to 4 parameters each way is known, and that a connection is the difference."""
    found = [
        Exchange(shared, security, stay, 0, added, 8 * shared, 0, 4 * shared + up)
        for shared, more in ((200, 1), (4, 0))
        for security, stay, added, up in (
            ("none", True, 100 + more, 60),
            ("none", False, 700 + more, 460),
            ("certificate", True, 150 + more, 90),
            ("certificate", False, 5000 + more, 1900),
        )
    ]
    plain, anew, tls, tls_anew = measured(found)
    assert (plain.up, plain.down, plain.empty_up, plain.empty_down) == (60, 40, 60, 40)
    assert (plain.contact_up, plain.contact_down) == (tls.contact_up, tls.contact_down) == (0, 0)
    assert (anew.up, anew.down, anew.contact_up, anew.contact_down) == (60, 40, 400, 200)
    assert (tls.up, tls.down) == (tls_anew.up, tls_anew.down) == (90, 60)
    assert (tls_anew.contact_up, tls_anew.contact_down) == (1810, 3040)


def test_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        Exchange(shared, security, stay, payload, mqtt, 156, 3, payload // 2 + 95)
        for shared, payload, mqtt in ((4, 46, 18), (200, 1614, 20))
        for security in ("none", "certificate")
        for stay in (True, False)
    ]
    monkeypatch.setattr(wire, "exchanges", lambda _: found)
    assert main(["wire"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines[1].split()) == "4 of 200 plain, stays 46 18 156 220 88%"
    assert " ".join(lines[2].split()) == "200 of 200 plain, stays 1,614 20 156 1,790 0%"
    (row,) = (line for line in lines if line.startswith("mqtt-tls "))
    assert row.split() == ["mqtt-tls", "102", "86", "0", "0", "102", "86"]
    assert main(["wire", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [contact["total"] for contact in told["contacts"]] == [220] * 4 + [1790] * 4
    assert [tariff["down"] for tariff in told["tariffs"]] == [86] * 4
    assert wire.SHARED == (4, 16, 32, 200)
