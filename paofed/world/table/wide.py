"""Wide tables: one column per device, as one row per device and time."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

DEVICE = "device"  # what names the device, once there is a row for each


class Wide(NamedTuple):
    """Which columns are the time; all others are devices, and this is what they measure."""

    time: tuple[str, ...]
    value: str

    @property
    def known(self) -> list[str]:
        """The columns that there are in the end."""
        return [*self.time, DEVICE, self.value]

    def devices(self, header: Sequence[str]) -> list[str]:
        """The columns of a header that are devices."""
        return [name for name in header if name not in self.time]

    def long(self, frame: pl.DataFrame) -> pl.DataFrame:
        """One row per device and time: all rows of a device, then all of the next."""
        devices = self.devices(frame.columns)
        numeric = all(frame[name].dtype.is_numeric() for name in devices)
        common = pl.Float64 if numeric else pl.String
        frame = frame.with_columns(pl.col(devices).cast(common))
        return frame.unpivot(
            on=devices, index=self.time, variable_name=DEVICE, value_name=self.value
        )
