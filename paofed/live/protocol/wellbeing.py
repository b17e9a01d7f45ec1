"""How a fleet is doing, as its updates say: how well each device predicts, and whether it counts.

All of this is a function of the journal. It changes when a tick closes, by all updates of the tick
at once, so that a replay reproduces it bit for bit and the order of arrival changes nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from paofed.live.protocol.level import IMPLAUSIBLE, UNKNOWN, in_decibels
from paofed.live.protocol.presence import Indices, Presence, Said, blank, note_since
from paofed.live.protocol.shifts import Shifts
from paofed.live.protocol.trend import NEVER, Trend

FAR_WORSE = 6.0  # dB above the fleet's median
_SPREADS = 5.0  # and so many times as far from the median as the median device
FAR_FOR = 32  # contacts in a row: at least as many samples as a level remembers

_DEVICE = np.dtype(
    [
        ("level", np.uint8),  # the newest level
        ("said", np.int64),  # the tick of the update that told this level
        ("contacts", np.uint32),
        ("contact", np.int64),
        ("gap", np.float64),
        ("longest", np.float64),
        ("far", np.uint32),  # contacts in a row with a level far above the fleet's
        ("far_since", np.int64),  # a tick
        ("odd", np.uint8),
        ("implausible", np.uint32),
        ("implausible_since", np.int64),
        ("left_out", np.uint32),  # updates that counted little: the device was set aside
        ("aside_since", np.int64),  # a tick
    ]
)


class Wellbeing(Presence):
    """The presence of devices by their updates alone, their levels, and the fleet's error."""

    prefix: ClassVar[str] = "well_"
    row: ClassVar[NDArray[Any]] = blank(_DEVICE)

    def __init__(self) -> None:
        super().__init__()
        self.error = Trend()  # the median of the devices' errors, in dB
        self.shifts = Shifts()

    def note(self, tick: int, updates: Iterable[Said], aside: NDArray[np.bool_]) -> None:
        """Note the updates of a tick that closes; `aside` says whom the rule has set aside."""
        updates = sorted(updates)
        devices, sent, level = self.meet(tick, updates)
        # A device that was set aside before the tick counts as set aside throughout the tick.
        for device, _, _ in updates:
            self.devices["left_out"][device] += self.devices["aside_since"][device] != NEVER
        self._said(devices, sent, level)
        out = self._fitted(aside)
        note_since(self.devices["aside_since"], out, tick)
        self._compare(tick, devices, out)

    def _said(self, devices: Indices, sent: Indices, level: Indices) -> None:
        """Keep the level of the newest update; an update that comes late tells an older level."""
        newer = sent > self.devices["said"][devices]
        self.devices["said"][devices[newer]] = sent[newer]
        self.devices["level"][devices[newer]] = level[newer]

    def _compare(self, tick: int, devices: Indices, aside: NDArray[np.bool_]) -> None:
        """Compare each device with the median of those that are there and tell an error."""
        says, error = self._says(), in_decibels(self.devices["level"])
        there = self.telling(aside)
        judged = error[there]
        far = np.zeros(says.size, dtype=bool)  # stays so where there is nobody to compare with
        if judged.size:
            median = float(np.median(judged))
            spread = float(np.median(np.abs(judged - median)))
            self.error.follow(tick, median)
            far = says & (error > median + max(FAR_WORSE, _SPREADS * spread))
        told = devices[says[devices]]
        self.shifts.follow(tick, told, error[told], there)
        rows = self.devices[devices]
        rows["far"] = np.where(far[devices], rows["far"] + 1, 0)
        self.devices[devices] = rows
        note_since(self.devices["far_since"], self.devices["far"] > 0, tick)

    def _fitted(self, aside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whom the rule has set aside, one entry for each row."""
        out = np.zeros(self.devices.size, dtype=bool)
        out[: aside.size] = aside[: out.size]
        return out

    def _says(self) -> NDArray[np.bool_]:
        """Return whose newest update tells an error."""
        level = self.devices["level"]
        says: NDArray[np.bool_] = (level != UNKNOWN) & (level != IMPLAUSIBLE)
        return says

    def telling(self, aside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return who tells an error, is there, and is not set aside."""
        return self._says() & ~self._fitted(aside) & ~self.away(self.clock)

    def far_worse(self) -> NDArray[np.bool_]:
        """Return who predicts far worse than the fleet."""
        worse: NDArray[np.bool_] = self.devices["far"] >= FAR_FOR
        return worse

    # Snapshots

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the whole state as arrays."""
        more = {**self.error.arrays(), **self.shifts.arrays()}
        return {**super().arrays(), **{self.prefix + name: array for name, array in more.items()}}

    @classmethod
    def of(cls, saved: Mapping[str, NDArray[Any]]) -> Self:
        """Return what the arrays of a snapshot say."""
        wellbeing = super().of(saved)
        arrays = {name.removeprefix(cls.prefix): array for name, array in saved.items()}
        wellbeing.error.restore(arrays)
        wellbeing.shifts = Shifts.of_arrays(arrays)
        return wellbeing
