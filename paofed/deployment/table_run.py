"""A run over a table, taken further: which of its algorithms, its models, rows to come.

The file of a run says how columns become numbers, and which map they meet. The model that a run
began with is fitted anew, which needs the table; the models that it ended with are in the file.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple, Self

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.columns.numbers import Number
from paofed.core.columns.transform import Transform
from paofed.core.columns.written import read as read_column
from paofed.core.features import NO_RANGES, FourierMap, Ranges, draw_map
from paofed.core.intervals import MISS
from paofed.core.random import Key
from paofed.errors import FileError, InputError, unknown
from paofed.files import file_digest
from paofed.live.model.inputs import inputs_of
from paofed.live.model.predictor import FleetPredictor
from paofed.simulate.results.progressive import Whose
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.world.realize import map_key, table_map, world_key
from paofed.world.scenario import Scenario
from paofed.world.start import Start, fitted
from paofed.world.table.door import read, seen_in
from paofed.world.table.spec import Records, Table


class TableRun(NamedTuple):
    """What a run over a table has left; of several runs, the first."""

    origin: str  # how errors name the run: its file, if it has one
    result: TableResult
    inputs: tuple[Transform, ...]
    target: Number
    ranges: FloatArray  # (d + 1, 2): the ranges of these numbers in the calibration period

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the file; a run over anything but a table is refused."""
        return cls.of(Result.load(path), str(path))

    @classmethod
    def of(cls, result: Result, origin: str = "this result") -> Self:
        """Take a result; a run over anything but a table is refused."""
        result = TableResult.of(result, origin)
        table = result.provenance["table"]
        *inputs, target = map(read_column, table["columns"])
        if not isinstance(target, Number):
            raise FileError(f"{origin}: its target is a {target.kind}: expected a number")
        return cls(
            origin, result, tuple(inputs), target, _as_ranges(origin, table["ranges"], inputs)
        )

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario that was run, in plain values."""
        return dict(self.result.provenance["scenario"])

    @property
    def world(self) -> Key:
        """The key of the world of the first run."""
        return world_key(self.result.provenance["seed"], self.result.places[0][0])

    @property
    def linear(self) -> Ranges:
        """The ranges of linear terms, where there are any."""
        return Ranges(*self.ranges[:-1].T) if self.scenario["linear"] else NO_RANGES

    @property
    def fourier_map(self) -> FourierMap:
        """The map of that world."""
        return draw_map(
            map_key(self.world),
            inputs=len(self.ranges) - 1,
            features=self.scenario["features"],
            width=self.scenario["kernel_width"],
            ranges=self.linear,
        )

    def best(self, names: Sequence[str], whose: Whose) -> str:
        """Return the algorithm, among some, whose models have predicted best."""
        errors = {name: self.result.final(name, whose).db for name in names}
        return min(errors, key=lambda name: math.inf if math.isnan(errors[name]) else errors[name])

    def require(self, name: str) -> None:
        """Refuse the name of an algorithm that was not run."""
        if name not in self.result.algorithms:
            raise InputError(f"{self.origin}: {unknown('algorithm', name, self.result.algorithms)}")

    def final_model(self, name: str) -> FloatArray:
        """The server's model of an algorithm after the last tick."""
        self.require(name)
        w: FloatArray = self.result.models[0, self.result.algorithms.index(name)]
        return w.astype(np.float64)

    def end(self, name: str) -> Start:
        """Return what a fleet begins with that goes on from the end of the run: the final model.

        Its first interval covers normal errors that are as large as those of the run's devices.
        """
        mse = float(self.result.run_finals(name, "device")[0])
        return Start(self.final_model(name), NormalDist().inv_cdf(1 - MISS / 2) * math.sqrt(mse))

    def start(self) -> Start | None:
        """Return what all devices began with, fitted anew to the table; None for zeros."""
        if self.scenario["start"] == "zeros":
            return None
        self._require_same_table()
        scenario = Scenario.made(self.scenario, self.origin)
        return fitted(read(scenario.table), table_map(scenario, self.world))

    def _require_same_table(self) -> None:
        file = Path(self.scenario["stream"]["file"])
        instead = "or begin with the model that the run ended with (--model final)"
        try:
            found = file_digest(file)
        except FileError as error:
            raise FileError(
                f"{error}; it is the table of {self.origin}, and the model that the run began "
                f"with is fitted to it: put it there, {instead}"
            ) from None
        if found != self.result.provenance["table"]["sha256"]:
            raise FileError(
                f"{file} is not the table that {self.origin} was run over, since it has changed: "
                f"put the old one there, run it again, {instead}"
            )

    def predicted(self, name: str | None, file: Path) -> FloatArray:
        """Predict every row of a file like the table, as `predictor` does with its readings.

        Predictions are in the unit of the target; NaN where an input of the row, or an earlier
        value that it needs, is missing.
        """
        about = self.result.provenance["table"]
        records = Records(self.inputs, about["calendar"], about["begin"], about["tick"])
        table = Table.model_validate({**self.scenario["stream"], "file": str(file)})
        return self.predictor(name).measured(seen_in(table, records))

    def predictor(self, name: str | None = None) -> FleetPredictor:
        """Return what predicts by the final model of an algorithm, reading by reading.

        Without a name, the algorithm whose server's model has predicted best is taken.
        """
        chosen = self.best(self.result.algorithms, "server") if name is None else name
        return FleetPredictor(
            fleet=self.scenario["name"],
            epoch=0,
            tick=self.scenario["ticks"],
            inputs=inputs_of(self.inputs, ()),
            columns=self.inputs,
            target=self.target,
            fourier_map=self.fourier_map,
            w=self.final_model(chosen),
            interval=None,  # a run keeps the intervals of devices, and none of the server's model
        )


def _as_ranges(origin: str, value: object, inputs: Sequence[Transform]) -> FloatArray:
    numbers = sum(len(record.labels) for record in inputs) + 1
    try:
        ranges = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        ranges = np.empty(0)
    if ranges.shape != (numbers, 2) or not (ranges[:, 0] < ranges[:, 1]).all():
        raise FileError(f"{origin} is not a result: expected ranges of {numbers} numbers")
    return ranges
