"""How a fleet is doing, as Prometheus reads it."""

from collections.abc import Sequence

from paofed.live.server.judgement import KINDS
from paofed.live.server.status import STANDINGS, Status

_Family = tuple[str, str, Sequence[tuple[str, float]]]  # name, type, labels with values

_HELP = {
    "tick": "the server's tick",
    "devices": "devices by standing",
    "accepted_total": "updates that were taken into the journal",
    "duplicates_total": "updates that came again and were not counted again",
    "hellos_total": "devices that asked for the whole model",
    "refused_total": "messages that were refused, by reason",
    "left_out_total": "updates that did not count, since their devices were set aside",
    "implausible_total": "updates whose devices told of implausible samples",
    "update_age_ticks_total": "accepted updates by their age on arrival",
    "up_seconds": "since the server started",
    "problems": "what is wrong with the fleet as a whole; /health names them",
    "attention": "devices that somebody should look at, by what for; /health names them",
    "fleet_error_decibels": "median of the devices' errors, in dB of the target's scale squared",
    "fleet_error_usual_decibels": "what is usual for it",
    "fleet_worse": "1 while the fleet predicts worse than it did",
    "dropped_total": "messages that could not be looked at, and will be repeated",
    "clock_jumps_total": "times the machine's clock was set",
    "mqtt_bytes_total": "bytes of the fleet's MQTT messages, as the server sees them",
    "broker_refused_total": "whom mosquitto turned away, by reason",
}


def prometheus(status: Status) -> str:
    """The page that Prometheus asks for."""
    families: list[_Family] = [
        ("tick", "gauge", [("", status.tick)]),
        ("devices", "gauge", _standings(status)),
        ("attention", "gauge", _attention(status)),
        ("problems", "gauge", [("", len(status.problems))]),
        *_error(status),
        ("accepted_total", "counter", [("", status.counts.get("accepted", 0))]),
        ("duplicates_total", "counter", [("", status.counts.get("duplicates", 0))]),
        ("hellos_total", "counter", [("", status.counts.get("hellos", 0))]),
        ("refused_total", "counter", _refused(status)),
        ("left_out_total", "counter", [("", sum(d.left_out for d in status.devices))]),
        ("implausible_total", "counter", [("", sum(d.implausible for d in status.devices))]),
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
    return [(f'standing="{s}"', standings.count(s)) for s in STANDINGS]


def _attention(status: Status) -> list[tuple[str, float]]:
    kinds = [fault.kind for device in status.devices for fault in device.faults]
    return [(f'kind="{kind}"', kinds.count(kind)) for kind in KINDS]


def _error(status: Status) -> list[_Family]:
    error = status.error
    if error is None:
        return []
    return [
        ("fleet_error_decibels", "gauge", [("", error.now)]),
        ("fleet_error_usual_decibels", "gauge", [("", error.usual)]),
        ("fleet_worse", "gauge", [("", int(error.worse_since is not None))]),
    ]


def _refused(status: Status) -> list[tuple[str, float]]:
    word = "refused: "
    return [
        (f'reason="{key.removeprefix(word)}"', count)
        for key, count in status.counts.items()
        if key.startswith(word)
    ]
