"""A view as a message, and what is different from one view to the next as a shorter one.

Of a series, all rows from the first different one on are sent, with the number of that row (`from`)
and of the oldest row that is still to be kept (`first`). The whole view is the difference from
nothing.
"""

import base64
import zlib
from typing import Any

import numpy as np

from paofed.live.server.web.page.view import FIELDS, View

Message = dict[str, Any]


def whole(view: View) -> Message:
    """Return a message with the whole view."""
    return {
        **view.plain,
        "fields": FIELDS,
        "devices": view.devices,
        "bins": _bins(view, view.first_bin),
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
        message["bins"] = _bins(new, bin)
    hour = _first_different(old.first_hour, old.hours, new.first_hour, new.hours)
    if _is_told(old.first_hour, old.hours, new.first_hour, new.hours, hour):
        rest = new.hours[hour - new.first_hour :]
        message["hours"] = {"first": new.first_hour, "from": hour, "rows": rest}
    return message


def says_something(message: Message) -> bool:
    """Whether anything but the time is different."""
    return message.keys() != {"now"}


def _bins(view: View, begin: int) -> Message:
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
