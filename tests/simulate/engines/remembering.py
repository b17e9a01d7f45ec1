"""One method with memory on both sides, written twice: as parts, and as one loop over numbers.

The largest changes go up with their indices, news of a random mask come down as halves, the server
waits for several messages, and steps decay.
"""

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from paofed.algorithms import Algorithm
from paofed.algorithms.base import Exchange
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import (
    Bytes,
    Channel,
    Learner,
    Message,
    Part,
    ServerRule,
    Stamp,
    Weights,
    draws,
    keys_of,
    silence,
)
from paofed.core.rules import lms_step
from paofed.core.selection import Windows
from paofed.core.traffic import Traffic
from paofed.world.trace import Trace

LARGEST, MASKED, BUFFER, LIMIT, STEP, MOVED = 2, 3, 4, 4, 0.4, 0.05


class Told(NamedTuple):
    """What the other side of a link was told last, by coordinate."""

    w: FloatArray


class Buffer(NamedTuple):
    """A server's model, the changes that wait, and how many messages brought them."""

    w: FloatArray
    change: FloatArray
    waiting: FloatArray


def decaying(state: Weights, z: FloatArray, y: float, mu: float, tick: int) -> Weights:
    return Weights(lms_step(state.w, z, y, mu / (1 + tick) ** 0.5))


def send_largest(w: FloatArray, told: Told, _: Stamp) -> tuple[Part, Told]:
    """The coordinates that changed most; what is not sent counts again the next time."""
    chosen = np.argsort(-np.abs(w - told.w), kind="stable")[:LARGEST]
    known = told.w.copy()
    known[chosen] = w[chosen]
    return Part(chosen, w[chosen]), Told(known)


def with_indices(part: Part, _: Stamp) -> Bytes:
    halves = part.coordinates.astype("<u2"), part.values.astype("<f4")
    return np.concatenate([half.view(np.uint8) for half in halves])


def from_indices(payload: Bytes, _: Stamp) -> Part:
    split = payload.size // 3
    indices, values = payload[:split].view("<u2"), payload[split:].view("<f4")
    return Part(indices.astype(np.int64), values.astype(np.float64))


def mask(stamp: Stamp) -> IntArray:
    """Random coordinates that both sides draw."""
    return np.argsort(draws(stamp, stamp.features), kind="stable")[:MASKED]


def send_news(w: FloatArray, told: Told, stamp: Stamp) -> tuple[Part, Told]:
    """Nothing, unless one of these coordinates has moved since the client heard of it."""
    chosen = mask(stamp)
    if np.abs(w - told.w)[chosen].max() < MOVED:
        return silence(), told
    known = told.w.copy()
    known[chosen] = w[chosen]
    return Part(chosen, w[chosen]), Told(known)


def as_halves(part: Part, _: Stamp) -> Bytes:
    return part.values.astype("<f2").view(np.uint8)


def from_halves(payload: Bytes, stamp: Stamp) -> Part:
    return Part(mask(stamp), payload.view("<f2").astype(np.float64))


def buffered(state: Buffer, messages: Sequence[Message], _: Stamp) -> Buffer:
    change = state.change.copy()
    for message in messages:
        change[message.coordinates] += message.values - state.w[message.coordinates]
    waiting = state.waiting + len(messages)
    if waiting[0] < BUFFER:
        return Buffer(state.w, change, waiting)
    return Buffer(state.w + change / waiting[0], np.zeros_like(change), np.zeros(1))


def told_nothing(features: int) -> Told:
    return Told(np.zeros(features))


def empty(features: int, _: int) -> Buffer:
    return Buffer(np.zeros(features), np.zeros(features), np.zeros(1))


OWN = Algorithm(
    name="own",
    downlink=Channel(
        send=send_news,
        init=told_nothing,
        encode=as_halves,
        decode=from_halves,
        waives=("values survive",),
    ),
    uplink=Channel(send=send_largest, init=told_nothing, encode=with_indices, decode=from_indices),
    server=ServerRule(apply=buffered, init=empty),
    learner=Learner(learn=decaying),
    learns_while_away=True,
    step_size=STEP,
    max_age=LIMIT,
)
WINDOWS = Windows(3, coordinated=False)


