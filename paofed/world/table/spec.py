"""A table of readings as a stream: which column is what, as a small value."""

from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from paofed.core.columns.calendar import zone_of
from paofed.core.columns.transform import Transform
from paofed.errors import InputError
from paofed.world.names import MISSING, Duplicates
from paofed.world.table.columns import TIME, Column, column
from paofed.world.value import Value


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _known_column(text: str) -> str:
    try:
        column(text)
    except InputError as error:
        raise ValueError(str(error)) from None
    return text


def _known_target(text: str) -> str:
    if not column(_known_column(text)).is_one_number:
        raise ValueError("expected a target of one number: standardised, log1p or raw")
    return text


def _one_byte(text: str) -> str:
    if len(text.encode()) != 1:
        raise ValueError("expected one character of ASCII")
    return text


def _known_zone(name: str) -> str:
    try:
        zone_of(name)
    except InputError as error:
        raise ValueError(str(error)) from None
    return name


def _different(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} is given twice")
    return names


Name = Annotated[str, Field(min_length=1)]
Names = Annotated[
    tuple[Name, ...],
    Field(min_length=1, strict=False),
    BeforeValidator(_listed),
    AfterValidator(_different),
]
Inputs = Annotated[
    tuple[Annotated[Name, AfterValidator(_known_column)], ...],
    Field(min_length=1, strict=False),
    BeforeValidator(_listed),
    AfterValidator(_different),
]


class Records(NamedTuple):
    """What a table leaves behind for later rows: the records of its inputs, and its ticks."""

    inputs: tuple[Transform, ...]
    calendar: bool  # whether times are seconds since 1970, or plain numbers
    origin: float  # the time at which tick 0 begins
    tick: float  # the length of a tick

    @property
    def look_back(self) -> bool:
        """Whether some inputs are made of earlier rows."""
        return any(max(record.lags) for record in self.inputs)

    @property
    def need_time(self) -> bool:
        """Whether inputs depend on when a row was measured."""
        return self.look_back or any(record.measures == "time" for record in self.inputs)


class Table(Value):
    """Readings of a real fleet, from a CSV or Parquet file: one row per device and time.

    The transforms are fitted on a calibration period; the first tick comes after it.
    """

    kind: Literal["table"] = "table"
    file: str
    device: Name | None = None  # the column that names the device; None: `wide` is given
    # The quantity that all columns but the time measure, one column per device.
    wide: Name | None = None
    time: Names  # one column, or several: year, month, ... or a date and a time of day
    target: Annotated[Name, AfterValidator(_known_target)]
    inputs: Inputs
    calibration: Name = "10%"  # until when: a time, a length, or a share of the time covered
    score_from: Name | None = None  # the errors before this moment do not count; None: all count
    until: Name | None = None  # rows after this moment are dropped; None: all rows are used
    tick: Name | None = None  # a length; None: the usual time between two readings, or less
    # As in strptime, or "unix", "unix-ms", "number"; None: ISO 8601, or numbers.
    time_format: Name | None = None
    # The zone of times that do not say one.
    zone: Annotated[Name, AfterValidator(_known_zone)] | None = None
    # Which reading counts where a device has several in one tick.
    duplicates: Duplicates = "refuse"
    missing: Annotated[tuple[str, ...], Field(strict=False), BeforeValidator(_listed)] = MISSING
    # The column with the group of a device; None: grouped by how many readings a device has.
    group: Name | None = None
    # The separator of columns in a CSV.
    separator: Annotated[str, AfterValidator(_one_byte)] | None = None
    decimal: Literal[".", ","] = "."  # the decimal point of numbers in a CSV

    def is_time(self, col: Column, *, calendar: bool) -> bool:
        """Whether the values of a column are the times of the readings."""
        cyclic = col.transform == "cyclic" and calendar and self.time == (col.name,)
        return col.is_calendar or cyclic

    @model_validator(mode="after")
    def _names_devices(self) -> Self:
        if (self.device is None) == (self.wide is None):
            raise ValueError(
                "expected `device`, the column that names the device, or `wide`, what all columns "
                "but the time measure: one of the two"
            )
        if self.wide is None:
            return self
        if self.group is not None:
            raise ValueError(f"group is {self.group}: all columns of a wide table are devices")
        if self.wide in self.time:
            raise ValueError(f"{self.wide} is the time: expected a word for what devices measure")
        if column(self.target).name != self.wide:
            raise ValueError(
                f"the target is {self.target}: expected {self.wide}, which is all that is measured"
            )
        return self

    @model_validator(mode="after")
    def _predicts_something_else(self) -> Self:
        target = column(self.target).name
        for col in map(column, self.inputs):
            if col.name == target and not col.lag:
                raise ValueError(
                    f"{target} is the target and an input: expected other inputs, or an earlier "
                    f"value of {target}, as in {target}:lag=1"
                )
        return self

    @model_validator(mode="after")
    def _has_such_a_time(self) -> Self:
        named = {TIME} if len(self.time) > 1 else {TIME, *self.time}
        for col in map(column, self.inputs):
            if col.is_calendar and col.name not in named:
                raise ValueError(
                    f"{col.name}:{col.transform} is no input: expected {TIME}:{col.transform}, "
                    f"since the {col.transform} is that of the time of a reading"
                )
        return self
