"""The device in C among the devices of a rehearsal, in the place of some that are in Python."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.rehearsal.auditor import BrokenPromiseError
from lab.rehearsal.misfortunes import Unlucky, lasting
from paofed.device_c.agreed import agreed_in_c
from paofed.errors import InputError
from paofed.live.protocol.edge import Clock, Edge
from paofed.live.protocol.manifest import Manifest
from tests.device_c.building import host_program
from tests.device_c.driven import WHOLE, Driven, Told

IN_C = 3  # of the five devices of a rehearsal, the first ones
POINTS = ("device in C", "save of C cut off", "restart in C", "manifest adopted in C", "read in C")
_MOST_KEPT = 1400  # bytes: a little more than a device with the sizes of these tests saves


def can_be_in_c(manifest: Manifest) -> bool:
    """Whether the device in C of these tests, which sees scaled numbers, can follow this."""
    try:
        return agreed_in_c(manifest).seen is None
    except InputError:
        return False


class EdgeInC:
    """What a rehearsal asks of an edge, answered by a device in C."""

    def __init__(self, manifest: Manifest, device: int, patience: int) -> None:
        self.manifest, self.device, self.patience = manifest, device, patience
        self._doubt = 256
        self._known = {manifest.epoch: manifest}
        self.c = Driven(host_program("driver"))
        self.c.agree(agreed_in_c(manifest))
        self.begin()

    def begin(self) -> bool:
        """Power comes on; what was read since the last save is to be read again."""
        saved = self.c.begin(self.device, self.patience, self._doubt)
        self.manifest = self._known[self.told.epoch]
        return saved

    def under(self, manifest: Manifest) -> "EdgeInC | Edge":
        """Go on under another manifest; one that C cannot follow is for a device in Python."""
        if not can_be_in_c(manifest):
            edge = Edge(manifest, self.device, patience=self.patience)
            edge.stamped = self.told.stamped  # no tick is used twice
            return edge
        self.manifest = self._known[manifest.epoch] = manifest
        if not self.c.follow(manifest.to_json()):
            self.c.adopt(agreed_in_c(manifest), self._doubt)
        return self

    @property
    def told(self) -> Told:
        return self.c.state()

    @property
    def doubt(self) -> int:
        return self._doubt

    @doubt.setter
    def doubt(self, ticks: int) -> None:
        self._doubt = ticks
        self.c.tell(f"D {ticks:x}")

    @property
    def clock(self) -> Clock | None:
        tick = self.told.tick
        return None if tick < 0 else Clock(tick, 0.0)

    @clock.setter
    def clock(self, clock: Clock | None) -> None:
        self.c.tell("T -" if clock is None else f"T {clock.tick - self.told.tick:x}")

    @property
    def w(self) -> NDArray[np.float32]:
        return self.told.w

    @property
    def outdated(self) -> bool:
        return self.told.outdated

    @property
    def unanswered(self) -> int:
        return self.told.unanswered

    @property
    def merged(self) -> int:
        return self.told.merged

    @property
    def unconfirmed(self) -> list[int]:
        return self.told.waiting

    def learn(self, x: Any, y: float) -> bool:
        return self.c.learn(x, y)

    def contact(self, seconds: float) -> bytes | None:
        return self.c.contact(seconds)

    def receive(self, payload: bytes, seconds: float) -> frozenset[int]:
        return frozenset(self.c.receive(payload, seconds))

    def state(self) -> dict[str, NDArray[Any]]:
        told = self.told
        numbers = told.epoch, told.joined, told.news, told.merged, told.stamped, *told.waiting
        return {"model": told.w, "numbers": np.array(numbers), "recent": told.recent}


class UnluckyInC(Unlucky):
    """A device of a rehearsal, of which the first few are in C while their fleet allows it."""

    edge: Any
    in_c = True  # until it cannot be; what C saved is not for Python, nor the other way round

    def _new_edge(self, manifest: Manifest) -> Any:
        self.in_c = self.in_c and self._device < IN_C and can_be_in_c(manifest)
        if not self.in_c:
            return super()._new_edge(manifest)
        return self._doubting(EdgeInC(manifest, self._device, 1 + self._device % 2))  # type: ignore[arg-type]

    def live(self) -> None:
        in_c, reads = isinstance(self.edge, EdgeInC), self._fate.hits["read"]
        super().live()
        self._fate.hits["device in C"] += in_c
        self._fate.hits["read in C"] += in_c and self._fate.hits["read"] > reads

    def _adopt(self) -> None:
        before = self.edge.manifest
        super()._adopt()
        if isinstance(self.edge, EdgeInC):
            self._fate.hits["manifest adopted in C"] += self.edge.manifest != before
        elif self.in_c:
            self.in_c, self._saved, self._kept = False, -1, {}

    def _save(self) -> None:
        if not self.in_c:
            super()._save()
            return
        self._save_in_c()

    def _save_in_c(self, written: int = WHOLE) -> None:
        self._saved, self._kept = self._began, lasting(self.edge.state())
        self.edge.c.save(written)

    def _save_a_part(self) -> None:
        if not self.in_c:
            super()._save_a_part()
            return
        before = self._saved, self._kept
        written = int(self._fate.random.integers(_MOST_KEPT))
        self._save_in_c(written)
        whole = self.edge.begin()  # what it finds must be this, or what was saved before
        if not whole or lasting(self.edge.state()) != self._kept:
            self._fate.hits["save of C cut off"] += 1
            self._saved, self._kept = before

    def _lose_state(self) -> None:
        super()._lose_state()
        if self.in_c:
            self.edge.c.forget()

    def _restart(self) -> None:
        if not self.in_c:
            super()._restart()
            return
        self._fate.hits["restart in C"] += 1
        saved = self.edge.begin()
        self._began = self._saved
        if saved != bool(self._kept):
            raise BrokenPromiseError(f"device {self._device} lost all that it had saved")
        now = lasting(self.edge.state())
        same_epoch = saved and now["numbers"][:8] == self._kept["numbers"][:8]
        if same_epoch and now != self._kept:
            raise BrokenPromiseError(f"device {self._device} lost what it had saved")
