"""What a device keeps through a power cut: one small file, whole or not there."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.archives import load_arrays, save_arrays
from paofed.errors import FileError, NewerFormatError
from paofed.forms import Contents, Form
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import LAST_TICK

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
    },
    optional=(
        {"manifest": Form("U")},
        {"levels": Form("iu", "U"), "recent": Form("f", "3")},  # since wire version 2
        {"intervals": Form("f", "3")},  # since devices have intervals
        {"news": Form("b")},  # since devices read; without it, a device may have learned
        # The values that lags look back at.
        {"past_ticks": Form("iu", "P"), "past_values": Form("f", "Pn")},
    ),
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
    format=2,  # 1 had no `news`
)


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
    start, samples, misses = state.get("intervals", np.array([1.0, 0.0, 0.0])).tolist()
    if not (0 < start < math.inf and 0 <= misses <= samples < math.inf):
        raise ValueError("counts of intervals that cannot be")


def _foreign(path: str | Path) -> FileError:
    return FileError(f"{path} is no device's state: delete it to join the fleet anew")
