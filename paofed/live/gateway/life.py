"""One source of a gateway: what it has told of late, and the device that it is to the fleet."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from paofed.live.device.device import Device
from paofed.live.gateway.pairing import HeldReadings, Paired, Rule, Taken, take
from paofed.live.gateway.settings import CalendarInput
from paofed.live.gateway.sources import TelemetrySource
from paofed.live.gateway.telemetry import Useless
from paofed.live.protocol.manifest import Manifest
from paofed.words import listed


class Hearing:
    """What is heard of a source that is admitted, whether it has a place or not."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._readings = HeldReadings()
        self._second, self._in_second = -math.inf, 0
        self._told: set[str] = set()  # names of which a number was read
        self._bad: dict[str, str] = {}  # by name, why its last value could not be taken
        self._useless = ""  # why the last message was of no use at all

    def may_speak(self, now: float, most: int) -> bool:
        """Whether a message is within the limit of messages in a second."""
        if now - self._second >= 1.0:
            self._second, self._in_second = now, 0
        self._in_second += 1
        return self._in_second <= most

    def passed_over(self, useless: Useless) -> None:
        """Note why something that the source told is of no use."""
        if useless.name:
            self._bad[useless.name] = str(useless)
        else:
            self._useless = str(useless)

    def taken(self, values: Mapping[str, float], at: float) -> Taken:
        """Return what these readings allow to predict or learn from."""
        self._told.update(values)
        taken = take(self._readings, values, at, self._rule)
        self._readings = taken.readings
        return taken

    def why_nothing(self) -> str:
        """Say what is missing for a sample, or a prediction."""
        missing = [n for n in (*self._rule.inputs, self._rule.target) if n not in self._told]
        never = [name for name in missing if name not in self._bad]
        found = [self._bad[name] for name in missing if name in self._bad]
        found += [f"{listed(never)} never came"] if never else []
        found += [self._useless] if self._useless else []
        return "; ".join(found) or "its readings lie too far apart"


class Life:
    """A source that takes part."""

    def __init__(
        self, source: TelemetrySource, device: Device, calendar: Mapping[str, CalendarInput]
    ) -> None:
        self.source = source
        self.device = device
        self._calendar = calendar
        self._published: dict[bool, float] = {}  # when, by whether the message told an error
        self._contacted = -math.inf
        self._begun = False  # whether it knew model and time at the last contact
        self._news = False  # whether it has predicted or learned since then
        self._implausible = source.implausible  # samples that were not plausible before this start

    def learn(self, paired: Paired) -> dict[str, Any] | None:
        """Predict, and learn where the target is known; return what to publish, if anything."""
        device = self.device
        at = paired.at
        by_name = {**paired.inputs, **{n: one.at(paired.at) for n, one in self._calendar.items()}}
        x = [by_name[number.name] for number in device.manifest.inputs]
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
        """Process the server's messages; contact it once in a tick in which something was told.

        A source that tells no targets takes the fleet's model and predicts with it.

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
            device.contact(0.0)
            self._news = self._news and not begun  # the contact was a hello: the news still waits


def disagreement(manifest: Manifest, names: Sequence[str], target: str) -> str:
    """Say how the names of a gateway differ from those that the fleet has agreed on; or nothing."""
    inputs = [number.name for number in manifest.inputs]
    if set(inputs) == set(names) and manifest.target.name == target:
        return ""
    return (
        f"the fleet has the inputs {', '.join(inputs)} and the target {manifest.target.name}, this "
        f"gateway {', '.join(names)} and {target}: nothing is learned until they agree"
    )
