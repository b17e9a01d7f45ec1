"""Sensors that break, and devices whose messages are well formed and say what is not so."""

from dataclasses import replace

from lab.rehearsal.fate import Fate
from paofed.live.protocol.blocks import Blocks
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import Update, Values, encode

_SAMPLES = ("sensor stuck", "sensor scaled", "sensor spikes", "sensor drifts", "sensor noise")
_MESSAGES = ("garbage values", "liar")
SENSORS = (*_SAMPLES, *_MESSAGES)
_LEVEL_OF_A_LIAR = 1  # a liar claims to predict better than anybody can


class Sensor:
    """What one device measures and sends; broken from a tick on, if a fault is named."""

    def __init__(self, fate: Fate, fault: str = "", since: int = 0) -> None:
        self._fate = fate
        self._fault = fault
        self._since = since
        self._stuck = float(fate.random.normal(0, 20)) if fault else 0.0
        self._size = float(10 ** fate.random.uniform(0, 5)) if fault else 1.0

    def measured(self, y: float) -> float:
        """Return what the sensor shows instead of the truth; in the calm at the end, the truth."""
        if self._fault not in _SAMPLES or self._fate.calm or not self._is_broken():
            return y
        match self._fault:
            case "sensor stuck":
                return self._stuck
            case "sensor scaled":
                return y * self._size
            case "sensor spikes":
                return self._size if self._fate.strikes(0.3) else y
            case "sensor drifts":
                return y + 0.5 * (self._fate.now - self._since)
            case _:
                return y + float(self._fate.random.normal(0, 10))

    def said(self, payload: bytes, manifest: Manifest) -> bytes:
        """Return what the device sends instead of its model."""
        if self._fault not in _MESSAGES or not self._is_broken():
            return payload
        message, up = manifest.read(payload), manifest.up
        if not isinstance(message, Update):
            return payload
        repeats = tuple(replace(r, values=self._wrong(r.values, up)) for r in message.repeats)
        values = self._wrong(message.values, up)
        return encode(replace(message, values=values, repeats=repeats, level=_LEVEL_OF_A_LIAR))

    def _wrong(self, block: Values, up: Blocks) -> Values:
        if self._fault == "liar":  # a liar sends the opposite of its model
            return up.block(-up.read(block, 0, 0).values)
        return up.block(self._fate.random.uniform(-self._size, self._size, up.shared))

    def _is_broken(self) -> bool:
        broken = self._fate.now >= self._since
        self._fate.hits[self._fault] += broken
        return broken


def sensors(fate: Fate, devices: int, ticks: int) -> list[Sensor]:
    """Return sensors; in two of three seeds one or two of them break before `ticks`."""
    found = [Sensor(fate) for _ in range(devices)]
    faults = [fate.turn(SENSORS), fate.one_of(SENSORS)][: int(fate.random.integers(3))]
    for k, fault in zip(fate.random.permutation(devices).tolist(), faults, strict=False):
        found[k] = Sensor(fate, fault, int(fate.random.integers(ticks)))
    return found
