"""What a whole method promises, in every engine that takes it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from paofed.algorithms import Algorithm
from paofed.checks.cases import KEYS, small_nature
from paofed.core.arrays import BoolArray, FloatArray
from paofed.core.parts import Channel, Part, Stamp, float_bytes
from paofed.core.traffic import Traffic
from paofed.simulate.engines import ENGINES, LAST, engine_of
from paofed.world.trace import Trace


def _engines(alg: Algorithm) -> list[str]:
    """Return the names of the engines that can run this algorithm."""
    return [name for name in ENGINES if engine_of(name).refuses(alg) is None]


def _nobody_there(alg: Algorithm, features: int) -> str | None:
    silent = engine_of(LAST).replay(small_nature(features, available=0.0), alg)
    if silent.server_model.any() or silent.traffic.any():
        return "nobody was ever available, and yet something was learned or sent"
    return None


class _Counter:
    """Counts what a channel sends, and in how many bytes, independently of the engines."""

    def __init__(self, channel: Any) -> None:
        self.coordinates = self.payload = 0
        self.links: set[tuple[int, int]] = set()  # client and tick of every message
        self._channel = channel
        self.twin = Channel(
            send=self.send,
            init=channel.init,
            encode=self.encode,
            decode=self._decode,
            waives=channel.waives,
        )

    def send(self, w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
        """Send what the channel sends."""
        sent: tuple[Part, Any] = self._channel.send(w, memory, stamp)
        self._last = sent[0]
        return sent

    def encode(self, part: Part, stamp: Stamp) -> Any:
        """Make the channel's bytes and count them."""
        plain = self._channel.encode is None
        payload = float_bytes(part.values) if plain else self._channel.encode(part, stamp)
        self.coordinates += part.coordinates.size
        self.links.add((stamp.client, stamp.tick))
        self.payload += len(payload.tobytes())
        return payload

    def _decode(self, payload: Any, stamp: Stamp) -> Part:
        if self._channel.encode is None:
            return self._last  # as simulators do: they keep all digits of plain values
        part: Part = self._channel.decode(payload, stamp)
        return part


def _made(alg: Algorithm, trace: Trace) -> Traffic:
    """Return the traffic of a run, counted by a `_Counter` around each channel."""
    up, down = _Counter(alg.uplink), _Counter(alg.downlink)
    if alg.exchange == "live":  # every message counts one answer, also one that never comes
        engine_of(LAST).replay(trace, replace(alg, uplink=up.twin))
        for k, n in up.links:
            stamp = Stamp(k, n, trace.features, KEYS.down)
            down.encode(down.send(np.zeros(trace.features), (), stamp)[0], stamp)
    else:
        engine_of(LAST).replay(trace, replace(alg, uplink=up.twin, downlink=down.twin))
    return Traffic(
        coordinates_up=up.coordinates,
        coordinates_down=down.coordinates,
        messages_up=len(up.links),
        messages_down=len(down.links),
        payload_up=up.payload,
        payload_down=down.payload,
        contacts=len(up.links | down.links),
    )


def _counted(alg: Algorithm, features: int) -> str | None:
    """Compare every engine's counts with those of `_made`."""
    trace = small_nature(features)
    expected = _made(alg, trace)
    for name in _engines(alg):
        counts = engine_of(name).replay(trace, alg).traffic[:, -1].tolist()
        for what, found, made in zip(Traffic._fields, counts, expected, strict=True):
            if found != made:
                return f"the {name} engine counts {found} {what.replace('_', ' ')}: expected {made}"
    return None


def _close(found: FloatArray, expected: FloatArray) -> BoolArray:
    """Whether two numbers agree within rounding; NaN agrees with NaN."""
    return np.isclose(found, expected, rtol=1e-9, atol=1e-9, equal_nan=True)


def _engines_agree(alg: Algorithm, features: int) -> str | None:
    trace = small_nature(features)
    expected = engine_of(LAST).replay(trace, alg)
    # The reference engine runs a second time too: if an algorithm's functions hide state, the
    # second run differs.
    for name in _engines(alg):
        outcome = engine_of(name).replay(trace, alg)
        apart = np.flatnonzero(~_close(outcome.mse, expected.mse))
        if apart.size:
            return f"the {name} engine leaves the reference at tick {apart[0]}"
        if not _close(outcome.server_model, expected.server_model).all():
            return f"the {name} engine ends in another model than the reference"
        if not np.array_equal(outcome.traffic, expected.traffic):
            return f"the {name} engine counts other traffic than the reference"
    return None


PROMISES: Mapping[str, Any] = {
    "nothing in, nothing out": _nobody_there,
    "traffic counted": _counted,
    "engines agree": _engines_agree,
}
