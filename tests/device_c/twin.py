"""The device in C once more, in NumPy: float32, and every sum in the same order.

Messages, windows and waiting updates are those of tests/live/tiny_device.py, which was written from
docs/live.md alone. What is computed with float32 is written here from paofed_map.c and
paofed_learn.c, so that the same bits are found wherever arithmetic is IEEE's.
"""

import copy
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.device_c.agreed import TWO_SPEED_LEARNER, agreed_in_c
from paofed.live.protocol.manifest import Manifest
from tests.live.tiny_device import Json, Level, TinyDevice, philox, window, words

F = np.float32
Floats32 = NDArray[np.float32]
_SINE = (6.28318501, -41.3416557, 81.6010056, -76.5497818, 39.5367012)
_LOGARITHM = (2.88539004, 0.961800754, 0.576584518, 0.434256047)
_CENTRAL = (
    (3.38713272, 50.4342719, 159.291132, 59.1093747),
    (1.0, 17.8951695, 78.7577577, 67.1875636),
)
_TAIL = ((1.42343728, 2.75681539, 1.30672848, 0.170238211), (1.0, 0.737001643, 0.12021133))
_FORGET = F(1 / 32)
_FAR = F(3e38)


def polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    value = F(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * x + F(coefficient)
    return value


def cosine(turns: Floats32) -> Floats32:
    whole = ~(np.abs(turns) < F(8388608))
    rest = np.abs(turns - np.trunc(turns))
    rest = np.where(rest > F(0.5), F(1) - rest, rest)
    u = F(0.25) - rest
    found: Floats32 = u * polynomial(_SINE, u * u)
    return np.where(whole, F(1) + (turns - turns), found)


def log2(x: Floats32) -> Floats32:
    bits = x.view(np.uint32)
    exponent = (bits >> 23).astype(np.int32) - 127
    m = (bits & 0x007FFFFF | 0x3F800000).view(np.float32)
    large = m > F(1.41421354)
    m, exponent = np.where(large, F(0.5) * m, m), exponent + large
    t = (m - F(1)) / (m + F(1))
    found: Floats32 = exponent.astype(np.float32) + t * polynomial(_LOGARITHM, t * t)
    return found


def square_root(x: Floats32) -> Floats32:
    root = (np.uint32(0x1FBD1DF5) + (x.view(np.uint32) >> 1)).view(np.float32)
    for _ in range(3):
        root = F(0.5) * (root + x / root)
    return root


def normal(word: NDArray[np.uint32]) -> Floats32:
    below = word < 2**31
    outside = np.where(below, word, ~word)
    inside = np.uint32(2**31 - 1) - outside
    size, tail = ((n.astype(F) + F(0.5)) * F(2.0**-32) for n in (inside, outside))
    r = F(0.180625) - size * size
    central = size * polynomial(_CENTRAL[0], r) / polynomial(_CENTRAL[1], r)
    t = square_root(F(-0.693147181) * log2(tail)) - F(1.6)
    outer = polynomial(_TAIL[0], t) / polynomial(_TAIL[1], t)
    found: Floats32 = np.where(size <= F(0.425), central, outer)
    return np.where(below, -found, found)


def dot(a: Floats32, b: Floats32) -> np.float32:
    return F(np.add.accumulate(a * b)[-1])  # one after the other


class Level32(Level):
    n: Any
    s: Any
    p: Any

    def __init__(self) -> None:
        self.n, self.s, self.p = F(0), F(0), F(0)

    def learned(self, e: float) -> None:
        with np.errstate(over="ignore"):
            square = F(e) * F(e)
        self.n = min(self.n + F(1), F(32))
        self.s += (min(square, F(1e30)) - self.s) / self.n
        self.p -= _FORGET * self.p

    def passed_over(self) -> None:
        self.p += _FORGET * (F(1) - self.p)

    def byte(self) -> int:
        if self.p > F(1) / F(24):
            return 255
        if self.n == 0:
            return 0
        level = F(128.5) + F(4.01373307) * log2(np.array([max(self.s, F(1e-30))], dtype=F))[0]
        return int(min(max(level, F(1)), F(254)))


class Twin(TinyDevice):
    """`drawn`: it draws the map for every sample; `doubt`: ticks that a doubt lasts."""

    w: Any
    errors: Any

    def __init__(
        self, manifest: Json, device: int, *, drawn: bool = False, doubt: int = 256
    ) -> None:
        self.drawn, self.doubt = drawn, doubt
        self.passed_over = self.restarts = 0
        super().__init__(manifest, device)
        self.level = Level32()
        self.begin()

    def follow(self, manifest: Json) -> None:
        super().follow(manifest)
        found = agreed_in_c(Manifest.from_json(json.dumps(manifest)), drawn=self.drawn)
        self.agreed = found
        self.frequencies, self.phases = found.frequencies, found.phases
        if found.frequencies is None:
            seed, count = manifest["seed"], found.inputs * found.waves
            word = np.array(words(seed, count, 0), dtype=np.uint32)
            drawn = normal(word) * found.frequency_scale
            self.frequencies = drawn.reshape(found.inputs, found.waves)
            phases = np.array(words(seed, found.waves, 1), dtype=np.uint32)
            self.phases = phases.astype(F) * F(2.0**-32)

    def begin(self) -> None:
        start = self.agreed.start
        self.w = np.zeros(self.agreed.features, dtype=F) if start is None else start.copy()
        self.forget_errors()

    def forget_errors(self) -> None:
        self.errors = []
        self.lead = np.zeros(self.agreed.features, dtype=F)
        self.trust = [F(1), F(0), F(0), F(0)]

    def adopt(self, manifest: Json) -> None:
        before, old = self.agreed, self.w
        super().adopt(manifest)
        self.passed_over = self.restarts = 0
        if before.meaning != self.agreed.meaning:
            self.begin()
        else:
            self.w = old
            if not self.joined or before.learner != self.agreed.learner:
                self.forget_errors()
        if not self.joined:
            self.level = Level32()

    def saved(self) -> "Twin":
        """A copy, as it would be after a power cut."""
        kept = copy.deepcopy(self)
        kept.restart()
        kept.passed_over = kept.restarts = 0
        return kept

    # Samples

    def z(self, x: list[float]) -> Floats32:
        agreed, numbers = self.agreed, self.agreed.numbers
        with np.errstate(over="ignore", invalid="ignore"):
            seen = (np.array(x, dtype=F) - numbers[:-1, 0]) / numbers[:-1, 1]
            assert self.phases is not None
            assert self.frequencies is not None
            angles = self.phases.copy()
            for i in range(agreed.inputs):
                angles += seen[i] * self.frequencies[i]
            z = agreed.wave_scale * cosine(angles)
            if agreed.linear is None:
                return z
            low, high, middle, gain = agreed.linear.T
            kept = np.where(seen < low, low, seen)
            kept = np.where(kept > high, high, kept)
            return np.concatenate([z, (kept - middle) * gain, [agreed.constant]])

    def predict(self, x: list[Any], time: float | None = None) -> float:  # noqa: ARG002
        offset, scale = self.agreed.numbers[-1, :2]
        return float(offset + scale * dot(self.w, self.z(x)))

    def learn(  # type: ignore[override]
        self,
        x: list[Any],
        y: float,
        time: float | None = None,  # noqa: ARG002 (tiny_device.py has one)
    ) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            measured, numbers = np.array([*x, y], dtype=F), self.agreed.numbers
            within = (measured >= numbers[:, 2]) & (measured <= numbers[:, 3])
            z = self.z(x)
            error = (measured[-1] - numbers[-1, 0]) / numbers[-1, 1] - dot(self.w, z)
        finite = np.abs(np.append(measured, error)) < _FAR
        if not (within.all() and finite.all()):
            self.level.passed_over()
            self.passed_over += 1
            return False
        self.level.learned(error)
        self.news = self.sweep()
        with np.errstate(over="ignore", invalid="ignore"):
            error = self.counted32(error)
            if self.agreed.learner == TWO_SPEED_LEARNER:
                self.two_speed(z, error)
            else:
                self.w = self.w + self.agreed.step_size * error * z
        if not (np.abs(self.w) <= F(1e6)).all():
            self.begin()
            self.joined = False
            self.restarts += 1
        return True

    def counted32(self, e: np.float32) -> np.float32:
        bound, size = self.agreed.bound, abs(e)
        if e == 0 or not self.agreed.learner:
            return e
        known = sorted(self.errors)
        usual: Any = size
        if known:
            usual = F(0.5) * (known[(len(known) - 1) // 2] + known[len(known) // 2])
        self.errors = [*self.errors, size][-16:]
        most = bound * usual
        return F(np.copysign(most, e)) if bound > 0 and size > most else e

    def two_speed(self, z: Floats32, error: np.float32) -> None:
        believed = self.trust[0]
        ahead = dot(self.lead, z)
        missing = error + believed * ahead
        slow_step = self.agreed.step_size * missing
        quick_step = (missing - ahead) / max(dot(z, z), F(1e-12)) - slow_step
        _, product, square, count = self.trust
        product = F(0.99) * product + missing * ahead
        square = F(0.99) * square + ahead * ahead
        count = F(0.99) * count + F(1)
        best = product / square if square > 0 else F(1)
        part = (count * best + F(4)) / (count + F(4))
        part = part if part > 0 else F(0)
        self.trust = [part if part < 1 else F(1), product, square, count]
        slow = self.w - believed * self.lead + slow_step * z
        self.lead = self.agreed.forgetting * (self.lead + quick_step * z)
        self.w = slow + self.trust[0] * self.lead

    # Messages

    def receive(self, message: bytes, at: float) -> list[int]:
        if not self.is_sane(message):
            return []
        return super().receive(message, at)

    def is_sane(self, message: bytes) -> bool:
        """What tiny_device.py, which is for a server that can be trusted, does not look at."""
        if len(message) < 6 or (message[0] & 15 == 4 and (len(message) > 6 or any(message[2:6]))):
            return False
        body = message[7 if message[0] & 15 == 1 else 6 :]
        few_bits = message[0] & 15 == 1 and self.agreed.down_bits < 32
        if message[0] & 15 not in (1, 3) or len(body) % 4 or few_bits:
            return True
        return bool((np.abs(np.frombuffer(body, "<f4")) <= F(1e6)).all())

    def _block(self, tick: int) -> bytes:
        bits, shared = self.agreed.bits, self.agreed.shared
        if bits == 32:
            return super()._block(tick)
        values = self.w[window(self.m, self.device, tick, up=True)]
        scale, most = np.abs(values).max() * F(1.00000012), 2 ** (bits - 1) - 1
        number = 0
        for i, value in enumerate(values):
            word = philox([*self.agreed.key], [i // 4, self.device, tick, 0])[i % 4]
            chance = F(word >> 8) * F(2.0**-24)
            size = min(int(F(most) * abs(value) / scale + chance), most) if scale > 0 else 0
            number = number << bits | most + (size if value > 0 else -size)
        used = shared * bits
        length = (used + 7) // 8
        return bytes(scale.tobytes()) + (number << 8 * length - used).to_bytes(length, "big")

    def _values(self, block: bytes) -> Any:
        bits, shared = self.agreed.down_bits, self.agreed.shared
        if bits == 32 or super()._values(block) is None:
            return super()._values(block)
        scale, most = np.frombuffer(block[:4], "<f4")[0], 2 ** (bits - 1) - 1
        spare = 8 * (len(block) - 4) - bits * shared
        number = int.from_bytes(block[4:], "big")
        found = [number >> spare + bits * (shared - 1 - i) & 2**bits - 1 for i in range(shared)]
        with np.errstate(over="ignore", invalid="ignore"):
            values = scale * (np.array(found, dtype=F) - F(most)) / F(most)
        if not scale < F(3.4e38) or not (np.abs(values) <= F(1000000.95)).all():
            return None
        return np.clip(values, F(-1e6), F(1e6))

    def _model(self, tick: int, values: Any, at: float) -> None:
        joined, lost = self.joined, self._lost()
        super()._model(tick, values.astype(F), at)
        if lost:
            self.doubt_ends = at + self.doubt * self.m["tick_seconds"]
        if not joined:
            self.lead[:] = 0

    def _reply(self, tick: int, age: int, values: Any, at: float) -> list[int]:
        own, heard, merged = self.w.copy(), self.agreed.heard, self.merged
        confirmed = super()._reply(tick, age, values.astype(F), at)
        self.w[heard:] = own[heard:]
        if self.merged > merged:
            places = window(self.m, self.device, tick, up=False)
            self.lead[[place for place in places if place < heard]] = 0
        return confirmed

    def tick(self, at: float) -> int:
        return -1 if self.clock is None else min(super().tick(at), 2**32 - 1)
