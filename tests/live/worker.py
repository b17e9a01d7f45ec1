"""A device as a process of its own, that writes down what it believes safe."""

import os
import sys
import time
from pathlib import Path

from paofed.live.device.device import Device
from tests.live.brokers import TICK, sample


class Audited(Device):
    """Notes every confirmation before anything else happens."""

    notes: int

    def _safe(self, ticks: frozenset[int]) -> None:
        for tick in sorted(ticks):
            os.write(self.notes, f"{tick}\n".encode())
        super()._safe(ticks)


def main(file: str, state: str, notes: str) -> None:
    """Learn and contact until killed."""
    Audited.notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    device = Audited(Path(file), state=Path(state), save_every=TICK)
    number = 0
    while True:
        number += 1
        if device.knows_fleet():
            device.learn(*sample(number))
        device.contact(2 * TICK)
        time.sleep(TICK / 2)


if __name__ == "__main__":
    main(*sys.argv[1:])
