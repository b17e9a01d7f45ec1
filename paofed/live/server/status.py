"""How a fleet is doing: one record, for people and machines."""

import json
import urllib.request
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, is_dataclass
from http.client import HTTPException
from itertools import repeat
from pathlib import Path
from types import UnionType
from typing import Any, Self, get_args, get_origin

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.live.fleet.settings import Settings
from paofed.live.fleet.tokens import Tokens
from paofed.live.journal.roster import Member
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.devices import REASONS
from paofed.live.protocol.level import decibels, in_words
from paofed.live.protocol.trend import NEVER
from paofed.live.server.concerns import Trouble, judged
from paofed.live.server.validation import Validation

STANDINGS = ("member", "aside", "quarantined", "removed")
_QUANTILES = (0.5, 0.9, 0.99)
_NAMED = 20  # the most devices in a list of sentences
_READS_ONLY = 16  # reads in a row after which a device is one that only reads
_NAMED_IN_A_SENTENCE = 5
_DAY = 86400.0
# Ignores the variable http_proxy.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, kw_only=True)
class DeviceStatus:
    """One device."""

    device: int
    label: str
    standing: str  # one of STANDINGS
    last_seen: int | None  # tick
    messages: int  # messages that were accepted
    refused_in_a_row: int
    refused: int  # refused messages in all
    left_out: int  # updates that counted little, since the device was set aside
    implausible: int  # contacts that told of implausible samples
    error: float | None  # dB of the target's scale squared, as the device says
    usual_gap: float | None  # the usual ticks between two of its contacts
    faults: tuple[Trouble, ...]
    last_update: int | None  # tick of the newest accepted update
    # Ticks without a contact after which it is silent, by its usual gap.
    silent_after: float | None
    refused_why: str  # why the last refused message was refused
    reads_only: bool  # whether it has no targets: all its last contacts were reads
    trusted: bool  # whether the device is never set aside


@dataclass(frozen=True, kw_only=True)
class FleetError:
    """The median of what the devices say of their errors, in dB of the target's scale squared."""

    now: float  # the error of late
    usual: float
    worse_since: int | None  # tick
    history: tuple[tuple[int, float], ...]  # ticks and the error at each, oldest first

    @classmethod
    def of(cls, coordinator: Coordinator) -> Self | None:
        """Return the error of a server's fleet; None before any device has told one."""
        trend = coordinator.wellbeing.error
        if not trend.values:
            return None
        since = None if trend.worse_since == NEVER else trend.worse_since
        history = tuple(trend.history())
        return cls(now=trend.late, usual=trend.usual, worse_since=since, history=history)


@dataclass(frozen=True, kw_only=True)
class ServiceStatus:
    """The process that serves the fleet, since it started."""

    seconds: float
    problems: tuple[str, ...]
    dropped: int  # messages dropped since the inbox or the disk was full
    clock_jumps: int
    bytes_received: int  # of MQTT messages
    bytes_sent: int
    broker_refused: dict[str, int]
    started: float  # when, in seconds since 1970
    connected: bool  # whether there is a connection to the broker
    stuck: bool  # whether the journal cannot be written
    validation: Validation | None  # how the model fares on the file of samples, if any
    clock_behind: float  # seconds by which the machine's clock is behind the journal
    snapshot_at: float | None  # when the newest snapshot was due, in seconds since 1970
    counts: dict[str, int]  # the counts of `tally`
    # How many accepted updates had each age in ticks.
    ages: dict[int, int]


@dataclass(frozen=True, kw_only=True)
class FleetShift:
    """Many devices began to predict otherwise than they did, at the same time."""

    since: int  # tick
    until: int | None  # the last tick of it; None while it lasts
    most: int  # how many devices it were at once at most
    of: int  # of how many
    devices: tuple[int, ...]  # which devices predict otherwise than is usual for them, now

    @classmethod
    def of_fleet(cls, coordinator: Coordinator) -> Self | None:
        """Return the newest shift of a server's fleet, if it lasts or was within the last day."""
        shifts, day = coordinator.wellbeing.shifts, _DAY / coordinator.manifest.tick_seconds
        if shifts.since == NEVER or coordinator.tick - shifts.until > day:
            return None
        return cls(
            since=shifts.since,
            until=None if shifts.lasts else shifts.until,
            most=shifts.most,
            of=shifts.of,
            devices=tuple(np.flatnonzero(shifts.devices["shifted"]).tolist()),
        )


