"""The law of labels: which samples have one, how late the label is, and which devices have labels.

A sample without a label is still a sample: its device may be available, has contacts, predicts and
is judged, and never learns from this sample. The command line has the law as one word, such as
`10%,late=24,devices=25%`.
"""

import math
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import numpy as np
from pydantic import Field, PlainValidator

from paofed.core.arrays import BoolArray, IntArray
from paofed.core.due import SampleLabels
from paofed.core.random import Key, philox
from paofed.durations import duration_text, seconds
from paofed.errors import ScenarioError, unknown
from paofed.words import counted, listed, number_or_text
from paofed.world.table.columns import column
from paofed.world.table.spec import Table
from paofed.world.value import ThresholdArray, Value, threshold

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings

_MOST_TICKS = 2**31
_LENGTHS = {"1h": "an hour", "1d": "a day", "1w": "a week"}
_ROUNDING = 1e-9  # of a tick: by how much a length may miss a whole number of ticks
_SAMPLES, _DEVICES = range(2)  # blocks of random words: for samples, and for devices


class GroupOfTable(Value):
    """The devices of one group of a table."""

    group: str


Who = float | tuple[int | str, ...] | GroupOfTable | None


def _who(value: Any) -> Who:
    """Check who has labels: a share of the fleet, a count, a list of devices, or a group."""
    if value is None or isinstance(value, GroupOfTable):
        return value
    if isinstance(value, dict):
        if list(value) == ["group"] and type(value["group"]) is str:
            return GroupOfTable(group=value["group"])
    elif isinstance(value, list | tuple):
        if value and all(_is_device(one) for one in value):
            if len(set(map(str, value))) == len(value):
                return tuple(value)
            raise ValueError("a device is given twice")
    elif (type(value) is int and value >= 1) or (type(value) is float and 0 < value <= 1):
        return value
    raise ValueError(
        "expected a share up to 1.0, a count from 1 on, a list of devices, or { group = NAME }"
    )


def _is_device(value: Any) -> bool:
    return (type(value) is int and value >= 0) or (type(value) is str and value != "")


def _late(value: Any) -> int | str:
    if type(value) is int and 0 <= value < _MOST_TICKS:
        return value
    if type(value) is str and seconds(value) is not None:
        return value
    raise ValueError("expected a number of ticks from 0 on, or a length such as 1d")


class SettledLabels(NamedTuple):
    """The law of labels over one fleet, as it is drawn."""

    limit: ThresholdArray  # a sample whose word is below has a label
    late: int  # ticks
    who: tuple[int, ...] | None  # the devices that have labels; None: so many are drawn
    how_many: int
    clients: int

    @property
    def everybody(self) -> bool:
        """Whether all devices have labels."""
        return self.how_many == self.clients

    def holders(self, key: Key, purpose: int) -> BoolArray:
        """Return which devices have labels in a run, (K,): those with the lowest numbers drawn."""
        numbers = philox(key, np.arange(self.clients), 0, _DEVICES, purpose)[0]
        drawn = np.argsort(numbers, kind="stable")[: self.how_many]
        found = np.zeros(self.clients, dtype=bool)
        found[drawn if self.who is None else list(self.who)] = True
        return found

    def of_samples(self, key: Key, n: IntArray, k: IntArray, purpose: int) -> SampleLabels:
        """Return the labels of samples of clients k at ticks n, whose shapes fit together."""
        words = philox(key, k, n, _SAMPLES, purpose)[0]
        given = np.less(words, self.limit) & self.holders(key, purpose)[k]
        return SampleLabels(given, np.full(given.shape, self.late, dtype=np.int64))


