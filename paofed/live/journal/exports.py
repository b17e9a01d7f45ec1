"""What can be taken out of a fleet: its model, and the messages it was made from."""

from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from paofed.archives import load_arrays, save_arrays
from paofed.core.arrays import FloatArray
from paofed.errors import FileError, InputError
from paofed.forms import Contents, Form
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.rule_state import RuleState, Sent
from paofed.live.protocol.scaling import ManifestError

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
        "start_tick": Form("iu"),
        "manifest": Form("U"),
    },
    optional=({"level": Form("iu", "M")},),  # exports of wire version 1 have none
    sizes={"M": "messages", "V": "messages", "m": "shared numbers"},
    may_be_none="Mm",
    beside="start_model",  # the state of the server's rule
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
        if self.manifest.seen is not None:
            raise InputError("this model sees more than scaled numbers: predict with its `device`")
        y = self.manifest.fourier_map(self.manifest.scaled(x)) @ self.w
        return self.manifest.unit.measured(y)

    def device(self) -> Edge:
        """A device that has this model: it predicts sample by sample, and remembers."""
        edge = Edge(self.manifest, 0)
        edge.begin(self.w)
        return edge

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
    """Write the updates since the newest snapshot but one, and the model they meet; how many."""
    base, records = store.history()
    lines = [*base.waiting(), *records]
    values = [line.values for line in lines] or [np.zeros(0, dtype="<f4")]
    columns = {
        name: np.array([getattr(line, name) for line in lines], dtype=np.int64)
        for name in ("device", "sent", "arrived", "level")
    }
    start = {f"start_{name}": array for name, array in base.rule.arrays().items()}
    start["start_tick"] = np.array(base.tick)
    about = {"manifest": np.array(base.manifest.to_json())}
    save_arrays(Path(path), {**columns, "values": np.stack(values), **start, **about})
    return len(lines)


def replay_messages(path: str | Path) -> FleetModel:
    """Apply the server's rule, and nothing else, to exported messages: the model they make."""
    arrays, manifest = _read(path, _MESSAGES, "an export of messages")
    messages, values = arrays["device"].size, arrays["values"]
    fits = values.shape == (messages, manifest.shared) or not messages
    foreign = FileError(f"{path} is not an export of messages: it has numbers of another fleet's")
    if not fits:
        raise foreign
    rule, tick = RuleState(manifest), int(arrays["start_tick"])
    try:
        rule.restore({name.removeprefix("start_"): array for name, array in arrays.items()})
    except InputError:
        raise foreign from None
    by_tick: defaultdict[int, list[Sent]] = defaultdict(list)
    columns = (arrays[name].tolist() for name in ("device", "sent", "arrived"))
    for device, sent, arrived, held in zip(*columns, values, strict=False):
        by_tick[arrived].append((device, sent, held))
    for arrived in sorted(by_tick):
        rule.apply(arrived, by_tick[arrived])
        tick = arrived + 1
    return FleetModel(manifest, tick, rule.w)


def _read(
    path: str | Path, contents: Contents, what: str
) -> tuple[dict[str, NDArray[Any]], Manifest]:
    arrays = load_arrays(Path(path), contents, what)
    try:
        return arrays, Manifest.from_json(str(arrays["manifest"]))
    except ManifestError as error:
        raise FileError(f"{path} is not {what}: {error}") from None
