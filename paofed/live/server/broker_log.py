"""What the broker turned away, so that it shows in the fleet's counts.

mosquitto tells it in two ways: a log that can be subscribed to, and counts of all the messages it
was handed and of those it dropped. Messages that were neither heard here nor sent from here nor
dropped went nowhere: they were written to topics their senders have no right to.
"""

from collections import Counter

_RECEIVED = "$SYS/broker/publish/messages/received"
_DROPPED = "$SYS/broker/publish/messages/dropped"
_SAYINGS = {
    "OpenSSL Error[0]": "certificate",
    "not authorised": "password",
    "oversize packet": "oversized packet",
    "already connected, closing old": "second connection",
}
_STRAY = "topic"
REASONS = (*_SAYINGS.values(), _STRAY)
TOPICS = ("$SYS/broker/log/E", "$SYS/broker/log/N", _RECEIVED, _DROPPED)
_UNDER_WAY = 0.5  # seconds after which what was sent from here has reached the broker
_SETTLED = 3.0  # seconds after which both numbers of a moment have been told


class BrokerLog:
    """Counts by reason, since the server started. The number of strays is a lower bound."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(_SAYINGS.values(), 0)
        self._dropped = 0
        self._earlier = 0  # strays of connections that have ended
        self._strays = 0
        self._base: int | None = None  # what the number was when it was first told
        self._slack = 0  # by how much that may be too high
        self._sent = 0  # until the last value
        self._candidate: tuple[float, int] | None = None  # when it was told, strays before drops

    def restart(self) -> None:
        """The connection was lost: the broker may begin to count anew."""
        self._earlier += self._strays
        self._strays = self._dropped = 0
        self._base = self._candidate = None

    def receive(
        self, topic: str, payload: bytes, *, heard: int, sent: int, last_sent: float, now: float
    ) -> None:
        """The broker says something.

        By then, so many messages of devices were heard here, and so many sent, the last one then.
        """
        if topic in (_RECEIVED, _DROPPED):
            if not payload.isdigit():
                return
            if topic == _DROPPED:
                self._dropped = int(payload)
            else:
                quiet = now - last_sent > _UNDER_WAY
                self._told(int(payload) - heard - sent, 0 if quiet else sent - self._sent, now)
                self._sent = sent
            return
        said = payload.decode(errors="replace")
        for words, reason in _SAYINGS.items():
            self._counts[reason] += words in said

    def _told(self, strays: int, slack: int, now: float) -> None:
        """A new number: too low by what has not reached the broker, so a beginning is too high."""
        self._settle(now, at_once=True)
        if self._base is None or slack < self._slack:
            self._earlier += self._strays
            self._strays, self._base, self._slack = 0, strays - self._dropped + slack, slack
        self._candidate = now, strays

    def _settle(self, now: float, *, at_once: bool = False) -> None:
        """Believe a number when the drops of its moment must have been told, too."""
        if self._candidate is not None and (at_once or now - self._candidate[0] > _SETTLED):
            strays = self._candidate[1] - self._dropped - (self._base or 0)
            self._strays, self._candidate = max(self._strays, strays), None

    def counts(self, now: float) -> Counter[str]:
        """How often the broker turned somebody away, by reason."""
        self._settle(now)
        return +Counter({**self._counts, _STRAY: self._earlier + self._strays})
