"""One device of the demonstration, as a process: it goes through its part of a trace."""

import signal
import sys
import time
from pathlib import Path

from paofed.live.device.device import Device, seconds
from paofed.world.trace import Trace


def live(file: Path, trace: Trace, state: Path, first: int) -> None:
    """Learn from each tick's sample, and contact the server where the trace says so.

    `first` is the server's tick at which the trace begins. A device that was killed goes on at the
    present tick.
    """
    with Device(file, state=state, save_every=1.0) as device:
        k = device.device
        while not device.knows_fleet() or device.edge.tick(seconds()) is None:
            device.contact(1.0)
        now = -1
        while True:
            while (tick := (device.edge.tick(seconds()) or 0) - first) <= now:
                time.sleep(device.manifest.tick_seconds / 10)
            now = max(tick, -1)  # samples of the time that the device was away are missed
            if now >= trace.ticks:
                return
            if now >= 0 and trace.has_data[now, k]:
                device.learn(trace.x[now, k], float(trace.y[now, k]))
            if now >= 0 and trace.available[now, k]:
                device.contact(device.manifest.tick_seconds)


def main(file: str, trace: str, state: str, first: str) -> None:
    """Run the device until the trace ends, or somebody ends the process."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    live(Path(file), Trace.load(trace), Path(state), int(first))


if __name__ == "__main__":
    main(*sys.argv[1:])
