"""Many parties on one connection."""

import pytest

from paofed.live.gateway.login import TelemetryLogin
from paofed.live.network.in_process import Hub
from paofed.live.network.shared import Shared

Heard = list[tuple[str, bytes]]


class Site:
    """A hub with a server, and a gateway that two parties share."""

    def __init__(self) -> None:
        self.hub, self.lost = Hub(), []  # type: ignore[var-annotated]
        self.server_heard: Heard = []
        self.server = self.hub.connect(
            TelemetryLogin(client_id="server"), ["u/+"], lambda *m: self.server_heard.append(m)
        )
        self.server.open()
        gateway = TelemetryLogin(client_id="gateway")
        self.shared = Shared(self.hub, gateway, ["manifest"], lost=self.lost.append)
        self.heard: list[Heard] = [[], []]
        self.why: list[str] = []
        self.parties = [
            self.shared.connect(
                gateway, [f"d/{k}"], lambda *m, k=k: self.heard[k].append(m), lost=self.why.append
            )
            for k in (0, 1)
        ]


@pytest.fixture
def site() -> Site:
    site = Site()
    site.shared.link.open()
    for party in site.parties:
        party.open()
    return site


def test_each_hears_its_own_and_all_are_one_at_the_broker(site: Site) -> None:
    site.server.send("d/0", b"zero")
    site.server.send("d/1", b"one")
    assert site.heard == [[("d/0", b"zero")], [("d/1", b"one")]]
    assert all(party.send(f"u/{k}", b"up") for k, party in enumerate(site.parties))
    assert site.server_heard == [("u/0", b"up"), ("u/1", b"up")]
    assert [party.messages for party in site.parties] == [1, 1]
    assert [(party.sent, party.received) for party in site.parties] == [(2, 4), (2, 3)]


def test_what_is_common_is_asked_for_once_and_kept(site: Site) -> None:
    site.server.send("manifest", b"first", retain=True)
    assert site.heard == [[], []]  # nobody listens yet
    site.parties[0].subscribe("manifest")
    site.parties[1].subscribe("manifest")
    assert site.heard == [[("manifest", b"first")]] * 2
    site.parties[0].unsubscribe("manifest")
    site.server.send("manifest", b"second", retain=True)
    assert [len(heard) for heard in site.heard] == [1, 2]
    site.parties[0].subscribe("manifest")  # as it is now, though this party heard nothing meanwhile
    assert site.heard[0][-1] == ("manifest", b"second")


def test_one_that_leaves_leaves_the_connection_to_the_others(site: Site) -> None:
    site.parties[0].close()
    site.server.send("d/0", b"gone")
    site.server.send("d/1", b"here")
    assert site.heard == [[], [("d/1", b"here")]]
    assert site.parties[1].up.is_set()


def test_all_are_told_when_the_connection_is_lost(site: Site) -> None:
    site.hub.cut("gateway")
    assert (len(site.why), len(site.lost)) == (2, 1)
    assert not site.parties[0].send("u/0", b"")
    site.hub.mend("gateway")
    assert site.parties[0].send("u/0", b"")
    assert site.parties[0].messages == 1