@dataclass(frozen=True, kw_only=True)
class Status:
    """The whole fleet; `service` is None where no server runs."""

    fleet: str
    algorithm: str
    start: float  # seconds since 1970
    tick: int
    tick_seconds: float
    devices: tuple[DeviceStatus, ...]
    counts: dict[str, int]
    ages: dict[int, int]  # how many accepted updates had each age in ticks
    error: FleetError | None
    quiet_since: int | None  # since which tick nobody at all is heard, if that is longer than usual
    service: ServiceStatus | None
    # When the last tick began in which an update was accepted, in seconds since 1970.
    heard_at: float | None
    # What bounds the influence of one device and of one sample, as in the manifest.
    clip: float | None
    aside: bool
    bound: float | None
    target: str
    # The target's scale, by which an error in dB becomes one in the target's unit; None where the
    # model sees a logarithm of the target.
    scale: float | None
    shift: FleetShift | None

    @classmethod
    def of(
        cls,
        fleet: str,
        coordinator: Coordinator,
        members: Iterable[Member],
        service: ServiceStatus | None = None,
    ) -> Self:
        """Make the record of a server's state."""
        manifest, faults = coordinator.manifest, judged(coordinator)
        presence = coordinator.presence
        usual, quiet = presence.silent_after(), presence.is_quiet(coordinator.tick)
        if service is not None:  # a server that has just started could not hear anybody yet
            longest = presence.longest_quiet * manifest.tick_seconds
            quiet = quiet and service.seconds > longest
        last = coordinator.wellbeing.last
        return cls(
            fleet=fleet,
            algorithm=manifest.method,
            start=manifest.start,
            tick=coordinator.tick,
            tick_seconds=manifest.tick_seconds,
            devices=tuple(
                _device(coordinator, m, faults.get(m.device, ()), usual) for m in members
            ),
            counts=dict(sorted(coordinator.counts.items())),
            ages=dict(sorted(coordinator.ages.items())),
            error=FleetError.of(coordinator),
            quiet_since=presence.last if quiet else None,
            service=service,
            heard_at=None if last == NEVER else manifest.begins(last),
            clip=manifest.clip,
            aside=manifest.aside,
            bound=manifest.bound,
            target=manifest.target.name,
            scale=manifest.error_scale,
            shift=FleetShift.of_fleet(coordinator),
        )

    def to_json(self) -> str:
        """Return the record as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote."""
        found: Self = _read(cls, json.loads(text))
        return found

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the whole fleet: why it is not served, or that it is worse."""
        found = [] if self.service is None else [*self.service.problems]
        if self.error is not None and self.error.worse_since is not None:
            now, usual = self.in_unit(self.error.now), self.in_unit(self.error.usual)
            worse = f"the fleet predicts worse than it did: {now}, usually {usual}"
            found.append(f"{worse} (since tick {self.error.worse_since:,})")
        if self.shift is not None and self.shift.until is None:
            found.append(self._shifted(self.shift))
        return tuple(found)

    def in_unit(self, decibels: float) -> str:
        """Return an error that is given in dB for people: in the target's unit, if it has one."""
        return in_words(decibels, self.target, self.scale)

    @property
    def bounds(self) -> str:
        """What bounds the influence of one device and of one sample, for people."""
        clip, bound = ("none" if b is None else f"{b:g}" for b in (self.clip, self.bound))
        if self.clip is None:
            return f"clip none: one device can ruin the model; bound {bound}"
        return f"clip {clip}, aside {'yes' if self.aside else 'no'}, bound {bound}"

    def _shifted(self, shift: FleetShift) -> str:
        """Say that many devices began to predict otherwise at the same time, and who they are."""
        names = [device.label for device in self.devices if device.device in shift.devices]
        more = len(names) - _NAMED_IN_A_SENTENCE
        named = ", ".join(
            [*names[:_NAMED_IN_A_SENTENCE], *([f"{more:,} more"] if more > 0 else [])]
        )
        ended = "" if shift.until is None else f" to {shift.until:,}"
        when = f"tick{'s' * bool(ended)} {shift.since:,}{ended}"
        said = f"{shift.most:,} of {shift.of:,} devices began to predict otherwise at once ({when})"
        return f"{said}: {named}" if named and shift.until is None else said

    @property
    def attention(self) -> tuple[str, ...]:
        """Which devices somebody should look at, and what for; the fleet goes on without."""
        found = [
            f"{device.label} {fault.words} (since tick {fault.since:,})"
            for device in self.devices
            for fault in device.faults
        ]
        if self.quiet_since is not None and self.service is not None:
            words = "no device at all is heard, for longer than is usual"
            found.insert(0, f"{words} (since tick {self.quiet_since:,})")
        if self.shift is not None and self.shift.until is not None:
            again = "if they are wrong together, the fleet has learned it: try a validation file"
            found.insert(0, f"{self._shifted(self.shift)}; {again}")
        more = len(found) - _NAMED
        return *found[:_NAMED], *((f"and {more:,} more",) if more > 0 else ())

    def age_quantiles(self) -> list[int]:
        """Return how late updates came: the median, and what 90% and 99% were below; or nothing."""
        return [_quantile(self.ages, share) for share in _QUANTILES] if self.ages else []


