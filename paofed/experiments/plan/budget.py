"""A budget: the bytes a day that people may spend, and what that is for a device and a tick."""

import math
import re
from numbers import Real
from typing import NamedTuple

from paofed.errors import InputError, unknown
from paofed.words import size
from paofed.world.worlds import Setting

DAY = 86400.0
_UNITS = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}
_PERIODS = {"hour": 3600.0, "day": DAY, "week": 7 * DAY, "month": 30 * DAY}
_RUN = "run"
_FORM = re.compile(
    rf"(\d+(?:\.\d+)?) ?({'|'.join(_UNITS)})/({'|'.join((*_PERIODS, _RUN))})(/device)?"
)


class Budget(NamedTuple):
    """Bytes on the wire, both ways, in a time: of each device on average, or of a whole fleet."""

    bytes: float
    per: str  # a period, or a run
    device: bool  # whether the bytes are of each device, rather than of the whole fleet

    @property
    def word(self) -> str:
        """The budget as the command line takes it."""
        unit = next(u for u in reversed(_UNITS) if self.bytes >= _UNITS[u] or u == "B")
        return f"{self.bytes / _UNITS[unit]:g}{unit}/{self.per}{'/device' if self.device else ''}"

    def per_device_and_tick(self, scenario: Setting) -> float:
        """Return the bytes that a device may spend in a tick.

        Refused if neither the scenario nor its table says how long a tick is.
        """
        own = self.bytes if self.device else self.bytes / scenario.clients
        if self.per == _RUN:
            return own / scenario.ticks
        length = scenario.tick_seconds
        if length is None:
            raise InputError(
                f"a budget of {self.word} needs to know how long a tick is, and {scenario.name} "
                f'does not say: give --tick 1h (in a file: tick = "1h"), or a budget of a whole '
                f"run, as in {size(self.bytes).replace(' ', '')}/run"
            )
        return own * length / _PERIODS[self.per]


def budget_of(given: Budget | str) -> Budget:
    """Return the budget that people give in words or as a record; a kilobyte is 1000 bytes.

    >>> budget_of("2kB/day/device")
    Budget(bytes=2000.0, per='day', device=True)
    >>> budget_of("3MB/run").word
    '3MB/run'
    """
    if isinstance(given, Budget):
        if given.per not in (*_PERIODS, _RUN):
            known = (*_PERIODS, _RUN)
            raise InputError(unknown("time of a budget", str(given.per), known), key="budget")
        if not 0 < number("bytes of a budget", given.bytes) < math.inf:
            raise InputError(
                f"a budget of {given.bytes:g} bytes: expected more than 0", key="budget"
            )
        return given
    found = _FORM.fullmatch(str(given).strip())
    if found is None or not float(found[1]):
        raise InputError(
            f"budget is {given!r}: expected bytes ({', '.join(_UNITS)}) in a time "
            f"({', '.join(_PERIODS)} or {_RUN}), of a fleet or of each device, as in "
            f"2kB/day/device",
            key="budget",
        )
    return Budget(float(found[1]) * _UNITS[found[2]], found[3], found[4] is not None)


def number(what: str, value: object) -> float:
    """Take a number, Python's or NumPy's, and refuse everything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{what} is {value!r}: expected a number", key=what)
    return float(value)


def error_of(given: float | str) -> float:
    """Return the error in dB that people give as a number or as text, such as -7dB.

    >>> error_of("-7dB"), error_of(-6.5)
    (-7.0, -6.5)
    """
    text = str(given).strip()
    found = re.fullmatch(r"([+-]?\d+(?:\.\d+)?) ?(?:dB)?", text)
    if found is None:
        raise InputError(f"error is {given!r}: expected decibels, as in -7dB", key="error")
    return float(found[1])
