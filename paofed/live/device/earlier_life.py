"""Takes up a device from the state file of its last start."""

import logging
import os
from itertools import count
from pathlib import Path

from paofed.errors import FileError, InputError
from paofed.live.device.state import load_state, require_state, saved_manifest
from paofed.live.protocol.edge import Edge

_log = logging.getLogger("paofed.device")
TOO_LARGE = (
    "with %s, the model's numbers are too large to be sent (a wrong sample, or a step size of %g "
    "that is too large): this device starts again from the fleet's model"
)


def taken_up(state: Path, device: int, since: float, patience: int) -> Edge | None:
    """Return a device as it was saved.

    A state that is damaged, or of another fleet or device, is put aside, so that a device survives
    a power cut without a person. A file that never was a state is an error, and is left alone.
    """
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
        require_state(state)
        _put_aside(state, str(error).partition(":")[0])
        return None
    return edge


def _put_aside(state: Path, why: str) -> None:
    """Give a file another name, which no file has yet."""
    names = (f"{state.name}.aside{f'-{number}' * (number > 1)}" for number in count(1))
    aside = next(path for path in map(state.with_name, names) if not path.exists())
    _log.warning("%s; it is now %s, and this device joins anew", why, aside.name)
    state.rename(aside)
