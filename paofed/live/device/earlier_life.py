"""Takes up a device from the state file of its last start."""

import logging
import os
from pathlib import Path

from paofed.errors import FileError, InputError
from paofed.live.device.state import load_state, saved_manifest
from paofed.live.protocol.edge import Edge

_log = logging.getLogger("paofed.device")
TOO_LARGE = (
    "with %s, the model's numbers are too large to be sent (a wrong sample, or a step size of %g "
    "that is too large): this device starts again from the fleet's model"
)


def taken_up(state: Path, device: int, since: float, patience: int) -> Edge | None:
    """Return a device as it was saved; put aside a file that is damaged or of another fleet."""
    if not state.exists():
        return None
    if not os.access(state, os.R_OK):
        raise FileError(f"{state} may not be read")
    try:
        manifest = saved_manifest(state)
        if manifest is None or manifest.start != since:
            raise FileError(f"{state} is of another fleet")
        edge = Edge(manifest, device, patience=patience)
        if not load_state(state, edge):
            raise FileError(f"{state} is of another device")
        if edge.restarts:
            _log.warning(TOO_LARGE, "what was saved", manifest.step_size)
    except InputError as error:
        aside = state.with_name(state.name + ".aside")
        why = str(error).partition(":")[0]
        _log.warning("%s; it is now %s, and this device joins anew", why, aside.name)
        state.replace(aside)
        return None
    return edge
