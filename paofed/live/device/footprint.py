"""What taking part costs a device: memory, and bytes on the way."""

from typing import NamedTuple

from paofed.live.network.topics import Topics
from paofed.live.network.transport import packet_size
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import HEADER, MOST_REPEATS

_FLOAT, _WIRE = 8, 4  # bytes of a number in memory, and of a number that travels


class Footprint(NamedTuple):
    """Bytes; all but the memory are MQTT packets, without TCP/IP."""

    # Fourier map, model, updates that wait for their reply, values that lags look back at.
    memory: int
    up: int
    down: int
    whole: int  # the message with the model that a device gets when it joins
    manifest: int  # the message with what the fleet has agreed on

    def __str__(self) -> str:
        return (
            f"{self.memory / 1000:.1f} kB of memory; a contact is {self.up} bytes up and "
            f"{self.down} down as MQTT, joining {self.whole + self.manifest} down once"
        )


def footprint(manifest: Manifest, fleet: str, device: int) -> Footprint:
    """Add up what a device of this fleet needs."""
    features = manifest.features
    numbers = features * (manifest.numbers + 4) + manifest.shared * (MOST_REPEATS + 1)
    if manifest.seen is not None:
        numbers += len(manifest.seen.reaches) * max(manifest.seen.reaches.values(), default=0)
    topics = Topics(fleet, full=True)  # fleets with short names have topics as long as these
    up, down = topics.up(device), topics.down(device)
    return Footprint(
        _FLOAT * numbers,
        packet_size(up, bytes(HEADER.size + 1 + manifest.up.length)),
        packet_size(down, bytes(HEADER.size + 1 + manifest.down.length)),
        packet_size(down, bytes(HEADER.size + _WIRE * features)),
        packet_size(topics.manifest, manifest.to_json().encode()),
    )
