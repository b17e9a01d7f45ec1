"""What a fleet has agreed on, as the device in C takes it: whole numbers and float32."""

import json
import zlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.algorithms.rivals.channels.quantised import PLAIN, as_quantised
from paofed.core.arrays import FloatArray
from paofed.core.features import linear_terms
from paofed.core.learners import FORGETFUL, chosen
from paofed.core.parts import Channel
from paofed.core.random import key_of
from paofed.core.selection import Windows
from paofed.device_c.columns import SeenInC, limits_in_c, number_in_c, seen_in_c
from paofed.errors import InputError
from paofed.live.protocol.manifest import Manifest
from paofed.words import counted

Floats32 = NDArray[np.float32]
TWO_SPEED = "two-speed"
LMS_LEARNER, BOUNDED_LEARNER, TWO_SPEED_LEARNER = range(3)  # as paofed.h numbers them
_MOST_FEATURES = 2**15 - 1  # so that the start of a window can be computed in 32 bits
# Milliseconds: with two weeks, still less than half the range of 32 bits.
_LONGEST_TICK = 7 * 86_400_000
# Members of a manifest that a device in C reads from its text, or does not need.
_CAN_CHANGE = {
    *("epoch", "lineage", "from_tick", "from_time", "clip", "aside", "first_interval"),
    "probes",  # probes follow from the other members
}
_PROBE_TOLERANCE = 1e-5  # of the manifest's probes, as docs/live.md has it


@dataclass(frozen=True, eq=False, kw_only=True)
class AgreedInC:
    """The fields of `struct paofed_agreed` in paofed.h by name, and what else a header has."""

    features: int
    shared: int
    inputs: int
    sees: int
    waves: int
    heard: int
    epoch: int
    max_age: int
    ahead: int
    coordinated: int
    learner: int
    bits: int
    down_bits: int
    tick_ms: int
    lineage: int
    meaning: int
    fleet: int
    rules: int
    step_size: np.float32
    bound: np.float32
    forgetting: np.float32
    wave_scale: np.float32
    constant: np.float32
    frequency_scale: np.float32
    key: tuple[int, int]
    seed: tuple[int, int]
    frequencies: Floats32 | None  # (d, F), in turns; None: drawn on the device
    phases: Floats32 | None  # (F,), in turns
    start: Floats32 | None  # (D,); None: zeros
    linear: Floats32 | None  # (d, 4): low, high, middle, gain
    numbers: Floats32 | FloatArray  # of inputs and target: offset, scale, low, high
    seen: SeenInC | None  # None: the model sees scaled numbers
    probes: Floats32  # (3, D), which the device needs only once, for its check
    block: int  # bytes of the values in an update

    @property
    def is_two_speed(self) -> bool:
        """Whether the device needs room for a second model."""
        return self.learner == TWO_SPEED_LEARNER

    @property
    def has_few_bits(self) -> bool:
        """Whether values travel in fewer bits than float32."""
        return (self.bits, self.down_bits) != (PLAIN, PLAIN)


def agreed_in_c(
    manifest: Manifest, *, start: FloatArray | None = None, drawn: bool = False
) -> AgreedInC:
    """Translate a manifest; refuse one that the device in C cannot follow.

    `start` is a model to begin with instead of the manifest's own. With `drawn`, the device draws
    the map anew for every sample, which takes time instead of flash.
    """
    _require_followed(manifest)
    _require_map(manifest)
    fourier = manifest.fourier_map
    frequencies, phases, ranges = fourier
    begins_with = manifest.begins_with if start is None else start
    key, terms = key_of(manifest.seed), linear_terms(ranges)
    up, (uplink, downlink) = manifest.up, _windows(manifest)
    seen = seen_in_c(manifest)
    return AgreedInC(
        features=manifest.features,
        shared=manifest.shared,
        inputs=len(manifest.inputs if seen is None else seen.inputs),
        sees=manifest.numbers,
        waves=phases.size,
        heard=manifest.heard,
        epoch=manifest.epoch,
        max_age=manifest.max_age,
        ahead=uplink.ahead,
        coordinated=int(uplink.coordinated),
        learner=_learner(manifest),
        bits=uplink.bits,
        down_bits=downlink.bits,
        tick_ms=round(1000 * manifest.tick_seconds),
        lineage=manifest.lineage,
        meaning=_word(_meaning(manifest)),
        fleet=_word(manifest.start),
        rules=_rules(manifest),
        step_size=np.float32(manifest.step_size),
        bound=np.float32(manifest.bound or 0.0),
        forgetting=np.float32(manifest.forgetting or FORGETFUL[TWO_SPEED].usual),
        wave_scale=np.float32(fourier.fourier_scale),
        constant=np.float32(1 / np.sqrt(terms) if terms else 0.0),
        frequency_scale=np.float32(1 / (2 * np.pi * manifest.kernel_width)),
        key=(up.key.low, up.key.high),
        seed=(key.low, key.high),
        frequencies=None if drawn else _turns(frequencies),
        phases=None if drawn else _turns(phases),
        start=begins_with.astype(np.float32) if begins_with.any() else None,
        linear=_linear(manifest) if terms else None,
        numbers=_numbers(manifest) if seen is None else limits_in_c(manifest, seen),
        seen=seen,
        probes=manifest.probes().astype(np.float32),
        block=up.length,
    )


def can_follow(before: Manifest, after: Manifest) -> bool:
    """Whether a device in C that was built under one manifest goes on under the next."""
    return _rules(before) == _rules(after)


