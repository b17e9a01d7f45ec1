"""How a fleet is doing: one record, for people and machines."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from paofed.live.journal.members import Member
from paofed.live.protocol.coordinator import Coordinator

_QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True, kw_only=True)
class DeviceStatus:
    """One device."""

    device: int
    label: str
    standing: str  # "member", "quarantined" or "removed"
    last_seen: int | None  # tick
    messages: int  # that were taken
    refused_in_a_row: int


@dataclass(frozen=True, kw_only=True)
class ServiceStatus:
    """The process that serves, since it started."""

    seconds: float
    problems: tuple[str, ...]
    dropped: int  # messages, by an inbox that was full or a disk that was
    clock_jumps: int
    bytes_received: int  # of MQTT messages
    bytes_sent: int
    broker_refused: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Status:
    """The whole fleet; `service` is None where nobody serves it."""

    fleet: str
    algorithm: str
    start: float  # seconds since 1970
    tick: int
    tick_seconds: float
    devices: tuple[DeviceStatus, ...]
    counts: dict[str, int]
    ages: dict[int, int]  # of accepted updates, in ticks
    service: ServiceStatus | None

    @classmethod
    def of(
        cls,
        fleet: str,
        coordinator: Coordinator,
        members: Iterable[Member],
        service: ServiceStatus | None = None,
    ) -> Self:
        """Look at a server's state."""
        manifest = coordinator.manifest
        return cls(
            fleet=fleet,
            algorithm=manifest.algorithm,
            start=manifest.start,
            tick=coordinator.tick,
            tick_seconds=manifest.tick_seconds,
            devices=tuple(_device(coordinator, member) for member in members),
            counts=dict(sorted(coordinator.counts.items())),
            ages=dict(sorted(coordinator.ages.items())),
            service=service,
        )

    def to_json(self) -> str:
        """As text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Back from text that `to_json` made."""
        values: dict[str, Any] = json.loads(text)
        devices = tuple(DeviceStatus(**device) for device in values.pop("devices"))
        ages = {int(age): count for age, count in values.pop("ages").items()}
        service = values.pop("service")
        if service is not None:
            problems = tuple(service.pop("problems"))
            service = ServiceStatus(**service, problems=problems)
        return cls(**values, devices=devices, ages=ages, service=service)

    def age_quantiles(self) -> list[int]:
        """How late updates came: the median, and what 9 and 99 of 100 were below; or nothing."""
        return [_quantile(self.ages, share) for share in _QUANTILES] if self.ages else []


def _device(coordinator: Coordinator, member: Member) -> DeviceStatus:
    devices, k = coordinator.devices, member.device
    seen = int(devices.last_seen[k]) if devices.knows(k) else -1
    standing = "quarantined" if member.quarantined else "member"
    return DeviceStatus(
        device=k,
        label=member.label,
        standing="removed" if member.removed else standing,
        last_seen=seen if seen >= 0 else None,
        messages=int(devices.messages[k]) if devices.knows(k) else 0,
        refused_in_a_row=int(devices.refused[k]) if devices.knows(k) else 0,
    )


def _quantile(counts: dict[int, int], share: float) -> int:
    """The smallest value that so many, of all that were counted, do not exceed."""
    values = sorted(counts)
    reached = np.cumsum([counts[value] for value in values])
    return values[int(np.searchsorted(reached, share * reached[-1]))]


_HELP = {
    "tick": "the server's tick",
    "devices": "devices by standing",
    "accepted_total": "updates that were taken into the journal",
    "duplicates_total": "updates that came again and were not counted again",
    "hellos_total": "devices that asked for the whole model",
    "refused_total": "messages that were refused, by reason",
    "update_age_ticks_total": "accepted updates by their age on arrival",
    "up_seconds": "since the server started",
    "problems": "what keeps the fleet from being served; /health names them",
    "dropped_total": "messages that could not be looked at, and will be repeated",
    "clock_jumps_total": "times the machine's clock was set",
    "mqtt_bytes_total": "bytes of the fleet's MQTT messages, as the server sees them",
    "broker_refused_total": "whom mosquitto turned away, by reason",
}


def prometheus(status: Status) -> str:
    """The same as Prometheus reads it."""
    families: list[tuple[str, str, Sequence[tuple[str, float]]]] = [
        ("tick", "gauge", [("", status.tick)]),
        ("devices", "gauge", _standings(status)),
        ("accepted_total", "counter", [("", status.counts.get("accepted", 0))]),
        ("duplicates_total", "counter", [("", status.counts.get("duplicates", 0))]),
        ("hellos_total", "counter", [("", status.counts.get("hellos", 0))]),
        ("refused_total", "counter", _refused(status)),
        ("update_age_ticks_total", "counter", [(f'age="{a}"', n) for a, n in status.ages.items()]),
    ]
    service = status.service
    if service is not None:
        refused = [(f'reason="{r}"', n) for r, n in service.broker_refused.items()]
        sides = [
            ('direction="in"', service.bytes_received),
            ('direction="out"', service.bytes_sent),
        ]
        families += [
            ("up_seconds", "gauge", [("", service.seconds)]),
            ("problems", "gauge", [("", len(service.problems))]),
            ("dropped_total", "counter", [("", service.dropped)]),
            ("clock_jumps_total", "counter", [("", service.clock_jumps)]),
            ("mqtt_bytes_total", "counter", sides),
            ("broker_refused_total", "counter", refused),
        ]
    lines = []
    for name, kind, samples in families:
        lines += [f"# HELP paofed_{name} {_HELP[name]}", f"# TYPE paofed_{name} {kind}"]
        for labels, value in samples:
            every = ",".join(part for part in (f'fleet="{status.fleet}"', labels) if part)
            lines.append(f"paofed_{name}{{{every}}} {value}")
    return "\n".join(lines) + "\n"


def _standings(status: Status) -> list[tuple[str, float]]:
    standings = [device.standing for device in status.devices]
    return [(f'standing="{s}"', standings.count(s)) for s in ("member", "quarantined", "removed")]


def _refused(status: Status) -> list[tuple[str, float]]:
    word = "refused: "
    return [
        (f'reason="{key.removeprefix(word)}"', count)
        for key, count in status.counts.items()
        if key.startswith(word)
    ]
