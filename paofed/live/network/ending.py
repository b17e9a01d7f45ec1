"""How a connection of somebody else is ended: by taking its name at the broker."""

from collections.abc import Iterable

from paofed.live.network.credential import Credential


def take_over(credential: Credential, seconds: float = 3.0) -> bool:
    """Connect once under a name, which ends another connection of that name.

    Return whether that worked.
    """
    from paofed.live.network.mqtt import Link  # imported here: it needs paho-mqtt

    link = Link(credential, [credential.topics.down(credential.who)], lambda *_: None)
    link.open()
    try:
        return link.accepted.wait(seconds)
    finally:
        link.close()


def end_connections(credentials: Iterable[Credential]) -> None:
    """End the connections of all these names; if nobody answers, the others are not tried."""
    for credential in credentials:
        if not take_over(credential):
            return