def _require_followed(manifest: Manifest) -> None:
    """Refuse what the device in C does not do."""
    if manifest.code is not None:
        raise InputError(
            f"the fleet follows {manifest.algorithm}, a method of somebody's own: the device in C "
            f"has paofed's own methods alone; let a gateway take part for the device"
        )
    if manifest.learner not in (None, TWO_SPEED):
        size = counted(manifest.features**2, "number")
        raise InputError(
            f"the fleet's learner is {manifest.learner}, which keeps {size} beside the model, too "
            f"many for a microcontroller: expected lms or {TWO_SPEED} (`paofed fleet change`)"
        )
    if manifest.features > _MOST_FEATURES:
        raise InputError(
            f"the fleet's model has {manifest.features} parameters: the device in C takes "
            f"{_MOST_FEATURES} at most"
        )
    milliseconds = 1000 * manifest.tick_seconds
    whole = abs(milliseconds - round(milliseconds)) < 1e-6
    if not whole or not 1 <= milliseconds <= _LONGEST_TICK:
        raise InputError(
            f"a tick of the fleet has {manifest.tick_seconds:g} seconds: the device in C takes a "
            f"whole number of milliseconds, up to seven days (`paofed fleet change --tick`)"
        )


class _WindowsInC(NamedTuple):
    """How windows travel in one direction, as the device in C knows it."""

    coordinated: bool
    ahead: int
    bits: int


def _windows(manifest: Manifest) -> tuple[_WindowsInC, _WindowsInC]:
    """Return how windows travel up and down; refuse channels that the device in C does not know.

    It takes windows down that are not ahead, and of the same kind as those up.
    """
    up, down = map(_window, (manifest.parts.uplink, manifest.parts.downlink))
    if up is None or down is None or (down.coordinated, down.ahead) != (up.coordinated, 0):
        raise InputError(
            f"{manifest.method} has channels that the device in C does not know: expected windows "
            f"as in pao-fed-u1 or quantised; let a gateway take part for the device"
        )
    return up, down


def _window(channel: Windows | Channel) -> _WindowsInC | None:
    if isinstance(channel, Windows):
        return _WindowsInC(channel.coordinated, channel.ahead, PLAIN)
    if (few := as_quantised(channel)) is None:
        return None
    return _WindowsInC(coordinated=False, ahead=few.ahead, bits=few.bits)


def _learner(manifest: Manifest) -> int:
    """Return the number of a learner; refuse one that the device in C does not know."""
    learner = chosen(manifest.parts.learner)
    if learner is None:
        raise InputError(
            f"{manifest.method} has a learner of its own: the device in C knows lms and "
            f"{TWO_SPEED}; let a gateway take part for the device"
        )
    if learner.learner == TWO_SPEED:
        return TWO_SPEED_LEARNER
    return LMS_LEARNER if learner.bound is None else BOUNDED_LEARNER


def _meaning(manifest: Manifest) -> object:
    """Return what `Manifest.means_the_same` compares."""
    kept = manifest.features, manifest.kernel_width, manifest.seed
    seen = () if manifest.seen is None else (manifest.seen,)
    return *kept, manifest.meaning, *seen, manifest.linear


def _rules(manifest: Manifest) -> int:
    """Return the sum of checksums of what matters, as paofed_manifest.c finds it in the JSON."""
    members = json.loads(manifest.to_json())
    texts = [
        json.dumps({name: value}, separators=(",", ":"))[1:-1]
        for name, value in members.items()
        if name not in _CAN_CHANGE
    ]
    return sum(zlib.crc32(text.encode()) for text in texts) % 2**32


def _word(value: object) -> int:
    """Return 32 bits that tell a value from others."""
    return zlib.crc32(repr(value).encode())


def _turns(radians: FloatArray) -> Floats32:
    return (radians / (2 * np.pi)).astype(np.float32)


def _linear(manifest: Manifest) -> Floats32:
    low, high, *_ = manifest.fourier_map.ranges
    gain = 2 / (high - low) / np.sqrt(low.size + 1)
    return np.stack([low, high, (low + high) / 2, gain], axis=1).astype(np.float32)


def _numbers(manifest: Manifest) -> Floats32:
    """Return offset, scale and limits; numbers that float32 cannot hold are refused."""
    measured = (*manifest.inputs, manifest.target)
    with np.errstate(over="ignore"):  # numbers that overflow are refused below
        numbers = np.array([number_in_c(number) for number in measured]).astype(np.float32)
    for number, row in zip(measured, numbers, strict=True):
        if not np.isfinite(row).all() or row[1] <= 0:
            raise InputError(
                f"{number.words} of {number.name} do not fit into 32 bits: the device in C "
                f"needs numbers from 1e-38 to 1e38 in size"
            )
    return numbers


def _require_map(manifest: Manifest) -> None:
    """Refuse a map that float32 cannot compute."""
    off = float(np.abs(_mapped(manifest) - manifest.probes()).max())
    if off > _PROBE_TOLERANCE:
        raise InputError(
            f"with 32 bits the fleet's map is off by {off:.1g}, more than {_PROBE_TOLERANCE:g}: its"
            f" kernel width of {manifest.kernel_width:g} is too small for the device in C"
        )


def _mapped(manifest: Manifest) -> FloatArray:
    """Return the map of the probes with angles of 32 bits."""
    x = np.linspace(-1.0, 1.0, 3, dtype=np.float32)
    angles = np.tile(_turns(manifest.fourier_map.phases), (3, 1))
    for row in _turns(manifest.fourier_map.frequencies):
        angles += x[:, None] * row
    z = manifest.probes()
    waves = manifest.fourier_map.phases.size
    z[:, :waves] = manifest.fourier_map.fourier_scale * np.cos(2 * np.pi * angles.astype(float))
    return z
