"""Input that a server must refuse, or has had already: it changes nothing."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lab.rehearsal.auditor import BrokenPromiseError
from lab.rehearsal.fate import Fate
from paofed.live.journal.host import Host
from paofed.live.protocol.coordinator import MOST_HELLOS, TOLERANCE, Coordinator
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import LARGEST, Hello, Read, Reply, Update, encode

JUNK = (
    "garbage",
    "cut short",
    "flipped bits",
    "not finite",
    "too large",
    "replayed",
    "earlier epoch",
    "future",
    "too old",
    "unknown device",
    "wrong epoch",
    "wrong kind",
    "hello again",
    "foreign read",
)
_UNKNOWN = 999
_REMEMBERED = 50  # how many messages are remembered that somebody might send again


class Junk:
    """Makes such input, and checks a server that hears it."""

    def __init__(self, fate: Fate, devices: int, on_disk: Callable[[int, int, int], bool]) -> None:
        """`on_disk` says whether the update of an epoch, a device and a tick is on disk."""
        self._fate = fate
        self._devices = devices
        self._on_disk = on_disk
        self._heard: list[tuple[int, bytes]] = []

    def overhear(self, device: int, payload: bytes) -> None:
        """Remember a message of a device, which somebody might send again."""
        self._heard = [*self._heard[-_REMEMBERED:], (device, payload)]

    def bother(self, host: Host) -> None:
        """Let a server hear something that must not change it."""
        kind = self._fate.one_of(JUNK)
        for device, payload in self._made(kind, host.coordinator):
            before, lines = host.coordinator.digest(), len(host.group)
            host.receive(device, payload)
            if host.coordinator.digest() != before or len(host.group) != lines:
                raise BrokenPromiseError(f"input that must be refused ({kind}) changed the state")
            self._fate.hits[kind] += 1

    def _made(self, kind: str, server: Coordinator) -> list[tuple[int, bytes]]:
        """Return messages of a kind, each with its apparent sender.

        The list is empty where there are no such messages yet.
        """
        random, manifest, now = self._fate.random, server.manifest, server.tick
        device = int(random.integers(self._devices))
        values = random.standard_normal(manifest.shared)
        update = Update(manifest.epoch, now, manifest.up.block(values))
        past = now - manifest.max_age - 1
        match kind:
            case "replayed":
                return self._again(lambda *heard: self._is_known(manifest, *heard))
            case "earlier epoch":
                return self._again(lambda _, payload: payload[1] != manifest.epoch)
            case "future":
                ahead = now + TOLERANCE + 1 + int(random.integers(1000))
                return [(device, encode(replace(update, tick=ahead)))]
            case "too old":
                return [(device, encode(replace(update, tick=past)))] if past >= 0 else []
            case "unknown device":
                return [(_UNKNOWN, encode(update))]
            case "wrong kind":
                reply = Reply(manifest.epoch, now, 0, manifest.down.block(values))
                return [(device, encode(reply))]
            case "not finite" | "too large":
                values[-1] = np.nan if kind == "not finite" else 2 * LARGEST
                wrong = replace(update, values=manifest.up.block(values))
                return [(device, encode(wrong))]
            case "hello again":
                return [(device, encode(Hello(manifest.epoch)))] * (MOST_HELLOS + 1)
            case "foreign read":  # it is answered, and changes no model
                return [(device, encode(Read(manifest.epoch)))]
            case _:
                return [(device, _spoiled(kind, encode(update), random))]

    def _again(self, which: Callable[[int, bytes], bool]) -> list[tuple[int, bytes]]:
        """Return one of the messages that devices sent and `which` accepts, if there is one."""
        found = [heard for heard in self._heard if which(*heard)]
        return [found[int(self._fate.random.integers(len(found)))]] if found else []

    def _is_known(self, manifest: Manifest, device: int, payload: bytes) -> bool:
        """Whether all updates of a message are on disk, so that repeating it changes nothing."""
        if payload[1] != manifest.epoch:
            return False
        message = manifest.read(payload)
        return isinstance(message, Update) and all(
            self._on_disk(manifest.epoch, device, message.tick - earlier)
            for earlier in (0, *(repeat.earlier for repeat in message.repeats))
        )


def _spoiled(kind: str, good: bytes, random: np.random.Generator) -> bytes:
    """Return bytes that are no message of now, made from a good message."""
    match kind:
        case "garbage":
            return bytes([random.integers(16)]) + random.bytes(int(random.integers(40)))
        case "cut short":
            return good[: random.integers(len(good))]
        case "flipped bits":
            return bytes([good[0] ^ (16 << int(random.integers(4)))]) + good[1:]
        case _:  # the wrong epoch
            return bytes([good[0], good[1] ^ 1]) + good[2:]
