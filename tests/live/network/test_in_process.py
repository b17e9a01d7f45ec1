"""The transport within a process, by itself: topics, what is retained, and cuts."""

import pytest

from paofed.live.network.credential import Credential
from paofed.live.network.in_process import Hub, matches
from paofed.live.network.transport import Connection, Transport


class Party:
    """Somebody at a hub, and what they have heard."""

    def __init__(self, hub: Transport, name: str, *topics: str) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.said: list[str] = []
        credential = Credential(
            fleet="g", since=0.0, name=f"g/{name}", label=name, host="nowhere", port=1
        )
        self.connection: Connection = hub.connect(
            credential,
            topics,
            lambda topic, payload: self.heard.append((topic, payload)),
            ready=lambda: self.said.append("ready"),
            lost=self.said.append,
        )

    def take(self) -> list[tuple[str, bytes]]:
        heard, self.heard = self.heard, []
        return heard


@pytest.fixture
def hub() -> Hub:
    return Hub()


def test_one_part_of_a_topic_may_be_anything() -> None:
    for pattern, topic in (("g/c2", "g/c2"), ("g/+/u", "g/3/u"), ("+/+/u", "g/3/u")):
        assert matches(pattern, topic)
    for pattern, topic in (("g/c2", "g/c"), ("g/+/u", "g/3/d"), ("g/+/u", "g/3/4/u"), ("g/+", "g")):
        assert not matches(pattern, topic)


def test_a_message_reaches_those_who_listen(hub: Hub) -> None:
    server, north, south = (
        Party(hub, "server", "g/+/u"),
        Party(hub, "0", "g/0/d"),
        Party(hub, "1", "g/1/d"),
    )
    assert not north.connection.send("g/0/u", b"too early")
    for party in (server, north, south):
        party.connection.open()
    assert [party.said for party in (server, north, south)] == [["ready"]] * 3
    assert north.connection.send("g/0/u", b"up")
    assert server.connection.send("g/1/d", b"down")
    assert (server.take(), north.take(), south.take()) == (
        [("g/0/u", b"up")],
        [],
        [("g/1/d", b"down")],
    )
    assert (north.connection.sent, north.connection.messages, south.connection.received) == (
        *(2, 1),
        4,
    )
    south.connection.close()
    assert server.connection.send("g/1/d", b"nobody is there")
    assert not south.connection.send("g/1/u", b"gone")
    assert south.take() == []


def test_what_is_retained_is_told_to_whoever_comes(hub: Hub) -> None:
    server, device = Party(hub, "server"), Party(hub, "0", "g/0/d")
    server.connection.open()
    server.connection.send("g/c2", b"old", retain=True)
    server.connection.send("g/c2", b"manifest", retain=True)
    server.connection.send("g/0/d", b"not retained")
    device.connection.subscribe("g/c2")
    assert device.take() == []
    device.connection.open()
    assert device.take() == [("g/c2", b"manifest")]
    device.connection.subscribe("g/c2")  # asking again is heard again, as at a broker
    assert device.take() == [("g/c2", b"manifest")]
    device.connection.unsubscribe("g/c2")
    server.connection.send("g/c2", b"newer", retain=True)
    assert device.take() == []
    server.connection.send("g/c2", b"", retain=True)
    device.connection.subscribe("g/c2")
    assert device.take() == []
    server.connection.send("g/c2", b"again", retain=True)
    assert device.take() == [("g/c2", b"again")]
    hub.forget()
    device.connection.subscribe("g/c2")
    assert device.take() == []


def test_one_that_is_cut_off_hears_nothing_and_comes_back(hub: Hub) -> None:
    server, device = Party(hub, "server", "g/+/u"), Party(hub, "0", "g/0/d", "g/c2")
    for party in (server, device):
        party.connection.open()
    hub.cut("g/0")
    assert not device.connection.up.is_set()
    assert device.said == ["ready", "the connection was cut"]
    assert not device.connection.send("g/0/u", b"lost")
    server.connection.send("g/0/d", b"lost")
    server.connection.send("g/c2", b"retained", retain=True)
    assert (server.take(), device.take()) == ([], [])
    hub.mend("g/0")
    assert device.said[2:] == ["ready"]
    assert device.take() == [("g/c2", b"retained")]
    assert device.connection.send("g/0/u", b"back")
    assert server.take() == [("g/0/u", b"back")]


def test_one_may_be_cut_off_before_it_comes(hub: Hub) -> None:
    device = Party(hub, "0", "g/0/d")
    hub.cut("g/0")
    device.connection.open()
    assert not device.connection.up.is_set()
    assert device.said == ["the connection is cut"]
    hub.mend("g/0")
    assert device.connection.up.is_set()
    device.connection.close()
    hub.cut("g/0")
    assert device.said[1:] == ["ready"]  # it had left
