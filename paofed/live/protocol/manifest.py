"""What a fleet has agreed on: all a device needs to take part, as JSON."""

import json
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from paofed.algorithms import Algorithm, algorithm
from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap, draw_map
from paofed.core.parts import Learner, ServerRule
from paofed.core.random import key_of
from paofed.core.rules import Newest
from paofed.core.selection import Windows
from paofed.errors import InputError, unknown

SERVED = ("pao-fed-c1", "pao-fed-u1", "pao-fed-c2", "pao-fed-u2", "online-fedsgd")
_WHY_NOT = {
    "pao-fed-c0": "it sends back the window it has just received, which takes two round trips",
    "pao-fed-u0": "it sends back the window it has just received, which takes two round trips",
    "pso-fed": "its server picks who takes part before any contact",
    "online-fed": "its server picks who takes part before any contact",
}
LONGEST_AGE = 200  # an age travels in one byte, with room for clocks that are ahead
_FAR = 1e300  # where numbers end that people mean
_PROBE_TOLERANCE = 1e-5  # libraries differ in the last bits of a cosine
_MOST_FEATURES = 1_000_000
_KERNELS = (1e-6, 1e6)  # narrower, and the map's numbers overflow
_SHORTEST_TICK = 0.001
_PROBE_DIGITS = 6  # more would only make the manifest longer


class ManifestError(InputError):
    """A manifest that cannot be followed."""


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """One number as a device measures it, and as the model sees it: (x - offset) / scale."""

    name: str
    offset: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check("name of a number", _is_name(self.name), self.name, 'text without , or "')
        for value in (self.offset, self.scale):
            right = type(value) in (int, float) and abs(value) < _FAR
            _check(f"scaling of {self.name}", right, value, "a finite number")
        _check(f"scale of {self.name}", self.scale > 0, self.scale, "a number above 0")


class ServedParts(NamedTuple):
    """The parts of a method, each of which says that a live fleet may use it."""

    downlink: Windows
    uplink: Windows
    learner: Learner
    server: Newest | ServerRule


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Numbers and names only; both sides derive the rest."""

    algorithm: str
    features: int
    shared: int
    kernel_width: float
    seed: int  # of the Fourier map, and of what the method draws
    step_size: float
    max_age: int
    tick_seconds: float
    start: float  # seconds since 1970: when tick 0 began
    epoch: int  # generation of the manifest, modulo 256
    inputs: tuple[Scaling, ...]
    target: Scaling

    def __post_init__(self) -> None:
        _check("algorithm", isinstance(self.algorithm, str), self.algorithm, "a name")
        for name in ("features", "shared", "max_age", "seed", "epoch"):
            _check(name, type(getattr(self, name)) is int, getattr(self, name), "a whole number")
        for name in ("kernel_width", "tick_seconds", "start", "step_size"):
            value = getattr(self, name)
            right = type(value) in (int, float) and 0 < value < _FAR
            _check(name, right, value, "a finite number above 0")
        narrowest, widest = _KERNELS
        right = narrowest <= self.kernel_width <= widest
        _check("kernel_width", right, self.kernel_width, f"{narrowest:g} to {widest:g}")
        most = _MOST_FEATURES
        _check("features", 1 <= self.features <= most, self.features, f"1 to {most:,}")
        shortest = _SHORTEST_TICK
        right = self.tick_seconds >= shortest
        _check("tick_seconds", right, self.tick_seconds, f"at least {shortest} seconds")
        _check("epoch", 0 <= self.epoch < 256, self.epoch, "0 to 255")
        _check("seed", 0 <= self.seed < 2**64, self.seed, "0 to 2^64 - 1")
        _check("max_age", 0 <= self.max_age <= LONGEST_AGE, self.max_age, f"0 to {LONGEST_AGE}")
        _check("inputs", len(self.inputs) >= 1, self.inputs, "at least one input")
        names = [scaling.name for scaling in (*self.inputs, self.target)]
        _check("list of names", len(set(names)) == len(names), names, "each one once")
        size = self.parts.uplink.size(self.features)
        _check("shared", self.shared == size, self.shared, f"{size} for {self.algorithm}")

    @cached_property
    def row(self) -> Algorithm:
        """The algorithm, as one exchange per contact."""
        if self.algorithm not in SERVED:
            if self.algorithm in _WHY_NOT:
                raise ManifestError(
                    f"{self.algorithm} cannot be served: {_WHY_NOT[self.algorithm]} "
                    f"(served: {', '.join(SERVED)})"
                )
            raise ManifestError(unknown("algorithm", self.algorithm, SERVED))
        shared = None if self.algorithm == "online-fedsgd" else self.shared
        row = algorithm(
            self.algorithm,
            shared=shared,
            step_size=self.step_size,
            max_age=self.max_age,
            exchange="live",
        )
        return replace(row, name=self.algorithm)  # the options are the manifest's own

    @cached_property
    def parts(self) -> ServedParts:
        """The algorithm's parts; one that does not say that it is served is refused."""
        parts = {name: getattr(self.row, name) for name in ServedParts._fields}
        for name, part in parts.items():
            if not part.served:
                raise ManifestError(
                    f"{self.algorithm} cannot be served: its {name} does not say that it can be "
                    f"(`served` of {type(part).__name__})"
                )
        return ServedParts(**parts)

    @cached_property
    def fourier_map(self) -> FourierMap:
        """The map, drawn from the seed on either side."""
        return draw_map(
            key_of(self.seed),
            inputs=len(self.inputs),
            features=self.features,
            width=self.kernel_width,
        )

    def scaled(self, x: FloatArray) -> FloatArray:
        """Inputs as the model sees them, of shape (..., d)."""
        offset = np.array([s.offset for s in self.inputs])
        scaled: FloatArray = (x - offset) / np.array([s.scale for s in self.inputs])
        return scaled

    def to_json(self) -> str:
        """Write it, with z of three fixed inputs: both sides must have drawn the same map."""
        probes = np.round(self.probes(), _PROBE_DIGITS).tolist()
        return json.dumps({**asdict(self), "probes": probes})

    def probes(self) -> FloatArray:
        """Map three fixed inputs, (3, D)."""
        x = np.linspace(-1.0, 1.0, 3)[:, None] * np.ones(len(self.inputs))
        return self.fourier_map(x)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read it and check that the map is the same here."""
        try:
            values: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ManifestError(f"the manifest is not JSON: {error}") from None
        if not isinstance(values, dict):
            raise ManifestError("the manifest is not a JSON object")
        probes = values.pop("probes", None)
        known = {field.name for field in fields(cls)}
        for key in values:
            if key not in known:
                raise ManifestError(unknown("manifest key", key, known))
        for key in known - set(values):
            raise ManifestError(f"the manifest has no {key!r}")
        try:
            values["inputs"] = tuple(Scaling(**scaling) for scaling in values["inputs"])
            values["target"] = Scaling(**values["target"])
        except TypeError as error:
            raise ManifestError(f"the manifest's scaling cannot be read: {error}") from None
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


def _is_name(value: object) -> bool:
    """Whether a name can stand in the header of a table."""
    text = value if isinstance(value, str) else ""
    return text.isprintable() and text == text.strip() != "" and not set(text) & set(',"')


def _check(name: str, right: bool, got: object, expected: str) -> None:  # noqa: FBT001
    if not right:
        raise ManifestError(f"the manifest's {name} is {got!r}: expected {expected}")
