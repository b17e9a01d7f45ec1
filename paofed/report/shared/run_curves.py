"""The error curves of a result: on its test set or, over a table, on all samples until then."""

from collections.abc import Iterable
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.errors import InputError, unknown
from paofed.report.shared.captions import cast, entries, rank
from paofed.simulate.results.estimates import over_runs_db, student_95
from paofed.simulate.results.places import divided
from paofed.simulate.results.progressive import Whose
from paofed.simulate.results.result import Result

Bands = Literal["interval", "standard error"] | tuple[float, float] | None


class RunCurve(NamedTuple):
    """One curve: the linear errors of R runs at P points, (R, P)."""

    runs: FloatArray

    @property
    def db(self) -> FloatArray:
        """The mean over runs in dB, (P,)."""
        found: FloatArray = over_runs_db(self.runs)[0]
        return found

    def band(self, bands: Bands) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper edge of the band around the curve in dB, (P,) each."""
        if bands is not None and not isinstance(bands, str):
            with np.errstate(invalid="ignore"):
                low, high = np.percentile(decibels(self.runs), bands, axis=0)
            return low, high
        db, error = over_runs_db(self.runs)
        half = error * (student_95(len(self.runs) - 1) if bands == "interval" else 1.0)
        return db - half, db + half


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
        self.known = with_curves(result)

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
        """Return what a legend calls curves: methods, with step sizes where these differ."""
        told = entries(self._result, [name for name in names if name in self._result.algorithms])
        return {name: told.get(name, name) for name in names}


def with_curves(result: Result) -> list[str]:
    """Name all that have a curve: the algorithms and, over a table, the baselines."""
    judged = result.progressive
    return [*result.algorithms, *(judged.baselines if judged is not None else [])]


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
    if bands is None:
        return None
    if isinstance(bands, str):
        if bands not in words:
            raise InputError(f"{unknown('bands', bands, words)}, two percentiles, or None")
        said = words[bands]
    else:
        low, high = _percentiles(bands)
        said = f"{low:g}th to {high:g}th percentile"
    return said if runs > 1 else None


def _percentiles(bands: object) -> tuple[float, float]:
    """Take two rising percentiles, as a tuple or a list."""
    ends = list(bands) if isinstance(bands, tuple | list) else []
    numbers = len(ends) == 2 and all(isinstance(end, Real) for end in ends)
    if not numbers or not 0 <= ends[0] < ends[1] <= 100:
        raise InputError(f"bands is {bands!r}: expected two rising percentiles, as in (10, 90)")
    return ends[0], ends[1]
