"""Wide tables: one column per device, as one row per device and time."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

DEVICE = "device"  # the name of the column with the device, once each device has its own rows


class Wide(NamedTuple):
    """Which columns are the time, and what all other columns, the devices, measure."""

    time: tuple[str, ...]
    value: str

    @property
    def known(self) -> list[str]:
        """The columns after `long`: the time, the device and its values."""
        return [*self.time, DEVICE, self.value]

    def devices(self, header: Sequence[str]) -> list[str]:
        """Return the columns of a header that are devices."""
        return [name for name in header if name not in self.time]

    def long(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return one row per device and time: all rows of the first device, then of the next."""
        devices = self.devices(frame.columns)
        numeric = all(frame[name].dtype.is_numeric() for name in devices)
        common = pl.Float64 if numeric else pl.String
        frame = frame.with_columns(pl.col(devices).cast(common))
        return frame.unpivot(
            on=devices, index=self.time, variable_name=DEVICE, value_name=self.value
        )