def tally(coordinator: Coordinator) -> Counter[str]:
    """Return a server's counts: its own, contacts, and updates that taught it nothing."""
    rows, contacts = coordinator.wellbeing.devices, coordinator.presence.devices
    return Counter(
        {
            **coordinator.counts,
            "contacts": int(coordinator.devices.messages.sum()),
            "left out": int(rows["left_out"].sum()),
            "implausible": int(contacts["implausible"].sum()),
        }
    )


def _read(kind: Any, value: Any) -> Any:
    """Read a value of JSON as `kind`: a record, a tuple, a dict whose keys may be numbers."""
    if value is None:
        return None
    inside = get_args(kind)
    if isinstance(kind, UnionType):
        return _read(inside[0], value)
    if get_origin(kind) is tuple:
        kinds = repeat(inside[0]) if inside[-1] is ... else inside
        return tuple(map(_read, kinds, value))
    if get_origin(kind) is dict:
        return {inside[0](key): part for key, part in value.items()}
    if is_dataclass(kind):
        return kind(**{one.name: _read(one.type, value[one.name]) for one in fields(kind)})
    return value


def _device(
    coordinator: Coordinator, member: Member, faults: tuple[Trouble, ...], usual: FloatArray
) -> DeviceStatus:
    devices, k = coordinator.devices, member.device
    rows, contacts = coordinator.wellbeing.devices, coordinator.presence.devices
    known = devices.knows(k)
    seen = int(devices.last_seen[k]) if known else -1
    heard = k < rows.size and bool(rows["contacts"][k])
    there = k < contacts.size and bool(contacts["contacts"][k])
    implausible = any(fault.kind == "implausible" for fault in faults)
    return DeviceStatus(
        device=k,
        label=member.label,
        standing=_standing(member, aside=any(fault.kind == "aside" for fault in faults)),
        last_seen=seen if seen >= 0 else None,
        messages=int(devices.messages[k]) if known else 0,
        refused_in_a_row=int(devices.refused[k]) if known else 0,
        refused=int(devices.refusals[k]) if known else 0,
        left_out=int(rows["left_out"][k]) if heard else 0,
        implausible=int(contacts["implausible"][k]) if there else 0,
        error=decibels(int(rows["level"][k])) if heard else None,
        usual_gap=float(contacts["gap"][k]) if there and contacts["contacts"][k] > 1 else None,
        faults=faults,
        last_update=int(rows["said"][k]) if heard else None,
        silent_after=float(usual[k]) if there and np.isfinite(usual[k]) else None,
        refused_why=REASONS[devices.refused_why[k]] if known and devices.refusals[k] else "",
        reads_only=known and bool(devices.reads[k] >= _READS_ONLY) and not implausible,
        trusted=k in coordinator.rule.trusted,
    )


def _standing(member: Member, *, aside: bool) -> str:
    if member.removed:
        return "removed"
    if member.quarantined:
        return "quarantined"
    return "aside" if aside else "member"


def _quantile(counts: dict[int, int], share: float) -> int:
    """Return the smallest value that a share of all values counted do not exceed."""
    values = sorted(counts)
    reached = np.cumsum([counts[value] for value in values])
    return values[int(np.searchsorted(reached, share * reached[-1]))]


def asked(
    settings: Settings, seconds: float = 10.0, *, folder: Path | None = None
) -> Status | None:
    """Return what the server says of its fleet, if one answers where the settings say.

    `folder` is the fleet's: where asking takes a token, the folder has one of its own.
    """
    if not settings.http:
        return None
    request = urllib.request.Request(f"http://{settings.http}/status")
    try:
        if folder is not None and (tokens := Tokens.load(folder)) is not None:
            request.add_header("Authorization", f"Bearer {tokens.own}")
        with _OPENER.open(request, timeout=seconds) as answer:
            return Status.from_json(answer.read())
    except (OSError, HTTPException):
        return None
    except (ValueError, KeyError, TypeError, AttributeError):  # another program answers there
        return None