class Plain:
    """The same method as one loop over numbers, and every message as bytes of `struct`."""

    def __init__(self, trace: Trace, exchange: Exchange, seed: int = 0) -> None:
        self.trace, self.exchange, self.seed = trace, exchange, seed
        clients, features = trace.clients, trace.features
        self.server, self.change, self.waiting = np.zeros(features), np.zeros(features), 0
        self.device = np.zeros((clients, features))
        self.server_knows, self.device_knows = self.device.copy(), self.device.copy()
        self.flying: list[tuple[int, int, int, tuple[int, ...], tuple[float, ...]]] = []
        self.sent: list[tuple[str, int, int, int]] = []  # direction, client, coordinates, bytes

    def tick(self, n: int) -> Traffic:
        """One tick; what it sent is returned."""
        self.sent = []
        for k in range(self.trace.clients):
            if not self.trace.has_data[n, k]:
                continue
            contact = self.trace.available[n, k]
            if contact and self.exchange == "paper":
                self.answer(k, n)
            z = np.sqrt(2 / self.trace.features) * np.cos(
                self.trace.x[n, k] @ self.trace.frequencies + self.trace.phases
            )
            error = self.trace.y[n, k] - self.device[k] @ z
            self.device[k] += STEP / np.sqrt(1 + n) * error * z
            if contact:
                self.report(k, n)
                if self.exchange == "single":
                    self.answer(k, n)
                if self.exchange == "live":
                    self.sent.append(("down", k, 3, len(struct.pack("<3f", 0, 0, 0))))
        counted = self.counted()
        self.receive(n)
        return counted

    def report(self, k: int, n: int) -> None:
        away = [abs(a - b) for a, b in zip(self.device[k], self.server_knows[k], strict=True)]
        chosen = sorted(range(len(away)), key=lambda j: (-away[j], j))[:LARGEST]
        for j in chosen:
            self.server_knows[k, j] = self.device[k, j]
        data = struct.pack(f"<{LARGEST}H{LARGEST}f", *chosen, *(self.device[k, j] for j in chosen))
        self.sent.append(("up", k, LARGEST, len(data)))
        numbers = struct.unpack(f"<{LARGEST}H{LARGEST}f", data)
        delay = int(self.trace.delay[n, k])
        if delay <= LIMIT:
            self.flying.append((n + delay, delay, k, numbers[:LARGEST], numbers[LARGEST:]))

    def answer(self, k: int, n: int) -> None:
        lots = draws(Stamp(k, n, 0, keys_of(self.seed).down), self.trace.features).tolist()
        chosen = sorted(range(len(lots)), key=lambda j: lots[j])[:MASKED]
        if all(abs(self.server[j] - self.device_knows[k, j]) < MOVED for j in chosen):
            return
        data = struct.pack(f"<{MASKED}e", *(self.server[j] for j in chosen))
        self.sent.append(("down", k, MASKED, len(data)))
        for j, value in zip(chosen, struct.unpack(f"<{MASKED}e", data), strict=True):
            self.device[k, j], self.device_knows[k, j] = value, self.server[j]

    def receive(self, n: int) -> None:
        arrived = sorted(message for message in self.flying if message[0] == n)
        if self.exchange == "live":
            for k in {message[2] for message in arrived}:
                for i in range(3):
                    j = (3 * (n + k) + i) % self.trace.features
                    self.device[k, j] = self.server[j]
        for _, _, _, chosen, values in arrived:
            for j, value in zip(chosen, values, strict=True):
                self.change[j] += value - self.server[j]
        self.waiting += len(arrived)
        if self.waiting >= BUFFER:
            self.server = self.server + self.change / self.waiting
            self.change, self.waiting = np.zeros_like(self.change), 0

    def counted(self) -> Traffic:
        up, down = ([line for line in self.sent if line[0] == way] for way in ("up", "down"))
        return Traffic(
            coordinates_up=sum(line[2] for line in up),
            coordinates_down=sum(line[2] for line in down),
            messages_up=len(up),
            messages_down=len(down),
            payload_up=sum(line[3] for line in up),
            payload_down=sum(line[3] for line in down),
            contacts=len({line[1] for line in self.sent}),
        )


def method(exchange: Exchange) -> Algorithm:
    """In the live exchange the size of an answer is known before it is sent: windows come down."""
    live: dict[str, Any] = {"downlink": WINDOWS} if exchange == "live" else {}
    return replace(OWN, exchange=exchange, **live)
