"""All that the page shows of a fleet, as values for JSON.

Ticks of devices stay ticks, which the page turns into times; series over time are in seconds since
1970. A series is a list of rows with the number of its first row: bins of time, or hours.

A message has a view, or what is different from one view to the next. Of a series, all rows from the
first different one on are sent, with the number of that row (`from`) and of the oldest row that is
still to be kept (`first`). The whole view is the difference from nothing.
"""

import base64
import math
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.live.server.concerns import KINDS
from paofed.live.server.history import History
from paofed.live.server.lookout import Sight
from paofed.live.server.status import DeviceStatus, Status
from paofed.live.server.validation import Validation
from paofed.words import counted

_WORD = "refused: "
WELL, LOOK, PROBLEM, DOWN = "well", "look", "problem", "down"
_LITTLE = 1.0  # dB from what is usual that count as usual
_NAMES = {  # words for the kinds of trouble, as they stand behind a number
    "aside": "set aside",
    "implausible": "with implausible samples",
    "worse": "far worse than the others",
    "refused": "refused",
    "silent": "silent",
}


Message = dict[str, Any]


class View(NamedTuple):
    """What is shown at a moment."""

    plain: dict[str, Any]  # values that are sent as a whole when they change
    devices: list[list[Any]]  # a row of FIELDS for each device that is or was in the fleet
    width: float  # seconds of a bin
    first_bin: int
    bins: list[Any]  # the band of errors in each, and the error on the validation file
    cells: NDArray[np.uint8]  # states (paofed.live.server.history), bins by devices
    first_hour: int
    hours: list[list[float]]  # contacts, bytes received, bytes sent


FIELDS = (
    "device", "label", "standing", "last_seen", "last_update", "messages", "refused",
    "refused_why", "left_out", "implausible", "error", "usual_gap", "silent_after", "reads_only",
    "faults",
)  # fmt: skip


def view_of(sight: Sight) -> View:
    """Return what is to be shown of what was seen."""
    status, history = sight.status(), sight.history
    first, hours = _hours(history)
    return View(
        _plain(sight, status),
        [_row(device) for device in status.devices],
        history.width,
        history.first,
        _bins(history),
        history.states,
        first,
        hours,
    )


def _plain(sight: Sight, status: Status) -> dict[str, Any]:
    service, error = status.service, status.error
    begins = sight.coordinator.manifest.begins
    return {
        "fleet": status.fleet,
        "algorithm": status.algorithm,
        "bounds": status.bounds,
        "target": status.target,
        "scale": status.scale,
        "now": round(sight.now, 1),
        "tick": status.tick,
        "tick_seconds": status.tick_seconds,
        "begun": None if service is None else round(sight.now - service.seconds),
        "verdict": verdict(status),
        "error": None if error is None else [round(error.now, 2), round(error.usual, 2)],
        "life": [[round(begins(t)), round(e, 2)] for t, e in error.history] if error else [],
        "validation": _validation(sight.validation),
        "accepted": status.counts.get("accepted", 0),
        "repeated": status.counts.get("duplicates", 0),
        "late": status.age_quantiles(),
        "ages": sorted(status.ages.items()),
        "refused": _counted(
            {k.removeprefix(_WORD): n for k, n in status.counts.items() if k.startswith(_WORD)}
        ),
        "turned_away": _counted(service.broker_refused if service else {}),
        "budget": sight.budget,
        "counted_from": round(sight.history.hours.counted_from),
        "marks": sight.marks,
    }


def _validation(found: Validation | None) -> list[Any] | None:
    return None if found is None else [found.error, found.target, found.decibels]


