"""What a device keeps through a power cut: one small file, whole or not there."""

from pathlib import Path

import numpy as np

from paofed.errors import FileError
from paofed.files import load_arrays, save_arrays
from paofed.live.edge import Edge
from paofed.live.manifest import Manifest


def save_state(path: str | Path, edge: Edge) -> None:
    """Write a device's state, and the manifest it follows."""
    save_arrays(Path(path), {**edge.state(), "manifest": np.array(edge.manifest.to_json())})


def load_state(path: str | Path, edge: Edge) -> bool:
    """Let a device take up what it saved; whether there was anything of its own.

    A damaged file is an error.
    """
    if not Path(path).exists():
        return False
    try:
        return edge.restore(load_arrays(Path(path)))
    except (KeyError, ValueError, TypeError):
        raise _foreign(path) from None


def saved_manifest(path: str | Path) -> Manifest | None:
    """The manifest that a device followed when it saved its state, if it did."""
    if not Path(path).exists():
        return None
    try:
        return Manifest.from_json(str(load_arrays(Path(path))["manifest"]))
    except (KeyError, FileError):
        raise _foreign(path) from None


def _foreign(path: str | Path) -> FileError:
    return FileError(f"{path} is no device's state: delete it to join the fleet anew")