class Labels(Value):
    """Which samples have a label, and when it comes."""

    share: Annotated[float, Field(gt=0, le=1)] = 1.0  # of the samples of a device that has labels
    # Ticks from a sample to its label, or a length of time.
    late: Annotated[int | str, PlainValidator(_late)] = 0
    # Who has labels, as `Who` says; None: all devices have.
    devices: Annotated[Any, PlainValidator(_who)] = None

    def settled(
        self, clients: int, tick_seconds: float | None, table: tuple[Table, "Readings"] | None
    ) -> SettledLabels:
        """Fit the law to a fleet; refuse a fleet that it does not fit."""
        late = self._ticks_late(tick_seconds, over_table=table is not None)
        who, count = self._picked(clients, table[1] if table else None)
        found = SettledLabels(threshold(self.share), late, who, count, clients)
        if table and (self.share < 1 or late or not found.everybody):
            self._require_known_inputs(table[0], found)
        return found

    def in_words(self, tick_seconds: float | None, holders: str) -> str:
        """Say which samples have labels, and when; nothing where every sample has one at once.

        `holders` are the devices that have labels; empty: all of them.

        >>> Labels(share=0.1, late="1d").in_words(None, "")
        'on 10 % of the samples, a day late'
        >>> Labels(late=24, devices=0.25).in_words(None, "3 of 12 devices")
        'on every sample of 3 of 12 devices, 24 ticks late'
        """
        if self.share == 1 and self._is_at_once and not holders:
            return ""
        which = "every sample" if self.share == 1 else f"{100 * self.share:.4g} % of the samples"
        said = f"on {which}{f' of {holders}' if holders else ''}"
        return said if self._is_at_once else f"{said}, {self._late_in_words(tick_seconds)} late"

    @property
    def _is_at_once(self) -> bool:
        return self.late == 0

    def _late_in_words(self, tick_seconds: float | None) -> str:
        if isinstance(self.late, str):
            length = duration_text(seconds(self.late) or 0.0)
        elif tick_seconds is None:
            return counted(self.late, "tick")
        else:
            length = duration_text(self.late * tick_seconds)
        return _LENGTHS.get(length, length)

    def _ticks_late(self, tick_seconds: float | None, *, over_table: bool) -> int:
        if isinstance(self.late, int):
            return self.late
        if tick_seconds is None:
            why = (
                "the times of the table are plain numbers"
                if over_table
                else "nobody says how long a tick is: give `tick`"
            )
            _refuse("late", self.late, f"ticks, since {why}")
        ticks = math.ceil((seconds(self.late) or 0.0) / tick_seconds - _ROUNDING)
        if ticks >= _MOST_TICKS:
            _refuse("late", self.late, f"fewer than 2^31 ticks, and this is {ticks:,}")
        return ticks

    def _picked(
        self, clients: int, readings: "Readings | None"
    ) -> tuple[tuple[int, ...] | None, int]:
        """Return the devices that have labels, or None where they are drawn; and how many."""
        if self.devices is None:
            return None, clients
        if isinstance(self.devices, GroupOfTable):
            return self._grouped(self.devices.group, readings.groups if readings else ())
        if isinstance(self.devices, tuple):
            names = readings.devices if readings else ()
            found = tuple(_index(one, clients, names) for one in self.devices)
            if len(set(found)) < len(found):
                _refuse("devices", listed(list(map(str, self.devices))), "each device once")
            return found, len(found)
        count = self.devices
        if type(count) is float:
            count = max(1, round(count * clients))
        if count > clients:
            _refuse("devices", count, f"at most {clients}, as many as there are")
        return None, int(count)

    def _grouped(self, name: str, groups: tuple[str, ...]) -> tuple[tuple[int, ...], int]:
        if not groups:
            _refuse("devices.group", name, "another choice, since this fleet has no groups")
        found = tuple(k for k, group in enumerate(groups) if group == name)
        if not found:
            known = unknown("group", name, dict.fromkeys(groups))
            key = "labels.devices.group"
            raise ScenarioError(f"{key}: {known}", key=key)
        return found, len(found)

    def _require_known_inputs(self, table: Table, settled: SettledLabels) -> None:
        """Refuse inputs that are labels which a device does not have when it predicts."""
        target = column(table.target).name
        for text in table.inputs:
            col = column(text)
            late = self.share == 1 and settled.everybody and settled.late < col.lag
            if col.name == target and not late:
                raise ScenarioError(
                    f"{text} is an input, and a device knows it only if it has the label of that "
                    f"sample by then: with [labels], expected other inputs",
                    key="stream.inputs",
                )


def _refuse(key: str, got: object, expected: str) -> NoReturn:
    raise ScenarioError(f"labels.{key} is {got}: expected {expected}", key=f"labels.{key}")


def _index(one: int | str, clients: int, names: tuple[str, ...]) -> int:
    """Return the index of a device that is given by its name, or by its number."""
    if str(one) in names:
        return names.index(str(one))
    if str(one).isdecimal():
        if int(one) < clients:
            return int(one)
        _refuse("devices", one, f"a client from 0 to {clients - 1}")
    if not names:
        _refuse("devices", one, f"numbers of clients, 0 to {clients - 1}")
    known = unknown("device", str(one), names)
    raise ScenarioError(f"labels.devices: {known}", key="labels.devices")


_OPTIONS = ("share", "late", "devices", "group")


def parted(text: str) -> dict[str, Any]:
    """Split a word such as `10%,late=24,devices=25%` into a dictionary.

    A part without a key is the share. Several devices are joined by +; `group` is that of a table.

    >>> parted("10%,late=1d,devices=north+south")
    {'share': 0.1, 'late': '1d', 'devices': ['north', 'south']}
    >>> parted("late=24,group=coast")
    {'late': 24, 'devices': {'group': 'coast'}}
    """
    values: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, said = part.partition("=")
        if not equals:
            key, said = "share", key
        if key not in _OPTIONS:
            raise ScenarioError(f"{text}: {unknown('option', key, _OPTIONS)}")
        if not said.strip():
            raise ScenarioError(f"{text}: option {key!r} has no value: write {key}=VALUE")
        value = _value(key, said.strip())
        name = "devices" if key == "group" else key
        if name in values:
            raise ScenarioError(f"{text}: option {name!r} is given twice")
        values[name] = value
    return values


def _value(key: str, said: str) -> Any:
    if key == "group":
        return {"group": said}
    if said.endswith("%") and isinstance(part := number_or_text(said[:-1]), int | float):
        return part / 100
    if key == "devices" and ("+" in said[1:] or isinstance(number_or_text(said), str)):
        return [name for name in said.split("+") if name]
    return number_or_text(said)
