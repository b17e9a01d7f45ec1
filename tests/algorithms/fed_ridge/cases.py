"""A fleet whose devices add up samples and send copies, without an engine around it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from paofed.algorithms.fed_ridge.device import FIRST, HOW_MANY
from paofed.algorithms.fed_ridge.links import copies
from paofed.algorithms.fed_ridge.server import RidgeServer, collecting
from paofed.core.arrays import FloatArray
from paofed.core.parts import SERVER, Bytes, Message, ServerRule, Stamp, keys_of
from paofed.core.sums import COUNT, SQUARES, add, size_of

KEYS = keys_of(7)
Told = Callable[[int, int, FloatArray], FloatArray]  # client, tick, its sums -> what it tells
Carried = Callable[[int, int, Bytes], list[tuple[int, Bytes]]]  # likewise, bytes -> ticks, bytes


def stamp(client: int, tick: int, numbers: int) -> Stamp:
    return Stamp(client, tick, numbers, KEYS.up)


def as_sent(sums: FloatArray) -> FloatArray:
    """The sums as a server has them: n, and means as float32."""
    sent = sums.copy()
    sent[SQUARES:] = (sums[SQUARES:] / sums[COUNT]).astype(np.float32) * sums[COUNT]
    return sent


def honest(_client: int, _tick: int, sums: FloatArray) -> FloatArray:
    return sums


def at_once(_client: int, tick: int, payload: Bytes) -> list[tuple[int, Bytes]]:
    return [(tick, payload)]


class Samples(NamedTuple):
    """What K devices see in N ticks: predictions, then the map's features, the constant first."""

    u: FloatArray  # (N, K, 1 + F)
    y: FloatArray  # (N, K)

    def sums(self, tick: int, client: int) -> FloatArray:
        """Return the sums of a device's samples up to a tick, that one included."""
        sums = np.zeros(size_of(self.u.shape[2]))
        for u, y in zip(self.u[: tick + 1, client], self.y[: tick + 1, client], strict=True):
            add(sums, u, y)
        return sums


def drawn(seed: int, ticks: int, clients: int, features: int, noise: float = 0.1) -> Samples:
    """Samples of devices that are alike; the first prediction explains a part of the targets."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ticks, clients, 2))
    waves = rng.normal(size=(2, features - 1)), rng.uniform(0, 6, size=features - 1)
    z = np.cos(x @ waves[0] + waves[1]) / np.sqrt(features)
    u = np.concatenate([np.empty((*z.shape[:2], 1)), np.full_like(z[..., :1], 0.5), z], axis=2)
    model = rng.normal(size=features)
    y = u[..., 1:] @ model
    u[..., 0] = u[..., 1:4] @ model[:3]
    return Samples(u, y + noise * rng.normal(size=y.shape))


def begun(rule: ServerRule, features: int, clients: int) -> RidgeServer:
    """Return the server of a fleet that began with a model whose predictions may be large."""
    state: RidgeServer = rule.init(features, clients)
    return state._replace(w=np.full(features, 10.0))


class Fleet:
    """Devices that send a window at each of their ticks, and their server."""

    def __init__(self, samples: Samples, width: int = 8, ridge: float = 0.0) -> None:
        self.samples = samples
        ticks, self.clients, summed = samples.u.shape
        self.uplink: Any = copies(width)
        self.rule = collecting(summed - 1, ridge)
        self.numbers = size_of(summed)
        self.sums = np.zeros((self.clients, self.numbers))
        self.memory = [self.uplink.init(self.numbers) for _ in range(self.clients)]
        self.server = begun(self.rule, summed - 1, self.clients)
        self._due: dict[int, list[Message]] = {}
        self._said: list[tuple[int, int, int]] = []  # client, tick, bytes
        self.ticks = ticks

    @property
    def said(self) -> list[tuple[int, int, int]]:
        """Client, tick and bytes of each message."""
        return self._said

    def live(self, begin: int, end: int, told: Told = honest, carried: Carried = at_once) -> None:
        """Let ticks go by; without samples where there are no more of them."""
        for n in range(begin, end):
            for k in range(self.clients):
                if n < self.ticks:
                    add(self.sums[k], self.samples.u[n, k], float(self.samples.y[n, k]))
                self._send(n, k, told, carried)
            arrived = sorted(self._due.pop(n, []), key=lambda m: (n - m.sent, m.client))
            here = Stamp(SERVER, n, self.numbers, KEYS.server)
            self.server = self.rule.apply(self.server, arrived, here)

    def _send(self, n: int, k: int, told: Told, carried: Carried) -> None:
        here = stamp(k, n, self.numbers)
        numbers = told(k, n, self.sums[k])
        part, self.memory[k] = self.uplink.send(numbers, self.memory[k], here)
        if not part.coordinates.size:
            return
        payload = self.uplink.encode(part, here)
        self._said.append((k, n, payload.size))
        for when, arriving in carried(k, n, payload):
            message = Message(k, n, *self.uplink.decode(arriving, here))
            self._due.setdefault(when, []).append(message)

    def until_all_is_told(self) -> None:
        """Let ticks without samples go by until every device is silent."""
        n = self.ticks
        while True:
            before = len(self._said)
            self.live(n, n + 1)
            n += 1
            if len(self._said) == before:
                return

    def known(self, size: int) -> FloatArray:
        """Return what the server knows for a size of the model, (K, S)."""
        begins = self.server.begins
        found: FloatArray = self.server.known[:, begins[size] : begins[size + 1]]
        return found

    def model(self) -> FloatArray:
        """Return the shared model's coefficients of the summed features."""
        count = int(self.server.shared[HOW_MANY])
        model = self.server.shared[FIRST:].copy()
        assert not model[count:].any()
        return model