def _counted(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Return counts by name, the most frequent first."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _row(device: DeviceStatus) -> list[Any]:
    """Return a device as a row of FIELDS."""
    faults = [[fault.kind, fault.since, fault.words] for fault in device.faults]
    return [*(_short(getattr(device, name)) for name in FIELDS[:-1]), faults]


def _short(value: Any) -> Any:
    return round(value, 2) if isinstance(value, float) else value


def _bins(history: History) -> list[Any]:
    """Return by bin the quantiles of the devices' errors, if any, and the validation error."""
    validated = (None if math.isnan(dB) else round(dB, 2) for dB in history.validation.tolist())
    return [
        [None if band is None else list(band), own]
        for band, own in zip(history.band(), validated, strict=False)
    ]


def _hours(history: History) -> tuple[int, list[list[float]]]:
    """Return the hours, from the first one in which there was any traffic."""
    hours = history.hours
    rows: Sequence[list[float]] = hours.counts.astype(np.int64).tolist()
    empty = next((place for place, row in enumerate(rows) if any(row)), len(rows) - 1)
    return hours.first + empty, list(rows[empty:])


class Verdict(NamedTuple):
    """How the fleet is, from WELL to DOWN, and what is to be said."""

    level: str
    words: str
    lines: tuple[str, ...]


def verdict(status: Status) -> Verdict:
    """Return what an operator should know first."""
    present = [d for d in status.devices if d.standing not in ("removed", "quarantined")]
    state = _sentence(f"{_heard(present)}, {_error(status)}")
    if status.service is None:
        words = "Nobody serves this fleet. This is what its folder says."
        return Verdict(DOWN, words, (state, *status.problems, *status.attention))
    if status.problems:
        first, *others = status.problems
        return Verdict(PROBLEM, _sentence(first), (state, *others, *status.attention))
    if status.attention:
        return Verdict(LOOK, f"{_who(status, present)} {state}", status.attention)
    if not present:
        return Verdict(WELL, "This fleet has no devices yet: `paofed fleet add` makes some.", ())
    return Verdict(WELL, f"All is well: {state[0].lower()}{state[1:]}", ())


def _who(status: Status, present: Sequence[DeviceStatus]) -> str:
    """Say how many devices somebody should look at, and what for."""
    if status.quiet_since is not None:
        return "No device at all is heard, for longer than is usual."
    faulty = [device for device in present if device.faults]
    if not faulty:  # nobody is named: it was many at once
        return "Many devices changed at the same time."
    kinds = Counter(fault.kind for device in faulty for fault in device.faults)
    named = ", ".join(f"{kinds[kind]:,} {_NAMES[kind]}" for kind in KINDS if kinds[kind])
    need = "needs" if len(faulty) == 1 else "need"
    return f"{counted(len(faulty), 'device')} {need} somebody to look: {named}."


def _heard(present: Sequence[DeviceStatus]) -> str:
    """Say how many devices are heard."""
    kinds = [{fault.kind for fault in device.faults} for device in present]
    never = sum(device.last_seen is None for device in present)
    lost = sum("silent" in its for its in kinds)
    heard = len(present) - never - lost
    some = "all" if heard == len(present) else f"{heard:,} of"
    said = f"{some} {counted(len(present), 'device')} {'is' if heard == 1 else 'are'} heard"
    return f"{said}, {never:,} never joined" if never else said


def _error(status: Status) -> str:
    error = status.error
    if error is None:
        return "and none has said yet how well it predicts"
    now, usual = status.in_unit(error.now), status.in_unit(error.usual)
    as_usual = abs(error.now - error.usual) < _LITTLE
    return f"error {now}, as usual" if as_usual else f"error {now}, usually {usual}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


# Views as messages


def whole(view: View) -> Message:
    """Return a message with the whole view."""
    return {
        **view.plain,
        "fields": FIELDS,
        "devices": view.devices,
        "bins": _packed(view, view.first_bin),
        "hours": {"first": view.first_hour, "from": view.first_hour, "rows": view.hours},
    }


def changes(old: View, new: View) -> Message:
    """Return what is different, at least the time; rows of devices by their index."""
    message = {k: v for k, v in new.plain.items() if k == "now" or old.plain[k] != v}
    if len(old.devices) != len(new.devices):
        message["devices"] = new.devices
    else:
        pairs = zip(old.devices, new.devices, strict=True)
        rows = {place: row for place, (was, row) in enumerate(pairs) if was != row}
        message |= {"rows": rows} if rows else {}
    bin = _first_different_bin(old, new)  # noqa: A001 (the word is what it is)
    if _is_told(old.first_bin, old.bins, new.first_bin, new.bins, bin):
        message["bins"] = _packed(new, bin)
    hour = _first_different(old.first_hour, old.hours, new.first_hour, new.hours)
    if _is_told(old.first_hour, old.hours, new.first_hour, new.hours, hour):
        rest = new.hours[hour - new.first_hour :]
        message["hours"] = {"first": new.first_hour, "from": hour, "rows": rest}
    return message


def says_something(message: Message) -> bool:
    """Whether anything but the time is different."""
    return message.keys() != {"now"}


def _packed(view: View, begin: int) -> Message:
    """Return the bins from number `begin` on; their cells are bytes, packed."""
    place = begin - view.first_bin
    cells = np.ascontiguousarray(view.cells[place:]).tobytes()
    return {
        "width": view.width,
        "first": view.first_bin,
        "from": begin,
        "devices": view.cells.shape[1],
        "rows": view.bins[place:],
        "cells": base64.b64encode(zlib.compress(cells)).decode(),
    }


def _first_different_bin(old: View, new: View) -> int:
    """Return the number of the first different bin; the first of all if bins are another width."""
    if old.width != new.width or old.cells.shape[1] != new.cells.shape[1]:
        return new.first_bin
    rows = _first_different(old.first_bin, old.bins, new.first_bin, new.bins)
    begin = max(old.first_bin, new.first_bin)
    was, now = old.cells[begin - old.first_bin :], new.cells[begin - new.first_bin :]
    common = min(len(was), len(now))
    different = np.flatnonzero((was[:common] != now[:common]).any(axis=1))
    return min(rows, begin + int(different[0])) if different.size else rows


def _first_different(old_first: int, old: list[Any], new_first: int, new: list[Any]) -> int:
    """Return the number of the first row that is new or different."""
    begin = max(old_first, new_first)
    if new_first < old_first or begin >= old_first + len(old):
        return new_first
    was, now = old[begin - old_first :], new[begin - new_first :]
    for place, (a, b) in enumerate(zip(was, now, strict=False)):
        if a != b:
            return begin + place
    return begin + min(len(was), len(now))


def _is_told(
    old_first: int, old: list[Any], new_first: int, new: list[Any], different: int
) -> bool:
    """Whether a series has a different row, or begins or ends elsewhere."""
    return different < new_first + len(new) or (old_first, len(old)) != (new_first, len(new))
