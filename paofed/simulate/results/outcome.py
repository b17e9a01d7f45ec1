"""What engines return: the outcome of one algorithm over a trace, and the record of a run."""

import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import numpy as np

from paofed.archives import save_arrays
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.core.traffic import Traffic
from paofed.words import ShapesShown


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Outcome(ShapesShown):
    """The outcome of one algorithm over one trace of N ticks, with D features."""

    server_model: FloatArray  # (D,), after the last tick
    mse: FloatArray  # (N,), linear mean over the test set after each tick
    traffic: IntArray  # (7, N), sent until each tick, whether or not it arrived: see Traffic

    @property
    def sent(self) -> IntArray:
        """The coordinates sent up and down until each tick, (N,)."""
        now = Traffic(*self.traffic)
        sent: IntArray = now.coordinates_up + now.coordinates_down
        return sent

    @property
    def sent_up(self) -> int:
        """The coordinates sent up in all."""
        return int(Traffic(*self.traffic).coordinates_up[-1])

    @property
    def sent_down(self) -> int:
        """The coordinates sent down in all."""
        return int(Traffic(*self.traffic).coordinates_down[-1])

    @property
    def payload(self) -> int:
        """The bytes of all messages, up and down, without those that a transport adds."""
        now = Traffic(*self.traffic)
        return int(now.payload_up[-1] + now.payload_down[-1])

    @property
    def final_db(self) -> float:
        """The error after the last tick in dB."""
        return float(decibels(self.mse[-1]))

    @property
    def diverged_at(self) -> int | None:
        """The first tick whose error is not a finite number, or None."""
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


class RunRecord(NamedTuple):
    """What an engine returns of one run: A algorithms, P points of a curve, D features."""

    mse: FloatArray  # (A, P)
    traffic: IntArray  # (A, 7, P), sent until each point: see Traffic
    models: FloatArray  # (A, D), the server's after the last tick
    over_time: FloatArray  # (A, 2, P): see Tally; (A, 2, 0) where there is a test set
    cells: FloatArray  # (A, 2, 5, C): see Tally; (A, 2, 5, 0) where there is a test set


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute results."""
    found = {"python": platform.python_version()}
    for package in ("paofed", "numpy", "numba"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
