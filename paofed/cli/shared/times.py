"""Times in a fleet's past, as people write and read them."""

import re
import time
from datetime import datetime

from paofed.errors import InputError
from paofed.live.journal.store import Store

TIME_HELP = "a tick (1200), so long ago (90m, 2h, 3d), or a date and time (2026-11-16T08:00)"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def tick_of(text: str, store: Store) -> int:
    """Return the tick that a text means; refuse one before the journal begins."""
    oldest = store.reaches()
    # With or without the commas with which ticks are printed.
    if re.fullmatch(r"[0-9]{1,10}|[0-9]{1,3}(,[0-9]{3}){1,3}", text):
        tick = int(text.replace(",", ""))
        seconds = store.time_of(tick)
    else:
        seconds = _seconds(text)
        tick = store.tick_at(seconds)
    if tick < oldest or seconds < store.time_of(oldest):
        raise InputError(
            f"the journal of {store.folder} reaches back to {when(store.time_of(oldest))}, tick "
            f"{oldest}: {text} is earlier"
        )
    return tick


def when(seconds: float) -> str:
    """Write a time as a date, in this machine's zone."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(sep=" ", timespec="seconds")


def _seconds(text: str) -> float:
    ago = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smhdw])", text)
    if ago is not None:
        return time.time() - float(ago[1]) * _SECONDS[ago[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise InputError(f"the time {text!r} cannot be read: expected {TIME_HELP}") from None
