"""Whole conversations of devices with faults, made by the Python edge: what a device in C must say.

Messages get lost, come twice and late, are damaged or lies; power fails, also inside a save; the
fleet agrees on something else. Every choice comes from one seed. Inputs are float32, so that all
who replay a conversation are given the same.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lab.rehearsal.fleets import FEW_BITS, ROWS, UNBOUNDED, WHOLE
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import (
    LAST_TICK,
    NO_UPDATE,
    Hello,
    Model,
    Read,
    Reply,
    Reread,
    Update,
    age_of,
    encode,
)
from paofed.live.protocol.quantity import Quantity

_EIGHTH = 0.125  # seconds: a time that both milliseconds and floating point hold


@dataclass(frozen=True)
class Happened:
    """One event, what the edge said, and its model after it."""

    at: float  # seconds by the device's own clock
    what: str  # learn, predict, contact, receive, save, power, adopt
    given: Any
    said: Any
    w: Any
    level: int


def some_manifest(random: np.random.Generator) -> Manifest:
    """A small fleet that the device in C can follow."""
    rows = (*ROWS, UNBOUNDED, FEW_BITS, FEW_BITS)
    algorithm = rows[int(random.integers(len(rows)))]
    inputs = int(random.integers(1, 5))
    linear = random.random() < 0.4
    features = int(random.integers(3, 25)) + (inputs + 1 if linear else 0)
    limited = random.random() < 0.5

    def number(name: str) -> Quantity:
        offset, scale = random.normal(0, 3), 2.0 ** random.integers(-3, 4)
        number = Quantity(name=name, offset=float(np.float32(offset)), scale=float(scale))
        return number.limited() if limited else number

    def chance(value: Any) -> Any:
        return value if random.random() < 0.4 else None

    bits = {"bits": int(random.integers(2, 17)), "down_bits": int(random.choice([3, 8, 16, 32]))}
    low = random.normal(-1, 0.5, inputs)
    learner = chance("two-speed")
    return Manifest(
        algorithm=algorithm,
        features=features,
        shared=features if algorithm == WHOLE else int(random.integers(1, min(features, 9) + 1)),
        kernel_width=float(random.uniform(0.8, 3)),
        seed=int(random.integers(2**63)),
        step_size=float(random.uniform(0.05, 0.8)),
        max_age=int(random.integers(0, 11)),
        tick_seconds=float(random.choice([0.25, 1.0, 2.5, 20.0])),
        start=1.0,
        epoch=int(random.integers(256)),
        inputs=tuple(number(f"x{i}") for i in range(inputs)),
        target=number("y"),
        options=bits if algorithm == FEW_BITS else None,
        bound=chance(float(random.uniform(1, 8))),
        learner=learner,
        forgetting=chance(float(random.uniform(0.5, 1))) if learner else None,
        linear=tuple((float(a), float(a + 1.5)) for a in low) if linear else None,
        personal=chance(True) if linear else None,
        start_model=chance(tuple(map(float, random.normal(0, 1, features).astype("<f4")))),
    )


class Conversation:
    """A device, and a server that is only as good as its messages."""

    def __init__(self, seed: int, events: int = 150) -> None:
        self.seed = seed
        self.random = np.random.default_rng(seed)
        self.manifest = some_manifest(self.random)
        self.device = int(self.random.integers(50))
        self.patience = int(self.random.integers(1, 3))
        self.doubt = int(self.random.integers(0, 20))
        self._edge = self._new(self.manifest)
        self._now = 0.0
        # How far the server's ticks are ahead; in some conversations they come to their end.
        self._ahead = float(LAST_TICK - 100 if seed % 5 == 0 else self.random.integers(1000))
        self._coming: list[tuple[float, bytes]] = []
        self._saved: tuple[Manifest, Any] | None = None
        self.agreed = [self.manifest]  # and what was adopted later
        self.happened = [one for _ in range(events) for one in self._next()]

    def _new(self, manifest: Manifest) -> Edge:
        return Edge(manifest, self.device, patience=self.patience, doubt=self.doubt)

    def _note(self, what: str, given: Any = None, said: Any = None) -> Happened:
        edge = self._edge
        return Happened(self._now, what, given, said, edge.w.copy(), edge.recent.level)

    def _next(self) -> Iterator[Happened]:
        random = self.random
        self._now += _EIGHTH * int(random.integers(0, 12))
        for due, payload in [one for one in self._coming if one[0] <= self._now]:
            self._coming.remove((due, payload))
            yield self._received(payload)
        chance = random.random()
        if chance < 0.4:
            yield self._learned()
        elif chance < 0.45:
            x = self._x()
            yield self._note("predict", x, self._edge.predict(np.array(x)))
        elif chance < 0.87:
            yield self._contacted()
        elif chance < 0.9:
            yield self._received(self._nonsense())
        elif chance < 0.93:
            yield self._save()
        elif chance < 0.96:
            yield self._power()
        elif chance < 0.97:
            yield from self._restart_at_once()
        elif chance < 0.985:
            yield self._adopted()
        else:
            self._now += float(random.integers(400))  # asleep

    def _x(self) -> list[float]:
        spread = [(number.offset, 2 * number.scale) for number in self._edge.manifest.inputs]
        return [float(np.float32(self.random.normal(*one))) for one in spread]

    def _learned(self) -> Happened:
        agreed, x = self._edge.manifest, self._x()
        y = agreed.target.offset + agreed.target.scale * float(np.sin(x[0]) + 0.2 * x[-1])
        if self.random.random() < 0.04:
            y = float(self.random.choice([1e4, -1e30, 1e12]))
        y = float(np.float32(y))
        return self._note("learn", (x, y), self._edge.learn(np.array(x), y))

    def _contacted(self) -> Happened:
        payload = self._edge.contact(self._now)
        if payload is not None and self.random.random() < 0.75:
            tick = self._tick()
            answer = encode(self._answer(payload, tick))
            for _ in range(1 + (self.random.random() < 0.1)):
                late = self.random.random() < 0.3
                self._coming.append((self._now + late * float(self.random.integers(8)), answer))
        if self.random.random() < 0.02:
            self._ahead += float(self.random.integers(-30, 30))  # a server's clock that was set
        return self._note("contact", None, payload)

    def _tick(self) -> int:
        """The server's."""
        passed = int(self._now / self._edge.manifest.tick_seconds + self._ahead)
        return min(max(passed, 0), LAST_TICK)

    def _answer(self, payload: bytes, tick: int) -> Any:
        agreed = self._edge.manifest
        message = agreed.read(payload)
        if isinstance(message, Hello):
            return Model(agreed.epoch, tick, self._values(agreed.features))
        assert isinstance(message, Update | Read)
        tick = max(tick, message.tick - 2) if isinstance(message, Update) else tick
        age = age_of(tick, message.tick) if isinstance(message, Update) else NO_UPDATE
        block = agreed.down.block(self._values(agreed.shared).astype(float), self.device, tick)
        return Reply(agreed.epoch, tick, age, block)

    def _values(self, count: int) -> Any:
        return self.random.normal(0, 2, count).astype("<f4")

    def _received(self, payload: bytes) -> Happened:
        confirmed = sorted(self._edge.receive(payload, self._now))
        return self._note("receive", payload, confirmed)

    def _nonsense(self) -> bytes:
        """Messages that mean nothing, or something else than they should."""
        random, agreed = self.random, self._edge.manifest
        tick = self._tick()
        block = agreed.down.block(self._values(agreed.shared).astype(float), self.device, tick)
        good = encode(Reply(agreed.epoch, tick, 0, block))
        whole = encode(Model(agreed.epoch, tick, self._values(agreed.features)))
        kinds = [
            random.bytes(int(random.integers(0, 40))),
            good[:-1],
            good + b"\0",
            good[:-2] + b"\xff\xff",
            good[:-4] + np.float32(np.nan).tobytes(),
            good[:-4] + np.float32(1.1e6).tobytes(),
            whole[:-4] + np.float32(-np.inf).tobytes(),
            whole[:-4],
            bytes([good[0], (agreed.epoch + 1) % 256]) + good[2:],
            bytes([0x11]) + good[1:],
            encode(Reread(agreed.epoch)),
            encode(Reread((agreed.epoch + 1) % 256)),
            encode(Hello(agreed.epoch)),
            whole,
        ]
        return kinds[int(random.integers(len(kinds)))]

    def _save(self) -> Happened:
        """Save; in some cases the power fails meanwhile, and comes back."""
        written = 0xFFFF
        if self.random.random() < 0.4:
            written = int(self.random.integers(0, 13))  # nothing of what is kept, at most its sum
        else:
            self._saved = self._edge.manifest, self._edge.state()
        return self._note("save", written)

    def _power(self) -> Happened:
        """Power was lost: the device goes on from what was saved, if anything was."""
        agreed = self._edge.manifest
        self._edge = self._new(agreed)
        if self._saved is not None:
            manifest, state = self._saved
            edge = self._new(manifest)
            assert edge.restore(state)
            self._edge = edge if manifest.epoch == agreed.epoch else edge.under(agreed)
        return self._note("power", None, self._saved is not None)

    def _restart_at_once(self) -> Iterator[Happened]:
        """Mostly within a tick: what it sent before is then the head of a message again."""
        yield self._contacted()
        self._saved = self._edge.manifest, self._edge.state()
        yield self._note("save", 0xFFFF)
        yield self._power()
        for _ in range(2):  # a hello, and that head
            payload = self._edge.contact(self._now)
            yield self._note("contact", None, payload)
            if payload is not None:
                yield self._received(encode(self._answer(payload, self._tick())))

    def _adopted(self) -> Happened:
        old, random = self._edge.manifest, self.random
        other = some_manifest(random)
        small: list[dict[str, Any]] = [
            {},
            {"lineage": old.lineage + 1},
            {"from_tick": 7, "from_time": 9.5, "first_interval": 0.5},
            {"aside": not old.aside, "lineage": old.lineage + 100},
        ]
        changes: list[dict[str, Any]] = [
            {"step_size": 0.3},
            {"bound": 2.0 if old.bound is None else None},
            {"max_age": 7},
            {"tick_seconds": 1.5},
            {"options": {"bits": 5, "down_bits": 8} if old.algorithm == FEW_BITS else None},
            {"seed": old.seed + 1},
            {"target": other.target},
            {"learner": None if old.learner else "two-speed", "forgetting": None},
        ]
        some = small if random.random() < 0.4 else changes
        change = some[int(random.integers(len(some)))]
        new = replace(old, epoch=old.next_epoch, **change)
        self._edge = self._edge.under(new)
        self.agreed.append(new)
        self._coming.clear()
        return self._note("adopt", new, _needed(new) == _needed(old))


def _needed(manifest: Manifest) -> dict[str, Any]:
    """What a device in C needs a new header for."""
    others = {"epoch", "lineage", "from_tick", "from_time", "aside", "first_interval", "probes"}
    members = json.loads(manifest.to_json())
    return {name: value for name, value in members.items() if name not in others}
