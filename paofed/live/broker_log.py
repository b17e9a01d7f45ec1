"""What the broker turned away, so that it shows in the fleet's counts.

mosquitto tells it in two ways: a log that can be subscribed to, and a count of all the messages it
was handed. Messages that were neither heard here nor sent from here went nowhere: they were written
to topics their senders have no right to. That number is a lower bound.
"""

from collections import Counter

_RECEIVED = "$SYS/broker/publish/messages/received"
_SAYINGS = {
    "OpenSSL Error[0]": "certificate",
    "not authorised": "password",
    "oversize packet": "oversized packet",
    "already connected, closing old": "second connection",
}
TOPICS = ("$SYS/broker/log/E", "$SYS/broker/log/N", _RECEIVED)


class BrokerLog:
    """Counts by reason, since the server started."""

    def __init__(self) -> None:
        self.heard = 0  # messages from devices
        self._counts: Counter[str] = Counter()
        self._earlier = 0  # strays of connections that have ended
        self._strays = 0
        self._values = 0  # that were told on this connection
        self._base = self._sent = self._slack = 0

    def restart(self) -> None:
        """The connection was lost: the broker may begin to count anew."""
        self._earlier += self._strays
        self._strays = self._values = 0

    def receive(self, topic: str, payload: bytes, sent: int) -> None:
        """The broker says something; `sent` messages went out from here so far."""
        if topic == _RECEIVED:
            self._count_strays(payload, sent)
            return
        said = payload.decode(errors="replace")
        for words, reason in _SAYINGS.items():
            self._counts[reason] += words in said

    def _count_strays(self, payload: bytes, sent: int) -> None:
        if not payload.isdigit():
            return
        # What went out since the last value may not have reached the broker: the number is too low
        # by at most that. So a beginning is taken too high by as much, until there is a better one.
        strays, slack = int(payload) - self.heard - sent, sent - self._sent
        self._values, self._sent = self._values + 1, sent
        if self._values > 2:  # the first may be from before we listened
            self._strays = max(self._strays, strays - self._base)
        if self._values <= 2 or slack < self._slack:
            self._earlier += self._strays
            self._strays, self._base, self._slack = 0, strays + slack, slack

    def counts(self) -> Counter[str]:
        """How often the broker turned somebody away, by reason."""
        return +(self._counts + Counter({"topic": self._earlier + self._strays}))
