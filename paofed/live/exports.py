"""What can be taken out of a fleet: its model, and the messages it was made from."""

from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from paofed.archives import load_arrays, save_arrays
from paofed.core.arrays import FloatArray
from paofed.core.parts import Message
from paofed.core.rules import aggregate
from paofed.errors import FileError
from paofed.forms import Contents, Form
from paofed.live.coordinator import Coordinator
from paofed.live.manifest import Manifest, ManifestError
from paofed.live.store import Store

_MODEL = Contents(
    arrays={"server_model": Form("f", "D"), "tick": Form("iu"), "manifest": Form("U")},
    sizes={"D": "features"},
)
_MESSAGES = Contents(
    arrays={
        "device": Form("iu", "M"),
        "sent": Form("iu", "M"),
        "arrived": Form("iu", "M"),
        "values": Form("f", "Vm"),  # one row without numbers where there is no message
        "start_model": Form("f", "D"),
        "start_tick": Form("iu"),
        "manifest": Form("U"),
    },
    sizes={"M": "messages", "V": "messages", "m": "shared numbers", "D": "features"},
    may_be_none="Mm",
)


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
        arrays, manifest = _read(path, _MODEL, "a fleet's model")
        w = arrays["server_model"]
        if w.size != manifest.features or not np.isfinite(w).all():
            raise FileError(f"{path} is not a fleet's model: expected {manifest.features} numbers")
        return cls(manifest, int(arrays["tick"]), w.astype(np.float64))


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
    arrays, manifest = _read(path, _MESSAGES, "an export of messages")
    messages, values = arrays["device"].size, arrays["values"]
    fits = values.shape == (messages, manifest.shared) or not messages
    if arrays["start_model"].size != manifest.features or not fits:
        raise FileError(f"{path} is not an export of messages: it has numbers of another fleet's")
    parts, features = manifest.row.require_paper_parts("a live fleet"), manifest.features
    w, tick = arrays["start_model"].astype(np.float64), int(arrays["start_tick"])
    by_tick: defaultdict[int, list[Message]] = defaultdict(list)
    for k, sent, arrived, held in zip(
        *(arrays[name].tolist() for name in ("device", "sent", "arrived")),
        values.astype(np.float64),
        strict=False,
    ):
        by_tick[arrived].append(Message(k, sent, parts.uplink(k, sent, features), held))
    for arrived in sorted(by_tick):
        rule = parts.server
        w = aggregate(w, by_tick[arrived], arrived, rule.staleness, rule.divisor)
        tick = arrived + 1
    return FleetModel(manifest, tick, w)


def _read(
    path: str | Path, contents: Contents, what: str
) -> tuple[dict[str, NDArray[Any]], Manifest]:
    arrays = load_arrays(Path(path), contents, what)
    try:
        return arrays, Manifest.from_json(str(arrays["manifest"]))
    except ManifestError as error:
        raise FileError(f"{path} is not {what}: {error}") from None
