"""Lengths of time and moments, as people write them and as they are told."""

import math
import re
import time
from datetime import datetime

import numpy as np

_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def seconds(text: str) -> float | None:
    """Read a length of time such as 15min, 1h or 30d; None where the text is something else.

    >>> seconds("15min"), seconds("2w"), seconds("2014-03-01")
    (900.0, 1209600.0, None)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(ms|s|min|h|d|w)", text.strip())
    length = float(found[1]) * _UNITS[found[2]] if found else 0.0
    return length if 0 < length < math.inf else None


def duration_text(length: float) -> str:
    """Write so many seconds as `seconds` reads them, to the last bit.

    >>> duration_text(3600.0), duration_text(5400.0), duration_text(1e-5)
    ('1h', '90min', '0.00001s')
    """
    for unit in ("w", "d", "h", "min", "s"):
        if length >= _UNITS[unit] and length % _UNITS[unit] == 0:
            return f"{number_text(length / _UNITS[unit])}{unit}"
    return f"{number_text(length)}s"


def duration(seconds: float) -> str:
    """Write a time as people say it, to the second or more coarsely.

    >>> duration(75), duration(4000)
    ('1 min 15 s', '1 h 06 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 2 * 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"


def moment(text: str, *, ago: bool) -> float | None:
    """Read a moment in seconds since 1970; None where the text is something else.

    The text is a date, perhaps with a time of day, or a length of time from now on, or `ago`.
    """
    if (length := seconds(text)) is not None:
        return time.time() + (-length if ago else length)
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def date_text(moment: float) -> str:
    """Write seconds since 1970 as a date and time, in this machine's zone."""
    return datetime.fromtimestamp(moment).astimezone().isoformat(sep=" ", timespec="seconds")


def number_text(number: float) -> str:
    """Write a number without an exponent so that the very same number is read again.

    >>> number_text(360.0), number_text(1e7 / 3)
    ('360', '3333333.3333333335')
    """
    return np.format_float_positional(number, trim="-")
