"""A fleet's model as it is taken out of its server, and the files it is written to."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from paofed.archives import load_arrays, save_arrays
from paofed.core.arrays import FloatArray
from paofed.core.columns.transform import Transform
from paofed.errors import FileError, InputError
from paofed.files import write_text
from paofed.forms import Contents, Form
from paofed.live.model.inputs import inputs_of
from paofed.live.model.predictor import FleetPredictor
from paofed.live.model.reported import NONE_REPORTED, ReportedInterval
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import ManifestError

FileFormat = Literal["npz", "json"]
MODEL = Contents(
    arrays={
        "server_model": Form("f", "D"),
        "tick": Form("iu"),
        "manifest": Form("U"),
        "fleet": Form("U"),
        "levels": Form("iu", "L"),
    },
    sizes={"D": "features", "L": "levels"},
)


@dataclass(frozen=True, eq=False)
class FleetModel:
    """A model with all that is needed to use it."""

    manifest: Manifest
    tick: int
    w: FloatArray
    fleet: str = ""  # the fleet's name
    # How many devices have each level.
    levels: NDArray[np.int64] = field(default_factory=NONE_REPORTED.copy)

    @classmethod
    def of(cls, coordinator: Coordinator, fleet: str = "") -> Self:
        """Return the model of a fleet's server: w before the updates of this tick are applied."""
        wellbeing, devices = coordinator.wellbeing, coordinator.devices
        telling = wellbeing.telling(coordinator.rule.aside)
        telling &= ~np.asarray(devices.quarantined[: telling.size], dtype=bool)
        telling[[k for k in coordinator.removed if k < telling.size]] = False
        said = wellbeing.devices["level"][telling]
        levels = np.bincount(said, minlength=NONE_REPORTED.size)
        return cls(coordinator.manifest, coordinator.tick, coordinator.w.copy(), fleet, levels)

    def says_the_same(self, other: "FleetModel") -> bool:
        """Whether both predict the same, at whatever tick."""
        same = self.manifest is other.manifest and np.array_equal(self.levels, other.levels)
        return same and np.array_equal(self.w, other.w)

    def predict(self, x: FloatArray) -> FloatArray:
        """Return targets at inputs of shape (..., d), both as devices measure them."""
        if self.manifest.seen is not None:
            raise InputError("this model sees more than scaled numbers: predict with its `device`")
        y = self.manifest.fourier_map(self.manifest.scaled(x)) @ self.w
        return self.manifest.unit.measured(y)

    def device(self) -> Edge:
        """Return a device that has this model: it predicts sample by sample, and remembers."""
        edge = Edge(self.manifest, 0)
        edge.begin(self.w)
        return edge

    @cached_property
    def predictor(self) -> FleetPredictor:
        """Return what predicts reading by reading, without a memory, and can be written as JSON."""
        agreed = self.manifest
        columns: tuple[Transform, ...] = tuple(number.record for number in agreed.inputs)
        columns = columns if agreed.seen is None else agreed.seen.inputs
        return FleetPredictor(
            fleet=self.fleet,
            epoch=agreed.epoch,
            tick=self.tick,
            inputs=inputs_of(columns, (*agreed.inputs, agreed.target)),
            columns=columns,
            target=agreed.unit,
            fourier_map=agreed.fourier_map,
            w=self.w,
            interval=ReportedInterval.of(self.levels),
        )

    def save(self, path: str | Path, kind: FileFormat = "npz") -> None:
        """Write the model to one file, whole or not at all: `.npz` for paofed, or JSON."""
        if kind == "json":
            write_text(Path(path), f"{self.predictor.to_json()}\n")
            return
        arrays: dict[str, NDArray[Any]] = {
            "server_model": self.w,
            "tick": np.array(self.tick),
            "manifest": np.array(self.manifest.to_json()),
            "fleet": np.array(self.fleet),
            "levels": self.levels,
        }
        save_arrays(Path(path), arrays, MODEL)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a `.npz` that `save` wrote."""
        arrays = load_arrays(Path(path), MODEL, "a fleet's model")
        try:
            manifest = Manifest.from_json(str(arrays["manifest"]))
        except ManifestError as error:
            raise FileError(f"{path} is not a fleet's model: {error}") from None
        w, levels = arrays["server_model"], arrays["levels"]
        if w.size != manifest.features or not np.isfinite(w).all():
            raise FileError(f"{path} is not a fleet's model: expected {manifest.features} numbers")
        if levels.size != NONE_REPORTED.size or levels.min() < 0:
            raise FileError(f"{path} is not a fleet's model: expected {NONE_REPORTED.size} levels")
        fleet = str(arrays["fleet"])
        return cls(manifest, int(arrays["tick"]), w.astype(np.float64), fleet, levels)


def predictor(source: str | Path | bytes) -> FleetPredictor:
    """Return a predictor from `source`: a file, JSON or `.npz`, or the bytes of such JSON.

    >>> predictor(b'{"format": 2}')
    Traceback (most recent call last):
    paofed.errors.InputError: this is no fleet's model: it is JSON of format 2, this paofed ...
    """
    if isinstance(source, bytes):
        name, text = "this", source
    else:
        name, text = str(source), _content(Path(source))
        if not text.lstrip().startswith(b"{"):
            return FleetModel.load(source).predictor
    try:
        return FleetPredictor.from_json(text)
    except InputError as error:
        raise InputError(f"{name} is no fleet's model: {error}") from None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
