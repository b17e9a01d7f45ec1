"""What the broker turned away, from what it says of itself."""

import pytest

from paofed.live.broker_log import TOPICS, BrokerLog

RECEIVED = "$SYS/broker/publish/messages/received"
NOTICE, ERROR = "$SYS/broker/log/N", "$SYS/broker/log/E"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            b"1712: OpenSSL Error[0]: error:0A000086:SSL routines::certificate verify failed",
            "certificate",
        ),
        (b"1712: Client 5 disconnected, not authorised.", "password"),
        (b"1712: Client 5 disconnected due to oversize packet.", "oversized packet"),
        (b"1712: Client 5 already connected, closing old connection.", "second connection"),
    ],
)
def test_what_was_turned_away_is_counted_by_reason(said: bytes, reason: str) -> None:
    log = BrokerLog()
    assert log.counts() == {}
    for count in (1, 2):
        log.receive(NOTICE, said, 0)
        assert dict(log.counts()) == {reason: count}


@pytest.mark.parametrize(
    "said",
    [b"", b"1712: New client connected from 127.0.0.1", b"\xff\xfe", b"OpenSSL Error[1]: again"],
)
def test_other_words_count_nothing(said: bytes) -> None:
    log = BrokerLog()
    log.receive(ERROR, said, 0)
    assert dict(log.counts()) == {}


def test_words_that_are_no_text_hide_nothing() -> None:
    log = BrokerLog()
    log.receive(NOTICE, b"Client \xff disconnected, not authorised.", 0)
    assert dict(log.counts()) == {"password": 1}


def told(log: BrokerLog, received: int, sent: int = 0) -> int:
    log.receive(RECEIVED, b"%d" % received, sent)
    return log.counts()["topic"]


def test_messages_that_went_nowhere_are_strays() -> None:
    log = BrokerLog()
    # What came before it listened is not known: the first two values are where it begins.
    assert told(log, 500) == 0
    assert told(log, 520) == 0
    assert told(log, 523) == 3
    log.heard += 10
    assert told(log, 534, sent=1) == 3
    assert told(log, 540, sent=5) == 5
    assert set(log.counts()) == {"topic"}


def test_the_number_never_goes_down() -> None:
    log = BrokerLog()
    for received in (0, 0, 7):
        told(log, received)
    log.heard += 5  # which the broker counts a moment later
    assert told(log, 7) == 7
    assert told(log, 12) == 7
    assert told(log, 13) == 8


def test_what_was_heard_in_time_is_no_stray() -> None:
    log = BrokerLog()
    for number in range(50):
        log.heard = 3 * number
        assert told(log, 5 * number, sent=2 * number) == 0
    assert dict(log.counts()) == {}


def test_a_broker_that_begins_anew_takes_nothing_back() -> None:
    log = BrokerLog()
    for received in (100, 100, 104):
        told(log, received)
    log.receive(NOTICE, b"not authorised", 0)
    log.restart()
    assert dict(log.counts()) == {"topic": 4, "password": 1}
    for received in (0, 2):
        assert told(log, received) == 4
    assert told(log, 5) == 7
    log.restart()
    log.restart()
    assert told(log, 0) == 7


@pytest.mark.parametrize("payload", [b"", b"-5", b"many", b"1.5", b" 7", b"\xff"])
def test_a_value_that_is_no_number_changes_nothing(payload: bytes) -> None:
    log = BrokerLog()
    for received in (0, 0, 3):
        told(log, received)
    log.receive(RECEIVED, payload, 0)
    assert told(log, 4) == 4


def test_it_asks_for_what_it_understands() -> None:
    assert set(TOPICS) == {NOTICE, ERROR, RECEIVED}
