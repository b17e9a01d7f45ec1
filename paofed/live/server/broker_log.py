"""What the broker turned away, so that it shows in the fleet's counts.

mosquitto tells it in two ways: by a log that can be subscribed to, and by counts of all messages
that it received and of those that it dropped. Messages that were received by the broker, but
neither heard here nor sent from here nor dropped, went nowhere ("strays"): they were written to
topics to which their senders have no right.
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
_UNDER_WAY = 0.5  # seconds after which a message sent from here has reached the broker
_SETTLED = 3.0  # seconds after which the broker has told both counts of a moment


class BrokerLog:
    """Counts by reason, since the server started. The number of strays is a lower bound."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(_SAYINGS.values(), 0)
        self._dropped = 0
        self._earlier = 0  # strays of connections that have ended
        self._strays = 0
        # The broker's first count on this connection, from which strays are counted.
        self._base: int | None = None
        self._slack = 0  # by how much `_base` may be too high
        self._sent = 0  # messages sent from here when the broker told its last count
        # A count that is not settled yet: when it was told, and its strays before drops.
        self._candidate: tuple[float, int] | None = None

    def restart(self) -> None:
        """Begin to count anew: the connection was lost, and the broker may begin at 0."""
        self._earlier += self._strays
        self._strays = self._dropped = 0
        self._base = self._candidate = None

    def receive(
        self, topic: str, payload: bytes, *, heard: int, sent: int, last_sent: float, now: float
    ) -> None:
        """Process a message in which the broker speaks of itself.

        `heard` and `sent` are how many messages of devices were heard here by then and how many
        were sent; `last_sent` is when the last one was sent.
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
        """Take a new count of strays from the broker.

        Up to `slack` messages were sent from here and had not reached the broker when it counted,
        so the count may be too low by as many. As the first count, from which later ones are
        subtracted, `strays` is therefore raised by `slack`: then strays are never counted too many.
        For example, a first count of 5 with a slack of 2 becomes a base of 7.
        """
        self._settle(now, at_once=True)
        if self._base is None or slack < self._slack:
            self._earlier += self._strays
            self._strays, self._base, self._slack = 0, strays - self._dropped + slack, slack
        self._candidate = now, strays

    def _settle(self, now: float, *, at_once: bool = False) -> None:
        """Take over a count when the broker must have told the drops of the same moment as well."""
        if self._candidate is not None and (at_once or now - self._candidate[0] > _SETTLED):
            strays = self._candidate[1] - self._dropped - (self._base or 0)
            self._strays, self._candidate = max(self._strays, strays), None

    def counts(self, now: float) -> Counter[str]:
        """Return how often the broker turned somebody away, by reason."""
        self._settle(now)
        return +Counter({**self._counts, _STRAY: self._earlier + self._strays})
