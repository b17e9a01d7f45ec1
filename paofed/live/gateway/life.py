"""One source of a gateway: the device that it is to the fleet, and what it has told of late."""

import math
from collections.abc import Mapping
from typing import Any

from paofed.live.device.device import Device
from paofed.live.gateway.pairing import HeldReadings, Paired, Rule, take
from paofed.live.gateway.sources import TelemetrySource
from paofed.live.protocol.manifest import Manifest


class Life:
    """A source that takes part."""

    def __init__(self, source: TelemetrySource, device: Device, rule: Rule) -> None:
        self.source = source
        self.device = device
        self._rule = rule
        self._readings = HeldReadings()
        self._second, self._in_second = -math.inf, 0
        self._published: dict[bool, float] = {}  # when, by whether the message told an error
        self._contacted = -math.inf
        self._begun = False  # whether it knew model and time at the last contact
        self._news = False  # whether it has learned since then
        self._implausible = source.implausible  # samples that were not plausible before this start

    def may_speak(self, now: float, most: int) -> bool:
        """Whether a message is within the limit of messages in a second."""
        if now - self._second >= 1.0:
            self._second, self._in_second = now, 0
        self._in_second += 1
        return self._in_second <= most

    def paired(self, values: Mapping[str, float], at: float) -> tuple[Paired | None, int]:
        """Return what these readings allow to predict or learn from, and how many were late."""
        self._readings, paired, late = take(self._readings, values, at, self._rule)
        return paired, late

    def learn(self, paired: Paired) -> dict[str, Any] | None:
        """Predict, and learn where the target is known; return what to publish, if anything."""
        device = self.device
        at = paired.at
        x = [paired.inputs[number.name] for number in device.manifest.inputs]
        predicted, (low, high) = device.predict(x, at), device.interval(x, at)
        if paired.target is not None:
            before = device.edge.implausible + device.edge.unknown_past
            device.learn(x, paired.target, at)
            self.source.samples += device.edge.implausible + device.edge.unknown_past == before
            self.source.implausible = self._implausible + device.implausible
            self._news = True
        if not math.isfinite(predicted):
            return None
        told = {"time": at, "prediction": predicted, "low": low, "high": high}
        if paired.target is not None:
            told |= {"target": paired.target, "error": paired.target - predicted}
        return told

    def may_publish(self, told: Mapping[str, Any], now: float, every: float) -> bool:
        """Whether the last message of this kind is long enough ago."""
        kind = "error" in told
        if now - self._published.get(kind, -math.inf) < every:
            return False
        self._published[kind] = now
        return True

    def follow(self, now: float) -> None:
        """Process the server's messages; contact it once in a tick where there is something to say.

        A device that has just learned the time and the model contacts the server again at once.
        """
        device = self.device
        if not device.knows_fleet():
            return
        edge = device.edge
        begun = edge.joined and edge.clock is not None
        waiting = self._news or not begun or bool(edge.unconfirmed) or edge.outdated
        passed = now - self._contacted >= device.manifest.tick_seconds
        if waiting and (passed or (begun and not self._begun)):
            self._contacted, self._begun = now, begun
            told = device.contact(0.0)
            # Else the contact was a hello, and the news still waits.
            self._news = self._news and not told and not edge.unconfirmed


def disagreement(manifest: Manifest, rule: Rule) -> str:
    """Say how the names of a gateway differ from those that the fleet has agreed on; or nothing."""
    inputs = [number.name for number in manifest.inputs]
    if set(inputs) == set(rule.inputs) and manifest.target.name == rule.target:
        return ""
    return (
        f"the fleet has the inputs {', '.join(inputs)} and the target {manifest.target.name}, this "
        f"gateway {', '.join(rule.inputs)} and {rule.target}: nothing is learned until they agree"
    )
