"""What a whole method promises, in every engine that takes it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from paofed.algorithms import Algorithm
from paofed.checks.cases import small_nature
from paofed.core.arrays import FloatArray
from paofed.core.parts import Channel, Part, Stamp, float_bytes
from paofed.simulate.engines import ENGINES, LAST, engine_of
from paofed.simulate.results.traffic import Traffic


def _engines(alg: Algorithm) -> list[str]:
    """The engines that can run this algorithm."""
    return [name for name in ENGINES if engine_of(name).refuses(alg) is None]


def _nobody_there(alg: Algorithm, features: int) -> str | None:
    silent = engine_of(LAST).replay(small_nature(features, available=0.0), alg)
    if silent.server_model.any() or silent.traffic.any():
        return "nobody was ever available, and yet something was learned or sent"
    return None


class _Counter:
    """A channel's twin that counts what is sent and as how many bytes, by itself."""

    def __init__(self, channel: Any) -> None:
        self.coordinates = self.messages = self.payload = 0
        self._channel = channel
        self.twin = Channel(
            send=self._send, init=channel.init, encode=self._encode, decode=self._decode
        )

    def _send(self, w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
        sent: tuple[Part, Any] = self._channel.send(w, memory, stamp)
        self._last = sent[0]
        return sent

    def _encode(self, part: Part, stamp: Stamp) -> Any:
        plain = self._channel.encode is None
        payload = float_bytes(part.values) if plain else self._channel.encode(part, stamp)
        self.coordinates += part.coordinates.size
        self.messages += 1
        self.payload += len(payload.tobytes())
        return payload

    def _decode(self, payload: Any, stamp: Stamp) -> Part:
        if self._channel.encode is None:
            return self._last  # the simulators keep all digits of plain values
        part: Part = self._channel.decode(payload, stamp)
        return part


def _counted(alg: Algorithm, features: int) -> str | None:
    """Let twins of the channels count what they make, and compare every engine's counts."""
    trace = small_nature(features)
    up, down = _Counter(alg.uplink), _Counter(alg.downlink)
    spied = replace(alg, uplink=up.twin)
    if alg.exchange != "live":
        spied = replace(spied, downlink=down.twin)
    engine_of(LAST).replay(trace, spied)
    for name in _engines(alg):
        counts = Traffic(*engine_of(name).replay(trace, alg).traffic[:, -1].tolist())
        found = {"up": (counts.coordinates_up, counts.messages_up, counts.payload_up)}
        expected = {"up": (up.coordinates, up.messages, up.payload)}
        if alg.exchange != "live":
            found["down"] = counts.coordinates_down, counts.messages_down, counts.payload_down
            expected["down"] = down.coordinates, down.messages, down.payload
        if found != expected:
            return (
                f"the {name} engine counts coordinates, messages and bytes {found}: expected "
                f"{expected}"
            )
    return None


def _engines_agree(alg: Algorithm, features: int) -> str | None:
    trace = small_nature(features)
    expected = engine_of(LAST).replay(trace, alg)
    # The reference runs a second time too: hidden state in an algorithm's functions shows here.
    for name in _engines(alg):
        outcome = engine_of(name).replay(trace, alg)
        apart = np.flatnonzero(~np.isclose(outcome.mse, expected.mse, rtol=1e-9, atol=1e-9))
        if apart.size:
            return f"the {name} engine leaves the reference at tick {apart[0]}"
        if not np.allclose(outcome.server_model, expected.server_model, rtol=1e-9, atol=1e-9):
            return f"the {name} engine ends in another model than the reference"
        if not np.array_equal(outcome.traffic, expected.traffic):
            return f"the {name} engine counts other traffic than the reference"
    return None


PROMISES: Mapping[str, Any] = {
    "nothing in, nothing out": _nobody_there,
    "traffic counted": _counted,
    "engines agree": _engines_agree,
}
