"""A device written from docs/live.md alone ("Writing a device"): NumPy and no paofed.

It shows that the page says enough. What it computes is compared with docs/vectors.
"""

import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.live.tiny_columns import is_of_time, lags, numbers, width

Floats = NDArray[np.float64]
Json = dict[str, Any]
UPDATE, REPLY, HELLO, MODEL, REREAD, READ = range(6)
_A, _B, _C, _E = (
    [3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3],
    [1, 4.2313330701600911252e1, 6.8718700749205790830e2,
     5.3941960214247511077e3, 2.1213794301586595867e4, 3.9307895800092710610e4,
     2.8729085735721942674e4, 5.2264952788528545610e3],
    [1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4],
    [1, 2.05319162663775882187e0, 1.67638483018380384940e0,
     6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
     5.47593808499534494600e-4, 1.05075007164441684324e-9],
)  # fmt: skip


# The Fourier map


def philox(key: list[int], counter: list[int]) -> list[int]:
    (k0, k1), (c0, c1, c2, c3) = key, counter
    for _ in range(10):
        (h0, l0), (h1, l1) = divmod(0xD2511F53 * c0, 2**32), divmod(0xCD9E8D57 * c2, 2**32)
        c0, c1, c2, c3 = h1 ^ c1 ^ k0, l1, h0 ^ c3 ^ k1, l0
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return [c0, c1, c2, c3]


