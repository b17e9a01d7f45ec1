"""How a fleet is doing, as Prometheus reads it, by its conventions.

Units are base units: seconds, bytes, ratios. The error is the mean square over the target's scale
squared, since a ratio can be compared and drawn in any way; in decibels it is 10 * log10 of that. A
counter begins at zero with the server's process, as Prometheus expects. A counter that went back a
little at a restart, to the last snapshot, would look like one that began anew, and all its counts
would be added once more. No label names a device: the number of series is bounded.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from paofed.live.protocol.devices import REASONS
from paofed.live.protocol.messages import VERSION
from paofed.live.server import broker_log
from paofed.live.server.concerns import KINDS
from paofed.live.server.status import STANDINGS, ServiceStatus, Status

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# The limits of the buckets, in ticks; no update is older than 255.
_AGES = (0, 1, 2, 4, 8, 16, 32, 64, 128)
_REFUSED = "refused: "


class _Sample(NamedTuple):
    """One number, with labels beside the fleet's name; `part` is added to the family's name."""

    value: float
    labels: Mapping[str, str] = {}
    part: str = ""


class _Family(NamedTuple):
    """A metric: what it is called and means, and its numbers."""

    name: str
    kind: str
    help: str
    samples: Iterable[_Sample]


def prometheus(status: Status) -> str:
    """Return the page that Prometheus asks for."""
    families = [*_fleet(status), *_error(status)]
    if status.service is not None:
        families += [*_server(status.service), *_counters(status.service)]
        families.append(_ages(status.service, status.tick_seconds))
    return "".join(line for family in families for line in _lines(family, status.fleet))


def _lines(family: _Family, fleet: str) -> Iterator[str]:
    name = f"paofed_{family.name}"
    help_text = family.help.replace("\\", r"\\").replace("\n", r"\n")
    yield f"# HELP {name} {help_text}\n# TYPE {name} {family.kind}\n"
    for value, labels, part in family.samples:
        every = ",".join(f'{k}="{_escaped(v)}"' for k, v in {"fleet": fleet, **labels}.items())
        yield f"{name}{part}{{{every}}} {value}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _gauge(name: str, value: float, help_text: str) -> _Family:
    return _Family(name, "gauge", help_text, [_Sample(value)])


def _by(label: str, counts: Mapping[str, float]) -> list[_Sample]:
    """Return one sample for each value of a label."""
    return [_Sample(count, {label: value}) for value, count in counts.items()]


def _fleet(status: Status) -> list[_Family]:
    standings = [device.standing for device in status.devices]
    kinds = [fault.kind for device in status.devices for fault in device.faults]
    about = {
        "version": _version(),
        "wire_version": str(VERSION),
        "algorithm": status.algorithm,
    }
    told = "1, with what serves the fleet and how"
    families = [
        _Family("fleet_info", "gauge", told, [_Sample(1, about)]),
        _gauge("fleet_start_timestamp_seconds", status.start, "when the fleet began"),
        _gauge("tick", status.tick, "the server's tick"),
        _gauge("tick_length_seconds", status.tick_seconds, "how long a tick is"),
        _Family(
            "devices",
            "gauge",
            "devices by standing",
            _by("standing", {s: standings.count(s) for s in STANDINGS}),
        ),
        _Family(
            "devices_attention",
            "gauge",
            "devices that somebody should look at, by what for; /health names them",
            _by("kind", {kind: kinds.count(kind) for kind in KINDS}),
        ),
        _gauge(
            "problems", len(status.problems), "what is wrong with the whole fleet; /health names it"
        ),
        _gauge(
            "fleet_quiet",
            int(status.quiet_since is not None),
            "1 while no device at all is heard, for longer than is usual",
        ),
    ]
    if status.heard_at is not None:
        told = "when the last tick began in which an update was accepted"
        families.append(_gauge("last_update_timestamp_seconds", status.heard_at, told))
    return families


@cache
def _version() -> str:
    """Return the version of paofed, if it was installed as a package."""
    try:
        return version("paofed")
    except PackageNotFoundError:
        return "unknown"


def _error(status: Status) -> list[_Family]:
    error = status.error
    if error is None:
        return []
    what = "mean square error over the target's scale squared, of the median device"
    return [
        _gauge("fleet_error_ratio", _ratio(error.now), f"{what}, of late"),
        _gauge("fleet_error_usual_ratio", _ratio(error.usual), f"{what}, as is usual"),
        _gauge(
            "fleet_worse",
            int(error.worse_since is not None),
            "1 while the fleet predicts worse than it did",
        ),
        _gauge(
            "fleet_shifted",
            int(status.shift is not None and status.shift.until is None),
            "1 while many devices predict otherwise since the same time",
        ),
    ]


def _ratio(decibels: float) -> float:
    return float(10 ** (decibels / 10))


def _server(service: ServiceStatus) -> list[_Family]:
    families = [
        _gauge("server_start_timestamp_seconds", service.started, "when the server started"),
        _gauge("broker_connected", int(service.connected), "1 while the server hears its broker"),
        _gauge("journal_stuck", int(service.stuck), "1 while the journal cannot be written"),
        _gauge(
            "clock_behind_seconds",
            service.clock_behind,
            "by how much the machine's clock is behind the journal",
        ),
    ]
    if service.validation is not None:
        told = "root mean square error of the model on the validation file, in the target's unit"
        families.append(_gauge("validation_error", service.validation.error, told))
        told = "1 while that is above its limit or worse than is usual"
        families.append(_gauge("validation_worse", int(bool(service.validation.problem)), told))
    if service.snapshot_at is not None:
        told = "when the tick of the newest snapshot began"
        families.append(_gauge("snapshot_timestamp_seconds", service.snapshot_at, told))
    return families


def _counters(service: ServiceStatus) -> list[_Family]:
    counts = service.counts
    refused = dict.fromkeys(("unknown device", *filter(None, REASONS)), 0)
    refused |= {k.removeprefix(_REFUSED): n for k, n in counts.items() if k.startswith(_REFUSED)}
    by_broker = dict.fromkeys(broker_log.REASONS, 0) | service.broker_refused
    sides = {"received": service.bytes_received, "sent": service.bytes_sent}
    simple = {
        "contacts": ("contacts", "messages of devices that were taken"),
        "updates_accepted": ("accepted", "updates that were taken into the journal"),
        "updates_duplicate": ("duplicates", "updates that came again and were not counted again"),
        "updates_left_out": ("left out", "updates of devices that were set aside"),
        "updates_implausible": ("implausible", "contacts that told of implausible samples"),
        "reads": ("reads", "contacts of devices that had nothing to send"),
        "hellos": ("hellos", "devices that asked for the whole model"),
    }
    found = [
        *((name, told, [_Sample(counts.get(key, 0))]) for name, (key, told) in simple.items()),
        ("messages_refused", "messages that were refused, by reason", _by("reason", refused)),
        ("messages_dropped", "messages that nobody could look at", [_Sample(service.dropped)]),
        ("broker_refusals", "whom mosquitto turned away, by reason", _by("reason", by_broker)),
        ("mqtt_bytes", "bytes of the fleet's MQTT messages at the server", _by("direction", sides)),
        ("clock_jumps", "times the machine's clock was set", [_Sample(service.clock_jumps)]),
    ]
    return [_Family(f"{name}_total", "counter", told, samples) for name, told, samples in found]


def _ages(service: ServiceStatus, tick_seconds: float) -> _Family:
    """Return how late updates came; ages are whole ticks, and so are the limits of buckets."""
    ages, count = service.ages, sum(service.ages.values())
    whole = sum(age * number for age, number in ages.items()) * tick_seconds
    samples = []
    for limit in _AGES:
        within = sum(number for age, number in ages.items() if age <= limit)
        samples.append(_Sample(within, {"le": f"{float(limit * tick_seconds)}"}, "_bucket"))
    samples.append(_Sample(count, {"le": "+Inf"}, "_bucket"))
    samples += [_Sample(whole, part="_sum"), _Sample(count, part="_count")]
    told = "how old accepted updates were when they arrived, in whole ticks"
    return _Family("update_age_seconds", "histogram", told, samples)
