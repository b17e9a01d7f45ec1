"""Who is called what at the broker, and which topics they have: spelled here alone.

A broker knows a connection by its user's name, and a new connection ends the old one of that name.
So names begin with the fleet's (`greenhouse/3`), and several fleets can share a broker. A device's
topics begin with its name, so that one pattern says what each device may do.

On a company's broker, all topics of a fleet may have a prefix (`site7/greenhouse/3/u`), and its
users have names that the company gave them (paofed.live.network.credential).

A fleet that has a broker for itself may have short names (`3`) instead; its topics are as long as
the others.
"""

from typing import NamedTuple

SERVER = "server"  # stands for a device's index
_DIGITS = 10  # the most digits of an index


class Topics(NamedTuple):
    """The names and topics of a fleet."""

    fleet: str
    full: bool  # whether names begin with the fleet's
    prefix: str = ""  # a text before all topics

    @property
    def root(self) -> str:
        """The first part of every topic."""
        return self._below(self.fleet)

    def _below(self, topic: str) -> str:
        return f"{self.prefix}/{topic}" if self.prefix else topic

    def user(self, who: object) -> str:
        """Return the name at the broker of a device, by index, or of the server."""
        return f"{self.fleet}/{who}" if self.full else f"{who}"

    def up(self, device: object) -> str:
        """Return the topic from a device to the server; "+" for all devices."""
        return self._own("u", device)

    def down(self, device: object) -> str:
        """Return the topic from the server to a device."""
        return self._own("d", device)

    def _own(self, kind: str, device: object) -> str:
        first, second = (device, kind) if self.full else (kind, device)
        return f"{self.root}/{first}/{second}"

    @property
    def up_of_user(self) -> str:
        """The topic `up` of whoever asks, as a pattern in which %u is the user's name."""
        return self._below("%u/u") if self.full else self.up("%u")

    @property
    def down_of_user(self) -> str:
        """The topic `down` of whoever asks, as a pattern in which %u is the user's name."""
        return self._below("%u/d") if self.full else self.down("%u")

    @property
    def manifest(self) -> str:
        """The topic of what the fleet has agreed on, retained."""
        return f"{self.root}/c2"

    @property
    def server(self) -> str:
        """The topic that says which server is at work, retained."""
        return f"{self.root}/s"

    @property
    def beginning(self) -> str:
        """The topic of an empty message, with which the broker's count of messages begins."""
        return f"{self.root}/p"

    def sender(self, topic: str) -> int | None:
        """Return the index of the device whose topic `up` this is, or None."""
        before, _, after = self.up("+").partition("+")
        index = topic.removeprefix(before).removesuffix(after)
        right = is_index(index) and topic == f"{before}{index}{after}"
        return int(index) if right else None


def is_index(text: str) -> bool:
    """Whether a text is a device's index, as names and topics have it."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS
