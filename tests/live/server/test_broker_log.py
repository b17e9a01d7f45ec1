"""What the broker turned away, from what it says of itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.live.server.broker_log import BrokerLog

RECEIVED = "$SYS/broker/publish/messages/received"
DROPPED = "$SYS/broker/publish/messages/dropped"
NOTICE, ERROR = "$SYS/broker/log/N", "$SYS/broker/log/E"
LONG_AGO = -1000.0
LATER = 1e6  # when everything that was told is believed


def say(log: BrokerLog, topic: str, payload: bytes) -> None:
    """Something that has nothing to do with what is sent from here."""
    log.receive(topic, payload, heard=0, sent=0, last_sent=LONG_AGO, now=0.0)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            b"1712: OpenSSL Error[0]: error:0A000086:SSL routines::certificate verify failed",
            "certificate",
        ),
        (b"1712: Client 5 disconnected, not authorised.", "password"),
        (b"1712: Client \xff disconnected, not authorised.", "password"),
        (b"1712: Client 5 disconnected due to oversize packet.", "oversized packet"),
        (b"1712: Client 5 already connected, closing old connection.", "second connection"),
    ],
)
def test_what_was_turned_away_is_counted_by_reason(said: bytes, reason: str) -> None:
    log = BrokerLog()
    assert log.counts(0.0) == {}
    for count in (1, 2):
        say(log, NOTICE, said)
        assert dict(log.counts(0.0)) == {reason: count}


@pytest.mark.parametrize(
    "said",
    [b"", b"1712: New client connected from 127.0.0.1", b"\xff\xfe", b"OpenSSL Error[1]: again"],
)
def test_other_words_count_nothing(said: bytes) -> None:
    log = BrokerLog()
    say(log, ERROR, said)
    assert dict(log.counts(LATER)) == {}


class Told:
    """A log that hears a number every two seconds."""

    def __init__(self) -> None:
        self.log = BrokerLog()
        self.heard = 0  # messages of devices
        self.now = 0.0

    def received(self, number: int, sent: int = 0, last_sent: float = LONG_AGO) -> None:
        self.now += 2.0
        payload = b"%d" % number
        self.log.receive(
            RECEIVED, payload, heard=self.heard, sent=sent, last_sent=last_sent, now=self.now
        )

    def dropped(self, number: int) -> None:
        self.log.receive(
            DROPPED, b"%d" % number, heard=self.heard, sent=0, last_sent=LONG_AGO, now=self.now
        )

    def strays(self, after: float = 100.0) -> int:
        """What is believed some seconds after the last number."""
        return self.log.counts(self.now + after)["topic"]


def told(*received: int) -> Told:
    """A log that has heard these numbers, and believes them."""
    found = Told()
    for number in received:
        found.received(number)
    found.strays()
    return found


def test_messages_that_went_nowhere_are_strays() -> None:
    # What came before it listened is not known: the first value is where it begins.
    broker = told(500)
    assert broker.strays() == 0
    broker.received(503)
    assert broker.strays() == 3
    broker.heard += 10
    broker.received(514, sent=1)
    assert broker.strays() == 3
    broker.received(520, sent=5)
    assert broker.strays() == 5
    assert set(broker.log.counts(LATER)) == {"topic"}


def test_a_number_is_believed_three_seconds_later() -> None:
    broker = told(500)
    broker.received(503)
    for after in (0.0, 1.0, 2.9):
        assert broker.strays(after) == 0
    assert broker.strays(3.1) == 3
    assert broker.strays(0.0) == 3  # and stays so


def test_a_number_is_believed_when_the_next_one_arrives() -> None:
    broker = told(500)
    broker.received(503)
    assert broker.strays(0.0) == 0
    broker.received(507)
    assert broker.strays(0.0) == 3
    broker.received(507)
    assert broker.strays(0.0) == 7


@pytest.mark.parametrize("first", ["received", "dropped"])
def test_what_the_broker_dropped_is_no_stray_in_whatever_order_it_tells(first: str) -> None:
    broker = told(500)
    if first == "dropped":
        broker.dropped(10)
    broker.received(513)
    if first == "received":
        broker.dropped(10)
    assert broker.strays() == 3
    broker.received(515)
    broker.dropped(11)
    assert broker.strays() == 4


def test_drops_that_were_told_too_late_take_nothing_back() -> None:
    broker = told(500)
    broker.received(510)
    assert broker.strays() == 10
    broker.dropped(10)
    broker.received(510)
    assert broker.strays() == 10
    broker.received(525)
    assert broker.strays() == 15


def test_what_is_still_on_its_way_makes_no_strays() -> None:
    broker = Told()
    # Three messages left a moment ago: the broker does not count them yet, and then it does.
    broker.received(500, sent=3, last_sent=1.9)
    assert broker.strays() == 0
    broker.received(503, sent=3, last_sent=1.9)
    assert broker.strays() == 0
    broker.received(505, sent=3, last_sent=1.9)
    assert broker.strays() == 2


def test_what_has_arrived_for_sure_makes_the_number_exact() -> None:
    broker = Told()
    broker.received(500, sent=3, last_sent=1.4)  # more than half a second ago
    assert broker.strays() == 0
    broker.received(502, sent=3, last_sent=1.4)
    assert broker.strays() == 2


def test_a_better_beginning_keeps_what_was_counted() -> None:
    broker = Told()
    broker.received(0, sent=3, last_sent=1.9)  # up to three on their way
    broker.received(13, sent=6, last_sent=3.9)  # again
    assert broker.strays() == 7
    broker.received(16, sent=6, last_sent=3.9)  # quiet: from here on it is exact
    assert broker.strays() == 7
    broker.received(18, sent=6, last_sent=3.9)
    assert broker.strays() == 9


def test_a_broker_that_begins_anew_takes_nothing_back() -> None:
    broker = told(100, 104)
    broker.dropped(2)
    say(broker.log, NOTICE, b"not authorised")
    broker.log.restart()
    assert dict(broker.log.counts(LATER)) == {"topic": 4, "password": 1}
    broker.received(0)
    assert broker.strays() == 4
    broker.received(3)
    assert broker.strays() == 7
    broker.log.restart()
    broker.log.restart()
    broker.received(0)
    assert broker.strays() == 7


def test_a_broker_that_begins_anew_has_dropped_nothing_yet() -> None:
    broker = told(100)
    broker.dropped(50)
    broker.log.restart()
    broker.received(0)
    broker.received(1)
    broker.dropped(1)
    assert broker.strays() == 0
    broker.received(4)
    assert broker.strays() == 3


def test_a_number_of_a_connection_that_was_lost_is_not_believed_later() -> None:
    broker = told(100)
    broker.received(104)
    broker.log.restart()
    assert broker.strays() == 0


@pytest.mark.parametrize("payload", [b"", b"-5", b"1.5", b"\xff"])
@pytest.mark.parametrize("topic", [RECEIVED, DROPPED])
def test_a_value_that_is_no_number_changes_nothing(topic: str, payload: bytes) -> None:
    broker = told(0, 3)
    say(broker.log, topic, payload)
    assert broker.strays() == 3
    broker.received(4)
    assert broker.strays() == 4


events = st.lists(st.sampled_from(["stray", "heard", "drop", "send", "arrive", "tell", "lost"]))


@given(events, st.booleans())
def test_it_never_counts_more_strays_than_there_were(history: list[str], drops_first: bool) -> None:
    broker = Told()
    log = broker.log
    received = dropped = strays = sent = before = under_way = counted = 0
    last_sent = LONG_AGO
    for event in history:
        match event:
            case "stray":
                strays, received = strays + 1, received + 1
            case "heard":
                broker.heard, received = broker.heard + 1, received + 1
            case "drop":
                dropped, received = dropped + 1, received + 1
            case "send":
                sent, under_way = sent + 1, under_way + 1
                last_sent = broker.now + 1.9
            case "arrive" if under_way:
                under_way, received = under_way - 1, received + 1
            case "tell":
                # All that left before the number before this one has arrived by now.
                old = min(under_way, before) if last_sent > broker.now else under_way
                under_way, received = under_way - old, received + old
                if drops_first:
                    broker.dropped(dropped)
                broker.received(received, sent=sent, last_sent=last_sent)
                if not drops_first:
                    broker.dropped(dropped)
                before = under_way
            case "lost":
                log.restart()
        assert counted <= broker.strays(0.0) <= broker.strays(1.0) <= strays
        counted = broker.strays(0.0)
    assert broker.strays() <= strays
