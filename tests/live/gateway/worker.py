"""A gateway as a process of its own, that writes down what its devices believe safe."""

import logging
import os
import sys
from pathlib import Path

from paofed.live.device.device import Device
from paofed.live.gateway.gateway import Gateway
from paofed.live.gateway.settings import GatewaySettings


def main(settings: str, notes: str) -> None:
    """Take part until killed."""
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    safe = Device._safe

    def noted(device: Device, ticks: frozenset[int]) -> None:
        """Note every confirmation before anything else happens."""
        for tick in sorted(ticks):
            os.write(file, f"{device.device} {tick}\n".encode())
        safe(device, ticks)

    Device._safe = noted  # type: ignore[method-assign, assignment]
    Gateway(GatewaySettings.load(Path(settings)), logging.getLogger("gateway")).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
