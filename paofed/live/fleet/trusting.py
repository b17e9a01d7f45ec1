"""Say which devices of a fleet are never set aside, however far outside their updates lie."""

from collections.abc import Collection

from paofed.errors import InputError
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.database import locked
from paofed.live.journal.store import Store


def trusted(store: Store) -> list[str]:
    """Return the labels of the devices that are trusted."""
    devices = store.recover().rule.trusted
    return [m.label for m in store.devices() if m.device in devices and not m.removed]


def trust(fleet: Fleet, labels: Collection[str], *, on: bool = True) -> None:
    """Trust devices or, with `on` False, no longer, while no server runs.

    For a gateway, the same is done with all its devices. Trust is part of the rule's state, from
    which a new stretch of the journal begins, so that a replay of the journal knows since when.
    The manifest stays as it is, and devices notice nothing.
    """
    with fleet.store() as store, locked(fleet.folder):
        server = store.recover()
        if not getattr(server.manifest.parts.server, "aside", False):
            raise InputError(
                f"{fleet.folder} sets no device aside, so there is nobody to trust: `paofed fleet "
                f"change --clip 6 --aside yes` bounds what one device can do"
            )
        members = [store.member(label).device for label in labels]
        voices = {voice.device for device in members for voice in store.voices(device)}
        known = server.rule.trusted
        server.rule.trust(known | voices if on else known - voices)
        if server.rule.trusted != known:
            store.begin_epoch(
                server, f"{'trusts' if on else 'no longer trusts'} {', '.join(labels)}"
            )
