"""What a fleet has agreed on: all a device needs to take part, as JSON."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from paofed.algorithms import Algorithm, made
from paofed.core.arrays import FloatArray
from paofed.core.columns.numbers import Number
from paofed.core.features import (
    KERNEL_WIDTHS,
    NO_RANGES,
    FourierMap,
    Ranges,
    draw_map,
    linear_terms,
    require_features,
)
from paofed.core.learners import AGREED
from paofed.core.parts import keys_of
from paofed.core.random import key_of
from paofed.core.scaling import is_above_zero, is_finite, offsets_and_scales, scaled
from paofed.errors import AlgorithmError, InputError, shown, unknown
from paofed.live.protocol.blocks import Blocks
from paofed.live.protocol.level import in_words
from paofed.live.protocol.messages import LARGEST, LAST_TICK, VERSION, Message, decode
from paofed.live.protocol.quantity import ManifestError, Quantity, check
from paofed.live.protocol.seen import Sample, Seen
from paofed.live.protocol.served import (
    SHARED,
    ServedParts,
    is_ours,
    require_options,
    require_served,
    served_names,
    served_parts,
    shapes,
    usual_row,
    word_of,
)

# The bounds of new fleets by default, with which no single device can ruin the model.
USUAL_CLIP, USUAL_BOUND = 6.0, 6.0
LONGEST_AGE = 200  # an age travels in one byte, with room for clocks that are ahead
_PROBE_TOLERANCE = 1e-5  # libraries differ in the last bits of a cosine
_MOST_FEATURES = 1_000_000
_SHORTEST_TICK = 0.001
_PROBE_DIGITS = 6  # digits of a probe: more would only make the manifest longer

# Keys that are written only where they are used, in a manifest of version 3: a device that does not
# know such a key must not take part, and says so. Messages are those of version 2.
_SINCE_3 = ("learner", "forgetting", "seen", "linear", "personal", "start_model", "first_interval",
            "options", "code")  # fmt: skip
_NEWEST = 3
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a fleet has agreed on, in numbers and names; both sides derive the rest."""

    algorithm: str
    features: int
    shared: int
    kernel_width: float
    seed: int  # seed of the Fourier map, and of the numbers that the method draws
    step_size: float
    max_age: int
    tick_seconds: float
    start: float  # seconds since 1970: when tick 0 began
    epoch: int  # generation of the manifest, modulo 256
    inputs: tuple[Quantity, ...]
    target: Quantity
    from_tick: int = 0  # the tick since which ticks have this length
    # When that tick began, in seconds since 1970; None: at `start`, with tick 0.
    from_time: float | None = None
    lineage: int = 0  # how often devices were told to begin from the server's model
    # A difference to the model counts as at most so many usual ones; None: no bound.
    clip: float | None = None
    aside: bool = True  # with `clip`: whether devices far outside are set aside
    # A device's error counts as at most so many usual errors; None: no bound.
    bound: float | None = None
    # How measured values become what the model sees; None: by scaling alone.
    seen: Seen | None = None
    linear: tuple[tuple[float, float], ...] | None = None  # range of each scaled input, if the
    # map has linear terms
    personal: bool | None = None  # True: devices keep their own linear terms; None: they do not
    # The model (D numbers) that all begin with; None: zeros.
    start_model: tuple[float, ...] | None = None
    # Half the width of the first interval, in scales of the target; None: 1.
    first_interval: float | None = None
    learner: str | None = None  # None: LMS
    forgetting: float | None = None  # how much another learner than LMS keeps; None: its default
    options: Mapping[str, float] | None = None  # options of the algorithm alone; None: its defaults
    code: str | None = None  # digest of the algorithm's file; None: the algorithm is paofed's own

    def __post_init__(self) -> None:
        check("algorithm", isinstance(self.algorithm, str), self.algorithm, "a name")
        for name in ("features", "shared", "max_age", "seed", "epoch", "from_tick", "lineage"):
            check(name, type(getattr(self, name)) is int, getattr(self, name), "a whole number")
        for name in ("kernel_width", "tick_seconds", "start", "step_size"):
            value = getattr(self, name)
            check(name, is_above_zero(value), value, "a finite number above 0")
        narrowest, widest = KERNEL_WIDTHS
        right = narrowest <= self.kernel_width <= widest
        check("kernel_width", right, self.kernel_width, f"{narrowest:g} to {widest:g}")
        most = _MOST_FEATURES
        check("features", 1 <= self.features <= most, self.features, f"1 to {most:,}")
        shortest = _SHORTEST_TICK
        right = self.tick_seconds >= shortest
        check("tick_seconds", right, self.tick_seconds, f"at least {shortest} seconds")
        check("epoch", 0 <= self.epoch < 256, self.epoch, "0 to 255")
        check("seed", 0 <= self.seed < 2**64, self.seed, "0 to 2^64 - 1")
        check("max_age", 0 <= self.max_age <= LONGEST_AGE, self.max_age, f"0 to {LONGEST_AGE}")
        check("inputs", len(self.inputs) >= 1, self.inputs, "at least one input")
        right = 0 <= self.from_tick <= LAST_TICK
        check("from_tick", right, self.from_tick, f"0 to {LAST_TICK}")
        right = self.from_time is None or is_finite(self.from_time)
        check("from_time", right, self.from_time, "seconds since 1970, or none")
        check("lineage", self.lineage >= 0, self.lineage, "0 or more")
        for name in ("clip", "bound", "first_interval"):
            value = getattr(self, name)
            right = value is None or is_above_zero(value)
            check(name, right, value, "a number above 0, or none")
        right = self.learner is None or self.learner in AGREED
        check("learner", right, self.learner, f"{', '.join(AGREED)}, or none")
        value = self.forgetting
        right = value is None or (self.learner is not None and is_above_zero(value) and value <= 1)
        check("forgetting", right, value, "above 0 and up to 1 with a learner, or none")
        check("aside", type(self.aside) is bool, self.aside, "true or false")
        right = self.code is None or _DIGEST.fullmatch(str(self.code)) is not None
        check("code", right, self.code, "64 hexadecimal digits, or none")
        names = [number.name for number in (*self.inputs, self.target)]
        check("list of names", len(set(names)) == len(names), names, "each one once")
        if self.seen is not None:
            self.seen.require([number.name for number in self.inputs], self.target.name)
        self._check_beginning()
        self._check_windows()

    def _check_windows(self) -> None:
        up, most = self.up.shared, self.features
        check("shared", self.shared <= most, self.shared, f"at most {most}, the features")
        for size in (up, self.down.shared):
            check("shared", self.shared == size, self.shared, f"{size} for {self.algorithm}")

    def _check_beginning(self) -> None:
        if self.linear is not None:
            right = len(self.linear) == self.numbers and all(map(_is_range, self.linear))
            check(
                "linear",
                right,
                self.linear,
                "[low, high] of each number that is seen, the lower one first",
            )
            try:
                require_features(self.features, self._ranges)
            except InputError as error:
                raise ManifestError(f"{ManifestError.whose}{error}", key=error.key) from None
        right = self.personal is None or (self.personal is True and self.linear is not None)
        check("personal", right, self.personal, "true with linear, or none")
        if self.start_model is not None:
            right = len(self.start_model) == self.features and all(
                is_finite(value) and abs(value) <= LARGEST for value in self.start_model
            )
            what = f"{self.features} numbers of at most {LARGEST:g} in size"
            check("start_model", right, self.start_model, what)

    @property
    def _ranges(self) -> Ranges:
        return NO_RANGES if self.linear is None else Ranges(*np.array(self.linear, dtype=float).T)

    @property
    def heard(self) -> int:
        """How many coordinates, from the first on, a device takes over from a reply."""
        return self.features - (linear_terms(self._ranges) if self.personal else 0)

    @cached_property
    def begins_with(self) -> FloatArray:
        """The model that devices and the server begin with: numbers as they would travel."""
        if self.start_model is None:
            return np.zeros(self.features)
        return np.array(self.start_model, dtype="<f4").astype(np.float64)

    @property
    def word(self) -> str:
        """The algorithm as `made` takes it: its name, or where this machine has its file."""
        return word_of(self.algorithm, self.code)

    @cached_property
    def row(self) -> Algorithm:
        """The algorithm as a record, with one exchange per contact."""
        right = self.code is not None or is_ours(self.algorithm)
        if not right:  # what has no digest may be any code by now
            raise ManifestError(unknown("algorithm", self.algorithm, served_names()))
        require_served(self.word)
        usual = usual_row(self.word)
        whose = "bounds by itself" if usual.server.bounded else "bounds nobody"
        right = self.clip is None or "clip" in usual.can_bound
        check("clip", right, self.clip, f"none for {self.algorithm}, whose rule {whose}")
        options: dict[str, Any] = {"step_size": self.step_size, "max_age": self.max_age}
        if shapes(self.word):
            options[SHARED] = self.shared
        if self.options is not None:
            require_options(self.word, self.options)
            options |= self.options
        if self.clip is not None:
            options |= {"clip": self.clip, "aside": self.aside}
        used = {name: getattr(self, name) for name in ("bound", "learner", "forgetting")}
        options |= {name: value for name, value in used.items() if value is not None}
        try:
            row = made(self.word, {**options, "exchange": "live"})
        except AlgorithmError as error:
            raise ManifestError(str(error), key=error.key) from None
        return replace(row, name=self.method)  # everything else is set from the manifest

    @property
    def method(self) -> str:
        """The algorithm with its options, as one word."""
        said = ",".join(f"{name}={value}" for name, value in (self.options or {}).items())
        return f"{self.algorithm}:{said}" if said else self.algorithm

    @cached_property
    def parts(self) -> ServedParts:
        """The algorithm's parts; an algorithm that is not served is refused."""
        return served_parts(self.row)

    @cached_property
    def up(self) -> Blocks:
        """How devices write the values of a window."""
        return Blocks(self.parts.uplink, self.features, keys_of(self.seed).up)

    @cached_property
    def down(self) -> Blocks:
        """How the server writes the values of a window."""
        return Blocks(self.parts.downlink, self.features, keys_of(self.seed).down)

    @property
    def writing(self) -> object:
        """How devices write values, in plain words that can be compared."""
        return self.row.describe()["uplink"]

    def read(self, data: bytes) -> Message:
        """Read a message of the fleet; raise WireError, and nothing else, for other bytes."""
        sizes = {"shared": self.shared, "features": self.features}
        return decode(data, **sizes, up=self.up, down=self.down)

    @cached_property
    def fourier_map(self) -> FourierMap:
        """The Fourier map, which both sides draw from the seed."""
        return draw_map(
            key_of(self.seed),
            inputs=self.numbers,
            features=self.features,
            width=self.kernel_width,
            ranges=self._ranges,
        )

    @property
    def numbers(self) -> int:
        """How many numbers the model sees."""
        return len(self.inputs) if self.seen is None else self.seen.count

    @cached_property
    def unit(self) -> Number:
        """How the model sees the target."""
        if self.seen is not None:
            return self.seen.target
        return self.target.record

    def error_in_words(self, decibels: float) -> str:
        """Return an error for people: in the target's unit, or in dB where it is a factor."""
        return in_words(decibels, self.target.name, self.error_scale)

    @property
    def error_scale(self) -> float | None:
        """The scale of the target's errors; None where the model sees a logarithm."""
        return None if self.unit.logarithm else self.unit.scale

    def tick_at(self, seconds: float) -> int:
        """Return the tick at a time, in seconds since 1970."""
        return min(max(self.tick_of(seconds), 0), LAST_TICK)

    def tick_of(self, seconds: float) -> int:
        """Return the tick of a sample's time, which may be older than the fleet."""
        return int(self.from_tick + (seconds - self._origin) // self.tick_seconds)

    def begins(self, tick: int) -> float:
        """Return when a tick begins, in seconds since 1970."""
        return self._origin + (tick - self.from_tick) * self.tick_seconds

    @property
    def _origin(self) -> float:
        return self.start if self.from_time is None else self.from_time

    @property
    def next_epoch(self) -> int:
        """Return the epoch of the manifest that replaces this one; an epoch travels in one byte."""
        return (self.epoch + 1) % 256

    @property
    def meaning(self) -> list[tuple[str, float, float]]:
        """The names of a sample's numbers, and how the model sees them."""
        return [number.meaning for number in (*self.inputs, self.target)]

    def means_the_same(self, other: "Manifest") -> bool:
        """Whether a model's parameters mean the same under both manifests."""
        names = ("features", "kernel_width", "seed", "meaning", "seen", "linear")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def is_plausible(self, x: Sample, y: float) -> bool:
        """Whether a sample, as measured, lies within the plausible ranges."""
        return not self.implausible(x, y)

    def implausible(self, x: Sample, y: float) -> str:
        """Say which value of a sample lies outside its plausible range; empty if none does."""
        for number, value in zip((*self.inputs, self.target), (*x, y), strict=True):
            if isinstance(value, str):
                continue
            if not number.is_plausible(value):
                return f"{number.name} is {value:g}: expected {number.limits}"
            if self.seen is not None and self.seen.lacks_logarithm(number.name, value):
                return f"{number.name} is {value:g}: expected more than -1, for its log1p"
        return ""

    def scaled(self, x: FloatArray) -> FloatArray:
        """Return inputs that are numbers alone as the model sees them, of shape (..., d)."""
        return scaled(x, *self._scales)

    @cached_property
    def _scales(self) -> tuple[FloatArray, FloatArray]:
        return offsets_and_scales(self.inputs)

    def to_json(self) -> str:
        """Write the manifest, with z of three fixed inputs, by which both sides compare maps."""
        probes = np.round(self.probes(), _PROBE_DIGITS).tolist()
        values = {**asdict(self), "seen": self.seen and self.seen.to_json()}
        unused = [key for key in _SINCE_3 if values[key] is None]
        wire = VERSION if len(unused) == len(_SINCE_3) else _NEWEST
        kept = {key: value for key, value in values.items() if key not in unused}
        return json.dumps({"wire": wire, **kept, "probes": probes}, separators=(",", ":"))

    def probes(self) -> FloatArray:
        """Map three fixed inputs, (3, D)."""
        x = np.linspace(-1.0, 1.0, 3)[:, None] * np.ones(self.numbers)
        return self.fourier_map(x)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a manifest and check that the map is the same here."""
        try:
            values: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ManifestError(f"the manifest is not JSON: {error}") from None
        if not isinstance(values, dict):
            raise ManifestError("the manifest is not a JSON object")
        wire, probes = values.pop("wire", None), values.pop("probes", None)
        check("wire", type(wire) is int and wire >= VERSION, wire, f"{VERSION} or {_NEWEST}")
        if wire > _NEWEST:
            raise ManifestError(
                f"the fleet speaks wire version {shown(wire)}, this paofed {_NEWEST}: upgrade "
                f"paofed"
            )
        known = {field.name for field in fields(cls)}
        for key in values:
            if key not in known:
                raise ManifestError(f"{unknown('manifest key', key, known)}: upgrade paofed")
        for key in known - set(values) - set(_SINCE_3):
            raise ManifestError(f"the manifest has no {key!r}")
        try:
            values["inputs"] = tuple(Quantity(**number) for number in values["inputs"])
            values["target"] = Quantity(**values["target"])
        except TypeError as error:
            raise ManifestError(f"the manifest's scaling cannot be read: {error}") from None
        for key in ("linear", "start_model"):
            values[key] = _as_tuples(values.get(key))
            check(key, isinstance(values[key], tuple | None), values[key], "a list")
        if "seen" in values:
            values["seen"] = Seen.from_json(values["seen"])
        manifest = cls(**values)
        manifest._compare(probes)
        return manifest

    def _compare(self, probes: object) -> None:
        try:
            theirs = np.asarray(probes, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            theirs = np.empty(0)
        ours = self.probes()
        if theirs.shape != ours.shape or not np.allclose(theirs, ours, 0, _PROBE_TOLERANCE):
            raise ManifestError("the Fourier map drawn here is not the manifest's: upgrade paofed")


def short(w: FloatArray) -> tuple[float, ...]:
    """Return a model as a manifest holds it: numbers with as many digits as travel."""
    return tuple(float(str(value)) for value in w.astype("<f4"))


def _as_tuples(value: object) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def _is_range(pair: object) -> bool:
    if not isinstance(pair, tuple) or len(pair) != 2:
        return False
    return is_finite(pair[0]) and is_finite(pair[1]) and pair[0] < pair[1]
