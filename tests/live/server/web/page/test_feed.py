"""Readers of events: told at their own pace, and nobody waits for them."""

import json
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest

from paofed.errors import InputError
from paofed.live.server.clock import at_present
from paofed.live.server.lookout import Lookout, Sight
from paofed.live.server.web.answers import Question
from paofed.live.server.web.listener import Listener
from paofed.live.server.web.page import feed as feeding
from paofed.live.server.web.page import page
from paofed.live.server.web.page.feed import MOST_READERS, Feed
from tests.live.brokers import until
from tests.live.server.web.page.scenes import lived, named


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeding, "_EVERY", 0.01)
    monkeypatch.setattr(feeding, "_SHORTEST", 0.01)
    monkeypatch.setattr(feeding, "_SHARE", 0)
    monkeypatch.setattr(feeding, "_BEAT", 1000.0)


@pytest.fixture(scope="module")
def sight(tmp_path_factory: pytest.TempPathFactory) -> Sight:
    fleet = lived(tmp_path_factory.mktemp("feed") / "fleet", named(6), 30)
    with fleet.store() as store:
        coordinator = at_present(store)
        lookout = Lookout(fleet, store, coordinator, time.time())
        return lookout.sight(coordinator, time.time())


class Loop:
    """Stands in for the server's loop: what it answers can be changed, and is counted."""

    def __init__(self, sight: Sight) -> None:
        self.sight, self.asked = sight, 0

    def __call__(self) -> Sight:
        self.asked += 1
        return self.sight

    def go_on(self) -> None:
        self.sight = self.sight._replace(budget=self.sight.budget + 1)


def question(since: str = "", last: str = "") -> Question:
    return Question(f"since={since}", {"Last-Event-ID": last} if last else {})


def told(answer: Any) -> Iterator[tuple[str, str, Any]]:
    """Events as (kind, id, data)."""
    assert answer.code == 200
    assert answer.kind == "text/event-stream"
    for piece in answer.content:
        lines = dict(line.split(": ", 1) for line in piece.decode().splitlines() if ": " in line)
        if "event" in lines:
            data = json.loads(lines["data"]) if "data" in lines else None
            yield lines["event"], lines.get("id", ""), data


def test_a_reader_gets_the_whole_then_what_changes_then_beats(
    sight: Sight, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = Loop(sight)
    with Feed(loop) as feed:
        events = told(feed.events(question()))
        kind, first, data = next(events)
        assert (kind, data["fleet"], len(data["devices"])) == ("view", "greenhouse", 6)
        loop.go_on()
        kind, second, data = next(events)
        assert (kind, data["budget"]) == ("news", 1)
        assert "devices" not in data
        assert first != second
        monkeypatch.setattr(feeding, "_BEAT", 0.05)
        assert next(events)[0] == "beat"


def test_a_reader_who_comes_back_is_told_what_it_missed(sight: Sight) -> None:
    loop = Loop(sight)
    with Feed(loop) as feed:
        place, _ = feed.now()
        staying = told(feed.events(question(place)))
        for _ in range(3):
            loop.go_on()
            assert next(staying)[0] == "news"
        late = told(feed.events(question("nonsense", last=place)))
        assert [next(late)[0] for _ in range(3)] == ["news"] * 3


@pytest.mark.parametrize("place", ["", "x", "deadbeef-0", "-", "٣-٣", "a-" + "9" * 5000])
def test_a_reader_of_another_server_gets_the_whole(sight: Sight, place: str) -> None:
    with Feed(Loop(sight)) as feed:
        assert next(told(feed.events(question(place))))[0] == "view"


def test_a_reader_who_is_too_slow_gets_the_whole_again(sight: Sight) -> None:
    loop = Loop(sight)
    with Feed(loop) as feed:
        slow, quick = (told(feed.events(question())) for _ in range(2))
        assert next(slow)[0] == next(quick)[0] == "view"
        for _ in range(40):  # more than are kept
            loop.go_on()
            assert next(quick)[0] == "news"
        assert len(feed._news) < 40
        assert next(slow)[0] == "view"


def test_the_loop_is_asked_as_often_whatever_the_number_of_readers(
    sight: Sight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeding, "_EVERY", 1000.0)
    loop = Loop(sight)
    with Feed(loop) as feed:
        assert loop.asked == 0  # nobody looks
        for _ in range(20):
            assert next(told(feed.events(question())))[0] == "view"
            feed.now()
        assert loop.asked == 1


def test_there_is_a_limit_and_who_leaves_makes_room(sight: Sight) -> None:
    with Feed(Loop(sight)) as feed:
        readers = [told(feed.events(question())) for _ in range(MOST_READERS)]
        assert {next(reader)[0] for reader in readers} == {"view"}
        refused = feed.events(question())
        assert refused.code == 503
        assert b"32 readers look at this fleet already" in bytes(refused.content)  # type: ignore[arg-type]
        readers.pop()
        until(lambda: feed.events(question()).code == 200)


def test_a_loop_that_cannot_answer_ends_the_reading() -> None:
    def damaged() -> Sight:
        raise InputError("damaged")

    with Feed(damaged) as feed:
        assert list(told(feed.events(question()))) == []
    assert feed._readers == 0


def test_the_end_of_the_server_is_the_end_of_all_readers(sight: Sight) -> None:
    before = set(threading.enumerate())
    with Feed(Loop(sight)) as feed, Listener("127.0.0.1", 0, page.routes(feed)) as listener:
        answers = [streaming(listener.port) for _ in range(3)]
        for _, answer in answers:
            assert answer.readline().startswith(b"retry")
        until(lambda: feed._readers == 3)
    for connection, answer in answers:
        answer.read()
        connection.close()
    until(lambda: set(threading.enumerate()) <= before)


def test_somebody_who_hangs_up_is_forgotten(sight: Sight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeding, "_BEAT", 0.05)  # at a beat it shows that nobody reads
    with Feed(Loop(sight)) as feed, Listener("127.0.0.1", 0, page.routes(feed)) as listener:
        connection, answer = streaming(listener.port)
        answer.readline()
        until(lambda: feed._readers == 1)
        answer.close()
        connection.close()
        until(lambda: feed._readers == 0)
        connection = HTTPConnection("127.0.0.1", listener.port, timeout=20)
        connection.request("HEAD", "/events")  # who does not read is no reader
        assert connection.getresponse().status == 200
        connection.close()
        assert feed._readers == 0


def streaming(port: int) -> tuple[HTTPConnection, HTTPResponse]:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/events")
    return connection, connection.getresponse()
