"""A device in C whose model sees transforms, given samples as people measure them."""

import math
from collections.abc import Sequence

from paofed.device_c.agreed import agreed_in_c
from paofed.device_c.kit import header
from paofed.live.protocol.manifest import Manifest
from tests.device_c.building import host_program
from tests.device_c.driven import Driven, Floats32

Value = float | str | None


class Seeing:
    """A program that was built with a fleet's header."""

    def __init__(self, manifest: Manifest, device: int = 3, fleet: str | None = None) -> None:
        """`fleet` is a header; without one, it is made here."""
        agreed = agreed_in_c(manifest)
        assert agreed.seen is not None
        self.names, self._timed = agreed.seen.inputs, agreed.seen.timed
        self.c = Driven(host_program("driver", fleet=fleet or header(agreed, "")))
        self.c.agree(agreed)
        self.c.begin(device)

    def values(self, x: Sequence[Value], time: float) -> list[float]:
        """The values that C is given, NaN for what is missing."""
        found = [self._value(place, value) for place, value in enumerate(x)]
        return [*found, time] if self._timed else found

    def _value(self, place: int, value: Value) -> float:
        if isinstance(value, str):
            return self.c.place(place, value)
        return math.nan if value is None else value

    def sees(self, x: Sequence[Value], time: float) -> Floats32:
        return self.c.sees(self.values(x, time))

    def learn(self, x: Sequence[Value], y: float, time: float) -> bool:
        return self.c.learn(self.values(x, time), y)

    def predict(self, x: Sequence[Value], time: float) -> float:
        return float(self.c.predict(self.values(x, time)))

    def remember(self, x: Sequence[Value], y: Value, time: float) -> None:
        assert not isinstance(y, str)
        self.c.remember(self.values(x, time), math.nan if y is None else y)
