"""The horizontal axis of error curves: ticks, samples that the fleet has seen, or bytes sent."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np
from matplotlib.axes import Axes

from paofed.core.arrays import FloatArray
from paofed.core.tariffs import Tariff
from paofed.errors import InputError, unknown
from paofed.report.shared.curves import logarithmic
from paofed.report.shared.figures import literal
from paofed.report.shared.run_curves import with_curves
from paofed.simulate.results.result import Result

Along = Literal["ticks", "samples", "bytes"]


class AlongAxis(NamedTuple):
    """The horizontal axis of error curves."""

    places: Mapping[str, FloatArray]  # by algorithm: where the points of its curve are
    label: str
    end: float | None  # where the axis ends; None: a logarithmic axis as long as the curves

    def of(self, name: str) -> FloatArray:
        """Return where the points of a curve are; baselines send nothing, so bytes are refused."""
        if name not in self.places:
            raise InputError(f"{name} is a baseline, which sends nothing: draw it over 'ticks'")
        return self.places[name]

    def put_on(self, axes: Axes) -> None:
        """Label the horizontal axis of `axes`, and give it its scale and its end."""
        axes.set_xlabel(self.label)
        if self.end is None:
            logarithmic(axes.xaxis)
        else:
            drawn = 0.0 if axes.get_autoscalex_on() else axes.get_xlim()[1]  # by an earlier plot
            axes.set_xlim(0, max(self.end, drawn))


def along_axis(result: Result, x: Along, tariff: Tariff) -> AlongAxis:
    """Return the axis `x` for the algorithms of a result and, unless it is of bytes, baselines."""
    if x not in get_args(Along):
        raise InputError(unknown("x", str(x), get_args(Along)))
    if x == "bytes":
        sent = {name: result.run_wire(name, tariff).both.mean(axis=0) for name in result.algorithms}
        scale, unit = _unit(max(float(counts[-1]) for counts in sent.values()))
        where = "payload sent" if not tariff.adds else f"sent with {tariff.name}"
        places = {
            name: np.where(counts > 0, counts / scale, np.nan) for name, counts in sent.items()
        }
        return AlongAxis(places, literal(f"{where}, up and down ({unit})"), None)
    if x == "ticks":
        place, label = (result.ticks + 1).astype(np.float64), "tick"
    else:
        place, label = result.samples_seen, "samples seen by the fleet"
        if place[-1] >= 1e5:
            place, label = place / 1e3, f"{label} (thousands)"
    return AlongAxis(dict.fromkeys(with_curves(result), place), label, float(place[-1]))


def _unit(most: float) -> tuple[float, str]:
    """Return the unit in which `most` bytes are written: how many bytes it is, and its name."""
    return next(
        ((scale, unit) for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if most >= scale),
        (1.0, "B"),
    )
