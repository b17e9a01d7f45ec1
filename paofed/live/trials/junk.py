"""Input that a server must refuse, or has had already: it changes nothing."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from paofed.live.journal.host import Host
from paofed.live.protocol.coordinator import MOST_HELLOS, TOLERANCE
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import LARGEST, Hello, Reply, Update, decode, encode
from paofed.live.trials.auditor import BrokenPromiseError
from paofed.live.trials.fate import Fate

JUNK = (
    "garbage",
    "cut short",
    "flipped bits",
    "not finite",
    "too large",
    "replayed",
    "future",
    "too old",
    "unknown device",
    "wrong epoch",
    "wrong kind",
    "hello again",
)
_UNKNOWN = 999
_REMEMBERED = 50  # messages that somebody might send again


class Junk:
    """Makes it, and looks on as a server hears it."""

    def __init__(self, fate: Fate, devices: int, on_disk: Callable[[int, int], bool]) -> None:
        """`on_disk` says whether the update of a device and tick is there."""
        self._fate = fate
        self._devices = devices
        self._on_disk = on_disk
        self._heard: list[tuple[int, bytes]] = []

    def overhear(self, device: int, payload: bytes) -> None:
        """A device sent this message: somebody might send it again."""
        self._heard = [*self._heard[-_REMEMBERED:], (device, payload)]

    def bother(self, host: Host) -> None:
        """Let a server hear something that must not change it."""
        kind = self._fate.one_of(JUNK)
        for device, payload in self._made(kind, host.coordinator.manifest):
            before, lines = host.coordinator.digest(), len(host.group)
            host.receive(device, payload)
            if host.coordinator.digest() != before or len(host.group) != lines:
                raise BrokenPromiseError(f"input that must be refused ({kind}) changed the state")
            self._fate.hits[kind] += 1

    def _made(self, kind: str, manifest: Manifest) -> list[tuple[int, bytes]]:
        random, now = self._fate.random, self._fate.now
        device = int(random.integers(self._devices))
        values = random.standard_normal(manifest.shared).astype("<f4")
        update = Update(manifest.epoch, now, values)
        good = encode(update)
        past = now - manifest.max_age - 1
        match kind:
            case "garbage":
                return [
                    (device, bytes([random.integers(16)]) + random.bytes(int(random.integers(40))))
                ]
            case "cut short":
                return [(device, good[: random.integers(len(good))])]
            case "flipped bits":
                return [(device, bytes([good[0] ^ (16 << int(random.integers(4)))]) + good[1:])]
            case "not finite":
                return [(device, good[:-4] + np.float32(np.nan).tobytes())]
            case "too large":
                return [(device, good[:-4] + np.float32(2 * LARGEST).tobytes())]
            case "replayed":
                known = [heard for heard in self._heard if self._is_known(*heard, manifest)]
                return [known[int(random.integers(len(known)))]] if known else []
            case "future":
                ahead = now + TOLERANCE + 1 + int(random.integers(1000))
                return [(device, encode(replace(update, tick=ahead)))]
            case "too old":
                return [(device, encode(replace(update, tick=past)))] if past >= 0 else []
            case "unknown device":
                return [(_UNKNOWN, good)]
            case "wrong epoch":
                return [(device, bytes([good[0], good[1] ^ 1]) + good[2:])]
            case "wrong kind":
                return [(device, encode(Reply(manifest.epoch, now, 0, values)))]
            case _:
                return [(device, encode(Hello(manifest.epoch)))] * (MOST_HELLOS + 1)

    def _is_known(self, device: int, payload: bytes, manifest: Manifest) -> bool:
        """Whether a message only brings what is on disk: to repeat it changes nothing."""
        message = decode(payload, shared=manifest.shared, features=manifest.features)
        return isinstance(message, Update) and all(
            self._on_disk(device, message.tick - earlier)
            for earlier in (0, *(repeat.earlier for repeat in message.repeats))
        )