def words(seed: int, count: int, purpose: int) -> list[int]:
    key = [seed % 2**32, seed // 2**32]
    return [philox(key, [j // 4, 0, 0, purpose])[j % 4] for j in range(count)]


def polynomial(coefficients: list[float], x: float) -> float:
    return sum(c * x**power for power, c in enumerate(coefficients))


def normal(word: int) -> float:
    q = word * 2.0**-32 + (2.0**-33 - 0.5)
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * polynomial(_A, r) / polynomial(_B, r)
    t = math.sqrt(-math.log(0.5 - abs(q))) - 1.6
    return math.copysign(polynomial(_C, t) / polynomial(_E, t), q)


class Map:
    def __init__(
        self,
        seed: int,
        inputs: int,
        features: int,
        width: float,
        linear: list[list[float]] | None = None,
    ) -> None:
        self.linear = linear
        waves = features if linear is None else features - inputs - 1
        numbers = [normal(word) for word in words(seed, inputs * waves, 0)]
        self.frequencies = np.array(numbers).reshape(inputs, waves) / width
        self.phases = 2 * math.pi * np.array(words(seed, waves, 1)) * 2.0**-32

    def z(self, x: Floats) -> Floats:
        waves = np.cos(x @ self.frequencies + self.phases)
        if self.linear is None:
            return np.asarray(math.sqrt(2 / waves.size) * waves)
        low, high = np.array(self.linear).T
        terms = (2 * np.clip(x, low, high) - low - high) / (high - low)
        terms = np.append(terms, 1.0) / math.sqrt(x.size + 1)
        return np.array([*(math.sqrt(1 / waves.size) * waves), *terms])


def window(manifest: Json, device: int, tick: int, *, up: bool) -> list[int]:
    algorithm, features, shared = (manifest[n] for n in ("algorithm", "features", "shared"))
    ahead = 1 if up and algorithm != "online-fedsgd" else 0
    further = 0 if algorithm in ("pao-fed-c1", "pao-fed-c2", "online-fedsgd") else device
    start = shared * (tick + ahead + further) % features
    return [(start + i) % features for i in range(shared)]


# Values of few bits


def child(key: list[int], a: int, b: int = 0, c: int = 0) -> list[int]:
    return philox(key, [a, b, c, 2**32 - 1])[:2]


def chances(seed: int, device: int, tick: int, count: int, *, up: bool) -> list[float]:
    method = child(child([seed % 2**32, seed // 2**32], 0), 0, 3)
    key = child(method, 0 if up else 1)
    return [philox(key, [i // 4, device, tick, 0])[i % 4] * 2.0**-32 for i in range(count)]


def block_of(values: list[float], bits: int, u: list[float]) -> bytes:
    s = 2 ** (bits - 1) - 1
    scale = float(np.float32(max(map(abs, values)) * (1 + 2.0**-23)))
    number = 0
    for value, chance in zip(values, u, strict=True):
        size = min(int(s * abs(value) / scale + chance), s) if scale > 0 else 0
        number = number << bits | s + (size if value > 0 else -size)
    used = len(values) * bits
    length = (used + 7) // 8
    return struct.pack("<f", scale) + (number << 8 * length - used).to_bytes(length, "big")


def values_of(block: bytes, bits: int, count: int) -> list[float] | None:
    s, (scale,) = 2 ** (bits - 1) - 1, struct.unpack_from("<f", block)
    spare = 8 * (len(block) - 4) - bits * count
    number = int.from_bytes(block[4:], "big")
    found = [number >> spare + bits * (count - 1 - i) & 2**bits - 1 for i in range(count)]
    if not 0 <= scale < math.inf or max(found) > 2 * s or number & 2**spare - 1:
        return None
    return [scale * (one - s) / s for one in found]


# The level


class Level:
    def __init__(self) -> None:
        self.n, self.s, self.p = 0, 0.0, 0.0

    def learned(self, e: float) -> None:
        self.n = min(self.n + 1, 32)
        self.s += (min(e * e, 1e30) - self.s) / self.n
        self.p -= self.p / 32

    def passed_over(self) -> None:
        self.p += (1 - self.p) / 32

    def byte(self) -> int:
        if self.p > 1 / 24:
            return 255
        if self.n == 0:
            return 0
        return min(max(round(128 + 10 * math.log10(max(self.s, 1e-30)) / 0.75), 1), 254)


# The device


class Waiting:
    """An update that is not confirmed."""

    def __init__(self, tick: int, values: bytes, level: int) -> None:
        self.tick, self.values, self.level, self.left = tick, values, level, tick
        self.carried: set[int] | None = None


class TinyDevice:
    def __init__(self, manifest: Json, device: int) -> None:
        self.device = device
        self.level = Level()
        self.stamped = -1
        self.joined, self.news = False, 0
        self.w = begun(manifest)
        self.errors: list[float] = []
        self.follow(manifest)

    def follow(self, manifest: Json) -> None:
        self.m = manifest
        scaled = [{"transform": "number", **number} for number in manifest["inputs"]]
        self.columns = manifest["seen"]["inputs"] if "seen" in manifest else scaled
        self.target = manifest["seen"]["target"] if "seen" in manifest else manifest["target"]
        self.past: dict[tuple[int, str], float] = {}
        seen = sum(width(column) for column in self.columns)
        self.map = Map(
            manifest["seed"],
            seen,
            manifest["features"],
            manifest["kernel_width"],
            manifest.get("linear"),
        )
        rows = [self.map.z(np.full(seen, x)) for x in (-1.0, 0.0, 1.0)]
        assert np.abs(np.array(manifest["probes"]) - rows).max() <= 1e-5
        self.waiting: list[Waiting] = []
        self.clock: tuple[int, float] | None = None
        self.merged = -1
        self.unanswered = 0
        self.doubt_ends = -math.inf
        self.outdated = False

    def adopt(self, manifest: Json) -> None:
        old, untold = self.m, self.news or self.waiting
        self.follow(manifest)
        self.news = self.sweep() if untold else 0
        if meaning(old) != meaning(manifest):
            self.w, self.joined = begun(manifest), False
        if old["lineage"] != manifest["lineage"]:
            self.joined = False
        if not self.joined:
            self.level, self.errors = Level(), []

    def restart(self) -> None:
        merged, waiting, past = self.merged, self.waiting, self.past
        self.follow(self.m)
        self.merged, self.waiting, self.past = merged, waiting, past
        for update in waiting:
            update.carried = set()

    # Samples

    def _z(self, x: list[Any], time: float | None) -> Floats | None:
        now: Json = {i["name"]: value for i, value in zip(self.m["inputs"], x, strict=True)}
        seen: list[float] = []
        for column in self.columns:
            values: list[Any] = []
            for lag in lags(column):
                if is_of_time(column):
                    values.append(time)
                elif lag == 0:
                    values.append(now[column["name"]])
                elif (self.tick_of(time) - lag, column["name"]) in self.past:
                    values.append(self.past[self.tick_of(time) - lag, column["name"]])
                else:
                    return None
            seen += numbers(column, values)
        return self.map.z(np.array(seen))

    def tick_of(self, time: float | None) -> int:
        assert time is not None
        begin = self.m["start"] if self.m["from_time"] is None else self.m["from_time"]
        return int(self.m["from_tick"] + (time - begin) // self.m["tick_seconds"])

    def predict(self, x: list[Any], time: float | None = None) -> float | None:
        z = self._z(x, time)
        if z is None:
            return None
        offset, scale = self.target.get("offset", 0.0), self.target.get("scale", 1.0)
        plain = float(offset + scale * (self.w @ z))
        return math.expm1(plain) if self.target.get("logarithm") else plain

    def learn(self, x: list[Any], y: float, time: float | None = None) -> None:
        self._learn(x, y, time)
        self.remember(x, y, time)

    def remember(self, x: list[Any], y: float | None, time: float | None) -> None:
        deepest = max(lag for column in self.columns for lag in lags(column))
        if deepest == 0:
            return
        tick = self.tick_of(time)
        for number, value in zip([*self.m["inputs"], self.m["target"]], [*x, y], strict=True):
            if isinstance(value, float) and plausible(number, value):
                self.past[tick, number["name"]] = value
        self.past = {key: v for key, v in self.past.items() if abs(key[0] - tick) <= deepest}

    def _learn(self, x: list[Any], y: float, time: float | None) -> None:
        measured = zip([*self.m["inputs"], self.m["target"]], [*x, y], strict=True)
        if not all(isinstance(v, str) or plausible(number, v) for number, v in measured):
            self.level.passed_over()
            return
        z = self._z(x, time)
        if z is None:
            return
        (seen,) = numbers({"transform": "number", **self.target}, [y])
        e = seen - float(self.w @ z)
        self.level.learned(e)
        self.news = self.sweep()
        self.w = self.w + self.m["step_size"] * self._counted(e) * z
        if not np.abs(self.w.astype("<f4")).max() <= 1e6:
            self.w, self.joined, self.errors = begun(self.m), False, []

    def _counted(self, e: float) -> float:
        if self.m["bound"] is None or e == 0:
            return e
        usual = float(np.median(self.errors)) if self.errors else abs(e)
        self.errors = [*self.errors, abs(e)][-16:]
        most: float = self.m["bound"] * usual
        return min(max(e, -most), most)

    # Messages

    def sweep(self) -> int:
        updates: int = math.ceil(self.m["features"] / self.m["shared"])
        return min(updates, 254)

    def _keep(self, updates: list[Waiting]) -> None:
        if len(updates) < len(self.waiting):
            self.news = self.sweep()
        self.waiting = updates

    def tick(self, at: float) -> int:
        assert self.clock is not None
        return self.clock[0] + max(int((at - self.clock[1]) / self.m["tick_seconds"]), 0)

    def _lost(self) -> bool:
        return self.clock is None or self.unanswered > self.m["max_age"] + 5

    def contact(self, at: float, patience: int = 1) -> bytes | None:
        if self._lost() or not self.joined:
            self.unanswered += 1
            return struct.pack("<BBI", 2 << 4 | HELLO, self.m["epoch"], 0)
        now = self.tick(at)
        self._keep([u for u in self.waiting if now - u.tick <= self.m["max_age"]])
        if self.news and now > self.stamped:
            self._keep(self.waiting[-3:])
            self.stamped, self.news = now, self.news - 1
            self.waiting = [*self.waiting, Waiting(now, self._block(now), self.level.byte())]
        if not self.waiting and now <= self.merged:
            return None
        self.unanswered += 1
        if not self.waiting:
            return struct.pack("<BBIB", 2 << 4 | READ, self.m["epoch"], 0, self.level.byte())
        *others, head = self.waiting
        repeats = [update for update in others if now - update.left >= patience]
        for update in repeats:
            update.left = now
        carried = {head.tick}
        if at >= self.doubt_ends:
            carried |= {update.tick for update in repeats}
        head.carried = carried if head.carried is None else head.carried & carried
        message = struct.pack("<BBIB", 2 << 4 | UPDATE, self.m["epoch"], head.tick, head.level)
        message += head.values
        for update in repeats:
            message += bytes([head.tick - update.tick, update.level]) + update.values
        return message

    def receive(self, message: bytes, at: float) -> list[int]:
        first, epoch, tick = struct.unpack_from("<BBI", message)
        kind, body = first & 15, message[6:]
        if first >> 4 != 2:
            return []
        if kind == REREAD:
            self.outdated = self.outdated or epoch != self.m["epoch"]
        if epoch != self.m["epoch"]:
            return []
        if kind == MODEL and len(body) == 4 * self.m["features"]:
            self._model(tick, np.frombuffer(body, "<f4").astype(float), at)
        values = self._values(body[1:]) if kind == REPLY else None
        return [] if values is None else self._reply(tick, body[0], values, at)

    def _bits(self, name: str, usual: int) -> int:
        few = self.m["algorithm"] == "quantised"
        return int(self.m.get("options", {}).get(name, usual)) if few else 32

    def _block(self, tick: int) -> bytes:
        values, bits = self.w[window(self.m, self.device, tick, up=True)], self._bits("bits", 8)
        if bits == 32:
            return bytes(values.astype("<f4").tobytes())
        u = chances(self.m["seed"], self.device, tick, values.size, up=True)
        return block_of(values.tolist(), bits, u)

    def _values(self, block: bytes) -> Floats | None:
        shared, bits = self.m["shared"], self._bits("down_bits", 32)
        if len(block) != (4 * shared if bits == 32 else 4 + (shared * bits + 7) // 8):
            return None
        if bits == 32:
            return np.frombuffer(block, "<f4").astype(float)
        values = values_of(block, bits, shared)
        return None if values is None else np.clip(values, -1e6, 1e6)

    def _model(self, tick: int, values: Floats, at: float) -> None:
        if self._lost():
            self._set_clock(tick, at)
            self._keep([update for update in self.waiting if update.tick <= tick])
            self.stamped, self.merged = min(self.stamped, tick), min(self.merged, tick)
            self.doubt_ends = at + 256 * self.m["tick_seconds"]
        elif tick > self.tick(at):
            self._set_clock(tick, at)
        if not self.joined:
            self.w, self.joined, self.news = values, True, 0
        self.unanswered = 0

    def _reply(self, tick: int, age: int, values: Floats, at: float) -> list[int]:
        self.unanswered = 0
        answers = tick - (age if age < 240 else age - 256)
        heads = [update for update in self.waiting if update.tick == answers]
        carried = heads[0].carried or set() if heads else set()
        confirmed = [
            u.tick for u in self.waiting if u.tick in carried and u.tick >= tick - self.m["max_age"]
        ]
        self.waiting = [update for update in self.waiting if update.tick not in confirmed]
        if tick > self.merged:
            self.w = self.w.copy()
            self.w[window(self.m, self.device, tick, up=False)] = values
            self.merged = tick
            if answers > tick:
                self._set_clock(tick, at)
        if tick > self.tick(at):
            self._set_clock(tick, at)
        return confirmed

    def _set_clock(self, tick: int, at: float) -> None:
        self.clock = tick, at
        for update in self.waiting:
            update.left = min(update.left, tick)


def plausible(number: Json, value: float) -> bool:
    low, high = number["low"], number["high"]
    return (low is None or value >= low) and (high is None or value <= high)


def meaning(manifest: Json) -> list[Any]:
    """What a model's parameters depend on."""
    numbers = [*manifest["inputs"], manifest["target"]]
    named = [(number["name"], number["offset"], number["scale"]) for number in numbers]
    others = ("features", "kernel_width", "seed", "seen", "linear")
    return [*(manifest.get(name) for name in others), named]


def begun(manifest: Json) -> Floats:
    start = manifest.get("start_model", [0.0] * manifest["features"])
    return np.array(start, dtype="<f4").astype(float)
