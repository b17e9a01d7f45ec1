"""What can be taken out of a fleet: its model, and the messages it was made from."""

from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.core.rules import Message
from paofed.errors import FileError
from paofed.files import load_arrays, save_arrays
from paofed.live.coordinator import Coordinator
from paofed.live.manifest import Manifest
from paofed.live.store import Store


class FleetModel(NamedTuple):
    """A model with all that is needed to use it."""

    manifest: Manifest
    tick: int
    w: FloatArray

    @classmethod
    def of(cls, coordinator: Coordinator) -> Self:
        """The model of a fleet's server: w before what arrives in this tick."""
        return cls(coordinator.manifest, coordinator.tick, coordinator.w)

    def predict(self, x: FloatArray) -> FloatArray:
        """Targets at inputs of shape (..., d), both as devices measure them."""
        target = self.manifest.target
        y = self.manifest.fourier_map(self.manifest.scaled(x)) @ self.w
        predicted: FloatArray = y * target.scale + target.offset
        return predicted

    def save(self, path: str | Path) -> None:
        """Write it as one `.npz`, whole or not at all."""
        about = np.array(self.manifest.to_json())
        save_arrays(
            Path(path), {"server_model": self.w, "tick": np.array(self.tick), "manifest": about}
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read it back."""
        arrays = _read(path, ("server_model", "tick", "manifest"), "a fleet's model")
        manifest = Manifest.from_json(str(arrays["manifest"]))
        w, tick = arrays["server_model"], arrays["tick"]
        numbers = w.shape == (manifest.features,) and w.dtype.kind == "f" and tick.dtype.kind == "i"
        if not numbers or tick.shape or not np.isfinite(w).all():
            raise FileError(f"{path} is not a fleet's model: expected {manifest.features} numbers")
        return cls(manifest, int(tick), w.astype(np.float64))


def export_messages(store: Store, path: str | Path) -> int:
    """Write the updates since the older snapshot, and the model they meet; returns their number."""
    base, records = store.history()
    lines = [*base.waiting(), *records]
    values = [line.values for line in lines] or [np.zeros(0, dtype="<f4")]
    columns = {
        name: np.array([getattr(line, name) for line in lines], dtype=np.int64)
        for name in ("device", "sent", "arrived")
    }
    start = {"start_model": base.w, "start_tick": np.array(base.tick)}
    about = {"manifest": np.array(base.manifest.to_json())}
    save_arrays(Path(path), {**columns, "values": np.stack(values), **start, **about})
    return len(lines)


def replay_messages(path: str | Path) -> FleetModel:
    """Apply the server's rule, and nothing else, to exported messages: the model they make."""
    names = ("device", "sent", "arrived", "values", "start_model", "start_tick", "manifest")
    arrays = _read(path, names, "an export of messages")
    manifest = Manifest.from_json(str(arrays["manifest"]))
    row, features = manifest.row, manifest.features
    w, tick = arrays["start_model"].astype(np.float64), int(arrays["start_tick"])
    by_tick: defaultdict[int, list[Message]] = defaultdict(list)
    for k, sent, arrived, values in zip(
        *(arrays[name].tolist() for name in ("device", "sent", "arrived")),
        arrays["values"].astype(np.float64),
        strict=False,
    ):
        by_tick[arrived].append(Message(k, sent, row.uplink(k, sent, features), values))
    for arrived in sorted(by_tick):
        w = row.aggregate(w, by_tick[arrived], arrived, row.staleness, row.divisor)
        tick = arrived + 1
    return FleetModel(manifest, tick, w)


def _read(path: str | Path, names: tuple[str, ...], what: str) -> dict[str, NDArray[Any]]:
    arrays = load_arrays(Path(path))
    if set(arrays) != set(names):
        raise FileError(f"{path} is not {what}: it holds {', '.join(arrays) or 'nothing'}")
    return arrays
