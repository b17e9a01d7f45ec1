"""What a device keeps through a power cut: one small file, whole or not there."""

import logging
import math
import os
import re
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.archives import load_arrays, names_of, save_arrays
from paofed.errors import FileError, InputError, MissingMethodError, NewerFormatError
from paofed.forms import Contents, Form
from paofed.live.protocol.edge import MOST_NEWS, Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import LAST_TICK

_log = logging.getLogger("paofed.device")
TOO_LARGE = (
    "with %s, the model's numbers are too large to be sent (a wrong sample, or a step size of %g "
    "that is too large): this device starts again from the fleet's model"
)
STATE = Contents(
    arrays={
        "epoch": Form("iu"),
        "device": Form("iu"),
        "model": Form("f", "D"),
        "merged": Form("iu"),
        "joined": Form("b"),
        "stamped": Form("iu"),
        "ticks": Form("iu", "U"),
        "left": Form("iu", "U"),
        "values": Form("iuf", "Vm"),  # as they travel; one empty row where no update waits
        "levels": Form("iu", "U"),
        "news": Form("iu"),
        "recent": Form("f", "3"),
        "intervals": Form("f", "3"),
        "manifest": Form("U"),
    },
    # The values that lags look back at.
    optional=({"past_ticks": Form("iu", "P"), "past_values": Form("f", "Pn")},),
    beside="model_",  # the state of the learner
    sizes={
        "D": "features",
        "U": "updates",
        "V": "updates",
        "m": "shared numbers, or bytes",
        "P": "past ticks",
        "n": "numbers that are looked back at",
    },
    may_be_none="UmP",
)

_OWN = {"merged", "joined", "stamped"}  # names of arrays that no other archive of paofed has
_FIRST_NAME = re.compile(rb"PK\x03\x04.{26}(\w+)\.npy", re.DOTALL)  # at the beginning of an archive
_SHOWN = 16  # bytes of a foreign file that its error quotes
_PART = 2**16  # bytes that are read at a time


def save_state(path: str | Path, edge: Edge) -> None:
    """Write a device's state, and the manifest it follows."""
    held = {**edge.state(), "manifest": np.array(edge.manifest.to_json())}
    save_arrays(Path(path), held, STATE)


def load_state(path: str | Path, edge: Edge) -> bool:
    """Let a device take up what it saved; return whether the file held anything of this device.

    A damaged file is an error, and so is one that a newer paofed wrote.
    """
    if not Path(path).exists():
        return False
    try:
        arrays = _read(path)
        _require_sense(arrays)
        return edge.restore(arrays)
    except NewerFormatError:
        raise
    except (KeyError, ValueError, TypeError):
        raise _foreign(path) from None


def saved_manifest(path: str | Path) -> Manifest | None:
    """Return the manifest that a device followed when it saved its state, or None."""
    if not Path(path).exists():
        return None
    try:
        return Manifest.from_json(str(_read(path)["manifest"]))
    except NewerFormatError:
        raise
    except (KeyError, FileError):
        raise _foreign(path) from None


def require_state(path: Path) -> None:
    """Refuse a file that never was a device's state, and so may be somebody's only copy of it.

    A power cut, or a disk that fails, leaves an empty file, zeros, or an archive that is cut off or
    damaged inside. A whole archive without the names of a state is something else.
    """
    if not path.is_file():
        raise FileError(
            f"{path} is no file: give the name of one that `--state` wrote, or a new name"
        )
    if not (_is_blank(path) or _has_names(path)):
        with path.open("rb") as file:
            begin = file.read(_SHOWN)
        raise FileError(
            f"{path} is no device's state: it begins with {begin!r}, expected a file that "
            f"`--state` wrote, or none; it was left as it is: give another name, or move it away"
        )


def _is_blank(path: Path) -> bool:
    """Whether a file has nothing but zeros, or ones as flash memory has where it was erased."""
    with path.open("rb") as file:
        return not any(part.strip(b"\0\xff") for part in iter(lambda: file.read(_PART), b""))


def _has_names(path: Path) -> bool:
    """Whether an archive has the names of a state, by the list at its end.

    Where the end is missing or damaged, the archive is known by the name of its first array.
    """
    with suppress(FileError):
        return names_of(path) >= _OWN
    with path.open("rb") as file:
        first = _FIRST_NAME.match(file.read(_PART))
    return first is not None and first[1].decode("latin-1") in STATE.arrays


def _read(path: str | Path) -> dict[str, NDArray[Any]]:
    return load_arrays(Path(path), STATE, "a device's state")


def _require_sense(state: dict[str, NDArray[Any]]) -> None:
    """Refuse ticks that no server ever had: a device that believed them would be silent.

    Refuse also counts that no device can have had.
    """
    updates = [*state["ticks"].tolist(), *state["left"].tolist()]
    heard = int(state["merged"]), int(state["stamped"])  # -1: never
    if min(*heard, *updates) < -1 or max(*heard, *updates) > LAST_TICK or -1 in updates:
        raise ValueError("ticks out of range")
    if not 0 <= int(state["news"]) <= MOST_NEWS:
        raise ValueError("more updates to be made than one sample gives")
    start, samples, misses = state["intervals"].tolist()
    if not (0 < start < math.inf and 0 <= misses <= samples < math.inf):
        raise ValueError("counts of intervals that cannot be")


def _foreign(path: str | Path) -> FileError:
    return FileError(f"{path} is no device's state")


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
    except MissingMethodError:  # the state is good, where its method is given
        raise
    except InputError as error:
        require_state(state)
        _put_aside(state, str(error))
        return None
    return edge


def _put_aside(state: Path, why: str) -> None:
    """Give a file another name, which no file has yet."""
    names = (f"{state.name}.aside{f'-{number}' * (number > 1)}" for number in count(1))
    aside = next(path for path in map(state.with_name, names) if not path.exists())
    _log.warning("%s; it is now %s, and this device joins anew", why, aside.name)
    state.rename(aside)
