"""The error curves of a result: on its test set or, over a table, on all samples until then."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.errors import InputError, unknown
from paofed.report.shared.captions import cast, entries, rank
from paofed.simulate.results.estimates import student_95
from paofed.simulate.results.places import divided
from paofed.simulate.results.progressive import Whose
from paofed.simulate.results.result import Result
from paofed.simulate.results.statistics import NEPERS, over_runs

Bands = Literal["interval", "standard error"] | tuple[float, float] | None


class RunCurve(NamedTuple):
    """One curve: the linear errors of R runs at P points, (R, P)."""

    runs: FloatArray

    @property
    def db(self) -> FloatArray:
        """The mean over runs in dB, (P,)."""
        return decibels(over_runs(self.runs)[0])

    def band(self, bands: Bands) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper edge of the band around the curve in dB, (P,) each."""
        if isinstance(bands, tuple):
            with np.errstate(invalid="ignore"):
                low, high = np.percentile(decibels(self.runs), bands, axis=0)
            return low, high
        mean, error = over_runs(self.runs)
        with np.errstate(invalid="ignore"):
            half = NEPERS * error / mean
        half = half * (student_95(len(self.runs) - 1) if bands == "interval" else 1.0)
        return decibels(mean) - half, decibels(mean) + half


class ChosenCurves(NamedTuple):
    """Which algorithms a figure names, which it only draws, and the legend's label for these."""

    named: list[str]
    others: list[str]
    others_label: str


class RunCurves:
    """The curves of a result by name: on its test set or, over a table, of all samples until then.

    Over a table, `whose` says whose models predicted the samples.
    """

    def __init__(self, result: Result, whose: Whose) -> None:
        self._result, self._whose = result, whose
        judged = result.progressive
        self.known = [*result.algorithms, *(judged.baselines if judged is not None else [])]

    @property
    def words(self) -> str:
        """The label of the axis of errors."""
        if self._result.progressive is None:
            return "mean squared error (dB)"
        return "mean squared error until then (dB)"

    def of(self, name: str) -> RunCurve:
        """Return the curve of an algorithm or baseline."""
        judged = self._result.progressive
        if judged is None:
            return RunCurve(self._result.run_curves(name))
        whose = self._whose if name in self._result.algorithms else "baseline"
        errors = judged.run_errors(name, whose).cumsum(axis=-1)
        return RunCurve(divided(errors, judged.samples.cumsum()))

    def end(self, name: str) -> float:
        """Return the error in dB at which a curve ends, to sort by; infinite where it diverged."""
        return rank(float(self.of(name).db[-1]))

    def chosen(self, names: Iterable[str] | str | None) -> ChosenCurves:
        """Return the curves to draw: those in `names`, all of them named.

        None: all algorithms, of which as many are named as can be told apart.
        """
        if names is None:
            who = cast({name: self.end(name) for name in self._result.algorithms})
            return ChosenCurves(who.named, who.others, who.others_label)
        asked = [names] if isinstance(names, str) else list(names)
        if not asked:
            raise InputError("names is empty: expected at least one algorithm, or None for all")
        for name in asked:
            if name not in self.known:
                raise InputError(unknown("algorithm", str(name), self.known))
        return ChosenCurves(list(dict.fromkeys(asked)), [], "")

    def entries(self, names: list[str]) -> dict[str, str]:
        """Return the names as a legend has them: with step sizes, where these differ."""
        told = entries(self._result, [name for name in names if name in self._result.algorithms])
        return {name: told.get(name, name) for name in names}


def whose_curves(result: Result, whose: Whose | None) -> Whose:
    """Return whose models' errors are drawn: `whose` if it is given and possible.

    None is the devices' models over a table, and the server's model otherwise.
    """
    if whose is None:
        return "server" if result.progressive is None else "device"
    expected = ("server",) if result.progressive is None else ("device", "server")
    if whose not in expected:
        told = " or ".join(map(repr, expected))
        raise InputError(f"whose is {whose!r}: expected {told}")
    return whose


def band_words(bands: Bands, runs: int) -> str | None:
    """Return what the legend says of bands; None where there are no bands to draw."""
    words = {"interval": "95 % interval", "standard error": "standard error"}
    if isinstance(bands, tuple):
        ends = list(bands)
        if len(ends) != 2 or not 0 <= ends[0] < ends[1] <= 100:
            raise InputError(f"bands is {bands!r}: expected two rising percentiles, as in (10, 90)")
        said = f"{ends[0]:g}th to {ends[1]:g}th percentile"
    elif bands is None:
        return None
    elif bands not in words:
        raise InputError(f"{unknown('bands', str(bands), words)}, two percentiles, or None")
    else:
        said = words[bands]
    return said if runs > 1 else None
