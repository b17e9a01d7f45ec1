"""What a simulation leaves behind."""

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.files import save_arrays


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """One algorithm over one trace."""

    server_model: FloatArray  # (D,), after the last tick
    mse: FloatArray  # (N,), linear mean over the test set after each tick
    sent_up: int  # coordinates, whether or not they arrived
    sent_down: int

    @property
    def final_db(self) -> float:
        """Return the error after the last tick in dB."""
        return float(decibels(self.mse[-1]))

    @property
    def diverged_at(self) -> int | None:
        """Return the first tick whose error is not a finite number, or None."""
        bad = np.flatnonzero(~np.isfinite(self.mse))
        return int(bad[0]) if bad.size else None

    def save(self, path: str | Path, provenance: Mapping[str, object]) -> None:
        """Write the arrays, and where they came from, as one `.npz`, whole or not at all."""
        arrays = {
            "server_model": self.server_model,
            "mse": self.mse,
            "sent_up": np.array(self.sent_up),
            "sent_down": np.array(self.sent_down),
            "provenance": np.array(json.dumps({**provenance, "versions": versions()})),
        }
        save_arrays(Path(path), arrays)


def versions() -> dict[str, str]:
    """Name what computed a result."""
    return {
        "paofed": version("paofed"),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
