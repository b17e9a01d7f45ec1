"""Predictions by a fleet's model, away from the fleet; all that is needed stands in one record.

z_i = sqrt(2 / F) cos(phase_i + sum_j x_j frequency_ji)     (docs/predictions.md has it all)
value = offset + scale (w . z)
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.columns.numbers import Number
from paofed.core.columns.transform import Transform
from paofed.core.columns.written import read, written
from paofed.core.features import NO_RANGES, FourierMap, Ranges
from paofed.core.scaling import is_finite
from paofed.errors import InputError, cut, require_format, shown
from paofed.live.model.inputs import AskedInput, Given, inputs_of, names_of, values_of
from paofed.live.model.reported import ReportedInterval
from paofed.words import counted, listed

FORMAT = 1
_AT_ONCE = 2**20  # features that are computed together: 8 MB


class Predicted(NamedTuple):
    """The target at a reading, and low and high around it; None where they are not known.

    A number is infinite where the target is a logarithm and its value is too large for a float.
    """

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class FleetPredictor:
    """A fleet's model, with all that is needed to predict by it."""

    fleet: str
    epoch: int  # generation of what the fleet has agreed on
    tick: int  # the fleet's tick when the model was taken out
    inputs: tuple[AskedInput, ...]  # the values that a reading must hold
    columns: tuple[Transform, ...]  # how readings become the numbers that the map takes
    target: Number
    fourier_map: FourierMap
    w: FloatArray
    interval: ReportedInterval | None  # None where no device has reported errors

    def __repr__(self) -> str:
        asked = listed([asked.name for asked in self.inputs])
        return (
            f"<FleetPredictor of {self.fleet!r}, epoch {self.epoch}, tick {self.tick}: "
            f"{self.target.name} from {asked}; {counted(self.w.size, 'feature')}>"
        )

    def predict(self, reading: Given) -> Predicted:
        """Predict the target at one reading: values by the names of `inputs`."""
        return self.predict_all([reading])[0]

    def predict_all(self, readings: Sequence[Given]) -> list[Predicted]:
        """Predict the targets at many readings; refuse all if one of them cannot be used."""
        values = values_of(self.inputs, readings)
        seen = [column.numbers(*(values[n] for n in names_of(column))) for column in self.columns]
        y = self._seen_target(np.concatenate(seen, axis=1))
        if self.interval is None:
            return [Predicted(value) for value in self.target.measured(y).tolist()]
        half = self.interval.half_width
        found = [self.target.measured(y + side).tolist() for side in (0.0, -half, half)]
        return [Predicted(*row) for row in zip(*found, strict=True)]

    def measured(self, x: FloatArray) -> FloatArray:
        """Return the targets at inputs as the map takes them, (n, inputs); NaN where one is NaN."""
        return self.target.measured(self._seen_target(x))

    def _seen_target(self, x: FloatArray) -> FloatArray:
        """Return the target as the model sees it, some readings at a time: features take memory."""
        step = max(_AT_ONCE // self.w.size, 1)
        parts = [self.fourier_map(x[i : i + step]) @ self.w for i in range(0, len(x), step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    @cached_property
    def version(self) -> str:
        """Return a text that identifies this model with its words; any other model has another."""
        return hashlib.sha256(json.dumps(self._values()).encode()).hexdigest()[:16]

    def _values(self) -> dict[str, Any]:
        frequencies, phases, ranges = self.fourier_map
        return {
            "format": FORMAT,
            "fleet": self.fleet,
            "epoch": self.epoch,
            "tick": self.tick,
            "inputs": [asked._asdict() for asked in self.inputs],
            "columns": [written(column) for column in self.columns],
            "target": written(self.target),
            "frequencies": frequencies.tolist(),
            "phases": phases.tolist(),
            "linear": np.stack(ranges, axis=1).tolist() or None,
            "weights": self.w.tolist(),
            "interval": self.interval and self.interval._asdict(),
        }

    def to_json(self) -> str:
        """Return everything as JSON, as docs/predictions.md describes it."""
        return json.dumps({"version": self.version, **self._values()})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"it is not JSON: {error}") from None
        if not isinstance(values, dict) or "format" not in values:
            raise InputError("it is no JSON object with a format")
        require_format("it is JSON", values["format"], FORMAT)
        try:
            return cls._from_values(values)
        except KeyError as error:
            raise InputError(f"it has no {error}") from None
        except InputError:
            raise
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"it cannot be understood: {cut(str(error))}") from None

    @classmethod
    def _from_values(cls, values: Mapping[str, Any]) -> Self:
        target, interval = read(values["target"]), values["interval"]
        linear = np.array(values["linear"] or np.zeros((0, 2)), dtype=np.float64)
        frequencies, phases, w = arrays = [
            np.array(values[name], dtype=np.float64)
            for name in ("frequencies", "phases", "weights")
        ]
        ranges = Ranges(*linear.T) if linear.size else NO_RANGES
        columns = tuple(map(read, values["columns"]))
        numbers = sum(len(column.labels) for column in columns)
        shapes = [frequencies.shape, phases.shape, w.shape, linear.shape]
        found = FourierMap(frequencies, phases, ranges)
        right = [(numbers, phases.size), (phases.size,), (found.features,), (ranges.low.size, 2)]
        finite = all(np.isfinite(array).all() for array in (*arrays, linear))
        if shapes != right or ranges.low.size not in (0, numbers) or not finite:
            raise InputError(f"the sizes of its arrays do not fit {numbers} numbers")
        if not isinstance(target, Number):
            raise InputError(f"its target is a {target.kind}: expected a number")
        for name, is_right in (("fleet", _is_text), ("epoch", _is_count), ("tick", _is_count)):
            if not is_right(values[name]):
                raise InputError(f"its {name} is {shown(values[name])}")
        return cls(
            fleet=values["fleet"],
            epoch=values["epoch"],
            tick=values["tick"],
            inputs=_inputs(columns, values["inputs"]),
            columns=columns,
            target=target,
            fourier_map=found,
            w=w,
            interval=None if interval is None else _interval(interval),
        )


def _inputs(columns: tuple[Transform, ...], told: list[dict[str, Any]]) -> tuple[AskedInput, ...]:
    """Read what a reading must hold: what the columns need, each with its plausible range."""
    found = tuple(AskedInput(**asked) for asked in told)
    needed = [(asked.name, asked.kind) for asked in inputs_of(columns, ())]
    if [(asked.name, asked.kind) for asked in found] != needed:
        raise InputError(
            f"its inputs are not those of its columns, {cut(listed([n for n, _ in needed]))}"
        )
    for name, _, *limits in found:
        if not all(limit is None or is_finite(limit) for limit in limits):
            raise InputError(f"the plausible range of its input {name} is {shown(limits)}")
    return found


def _interval(told: dict[str, Any]) -> ReportedInterval:
    found = ReportedInterval(**told)
    right = all(map(is_finite, found)) and 0 < found.coverage < 1 and found.half_width >= 0
    if not right or not _is_count(found.devices):
        raise InputError(f"its interval is {shown(told)}")
    return found


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63
