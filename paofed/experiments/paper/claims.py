"""The paper's statements as named tests on paired runs, and how many runs judge them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.experiments.candidates import GLANCED_STEPS, STUDIED_STEPS
from paofed.simulate.results.estimates import Count, Estimate, estimate
from paofed.simulate.results.result import Result

INDEPENDENT, PAPERS = "inputs independent in time", "the paper's inputs"


class Effort(NamedTuple):
    """How much of the study is run."""

    runs: int
    grid_runs: int
    widths: tuple[float, ...]
    steps: tuple[float, ...]
    theory_runs: int
    theory_ticks: int  # the ticks that theory predicts
    # The memory of the inputs beside which theory is held, by label; None is the paper's memory,
    # which comes last.
    inputs: Mapping[str, tuple[float, float] | None]


_INPUTS = {INDEPENDENT: (0.0, 0.0), PAPERS: None}
FULL = Effort(100, 8, (0.7, 1.0, 2.0, 3.0), STUDIED_STEPS, 40, 200, _INPUTS)
QUICK = Effort(4, 2, (1.0, 2.0), GLANCED_STEPS, 4, 60, {PAPERS: None})


# Makes one number per run from the results of one experiment, by the name of the scenario. A
# positive number supports the claim.
Differences = Callable[[Mapping[str, Result]], FloatArray]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper: that some number, worked out for every run, is positive."""

    key: str
    statement: str
    where: str  # what was compared, in words
    differences: Differences
    scenarios: tuple[str, ...]
    algorithms: tuple[str, ...]
    unit: str = "dB"
    level: float = 0.0  # `differences` are how far a quantity is above this level, in `unit`
    is_ratio: bool = False  # whether the quantity is how many times less, in dB
    counted: bool = False  # whether the quantity is counted, so that chance has no part in it
    on_grid: bool = True  # whether the claim is also judged at other step sizes and kernel widths

    def judge(self, results: Mapping[str, Result]) -> Estimate:
        """Estimate from the runs of these results how far the quantity is above the level."""
        found = estimate(self.differences(results))
        return Count(*found) if self.counted else found

    def shown(self, found: Estimate) -> Estimate:
        """Return the quantity as people are told it: a ratio as so many times, not in dB."""
        above = found.above(self.level)
        if not self.is_ratio:
            return above
        mean, low, high = (10 ** (end / 10) for end in above[:3])
        return Estimate(mean, low, high, above.runs)

    @property
    def shown_unit(self) -> str:
        """The unit of the quantity as people are told it."""
        return "times less" if self.is_ratio else self.unit


def finals_db(result: Result, name: str) -> FloatArray:
    """Return the final error of every run in dB: the mean over the last 5 % of the ticks."""
    return decibels(result.run_finals(name))


def over_time_db(result: Result, name: str) -> FloatArray:
    """Return the error of every run in dB, averaged over all points of its curve."""
    mean: FloatArray = decibels(result.run_curves(name)).mean(axis=-1)
    return mean


def _difference(left: FloatArray, right: FloatArray) -> FloatArray:
    """Subtract run by run; where both algorithms diverged the difference is NaN."""
    with np.errstate(invalid="ignore"):
        return left - right


def better(winner: str, loser: str, scenario: str) -> Differences:
    """Say by how many dB the final error of `winner` is below that of `loser`."""
    return lambda results: _difference(
        finals_db(results[scenario], loser), finals_db(results[scenario], winner)
    )


def better_over_time(winner: str, loser: str, scenario: str) -> Differences:
    """Say by how many dB the error of `winner` over the whole run is below that of `loser`."""
    return lambda results: _difference(
        over_time_db(results[scenario], loser), over_time_db(results[scenario], winner)
    )


def gain_grows(winner: str, loser: str, here: str, there: str) -> Differences:
    """Say by how many dB the gain of `winner` over `loser` is larger in `there` than in `here`.

    The runs of both scenarios share their worlds, so they are compared run by run.
    """
    return lambda results: _difference(
        better(winner, loser, there)(results), better(winner, loser, here)(results)
    )


def better_at_equal_traffic(winner: str, loser: str, scenario: str) -> Differences:
    """Say by how many dB `winner` is better when both have sent equally much.

    Both are judged when they have sent what the one that sends less has sent at its end.
    """

    def differences(results: Mapping[str, Result]) -> FloatArray:
        result = results[scenario]
        budget = np.minimum(*(result.run_sent(name)[:, -1] for name in (winner, loser)))
        errors = [_error_at(result, name, budget) for name in (winner, loser)]
        return _difference(decibels(errors[1]), decibels(errors[0]))

    return differences


def less_traffic(frugal: str, lavish: str, scenario: str, percent: float) -> Differences:
    """Say by how many percentage points `frugal` saves more than `percent` of the traffic."""

    def differences(results: Mapping[str, Result]) -> FloatArray:
        result = results[scenario]
        ratio = result.run_sent(frugal)[:, -1] / result.run_sent(lavish)[:, -1]
        return 100 * (1 - ratio) - percent

    return differences


def times_less_traffic(frugal: str, lavish: str, scenario: str, times: float) -> Differences:
    """Say how many times less `frugal` sends than `lavish` until both have reached the same error.

    The ratio is in dB, less that of `times`. The error is the higher of the two final errors of the
    run, which both reach.
    """

    def differences(results: Mapping[str, Result]) -> FloatArray:
        result = results[scenario]
        level = np.maximum(finals_db(result, frugal), finals_db(result, lavish))
        spent = [_traffic_until(result, name, level) for name in (frugal, lavish)]
        return decibels(spent[1] / spent[0]) - decibels(times)

    return differences


def _traffic_until(result: Result, name: str, level: FloatArray) -> FloatArray:
    """Return the coordinates that each run sent until its error first fell to its level.

    The error is smoothed over five points.
    """
    curves = decibels(_smoothed(result.run_curves(name)))
    reached = curves <= level[:, None]
    reached[:, -1] = True  # the final error is an average: its level is reached by the end
    first = reached.argmax(axis=1)
    spent: FloatArray = result.run_sent(name)[np.arange(len(first)), first].astype(np.float64)
    return spent


def _error_at(result: Result, name: str, budget: FloatArray) -> FloatArray:
    """Return each run's error, smoothed over five points, at the last point within its budget."""
    within = (result.run_sent(name) <= budget[:, None]).sum(axis=1)
    curves = _smoothed(result.run_curves(name))
    error: FloatArray = curves[np.arange(len(within)), np.maximum(within, 1) - 1]
    return error


def _smoothed(curves: FloatArray, points: int = 5) -> FloatArray:
    padded = np.pad(curves, ((0, 0), (points - 1, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, points, axis=1)
    mean: FloatArray = windows.mean(axis=-1)
    return mean


U1, C1, C2, U0, C0 = (f"pao-fed-{version}" for version in ("u1", "c1", "c2", "u0", "c0"))
SGD, ONE, MANY = "online-fedsgd", "pao-fed-u1:shared=1", "pao-fed-u1:shared=32"
_FRACTIONS = (0.02, 0.1, 0.5)
SUBSETS = tuple(f"online-fed:subset={fraction}" for fraction in _FRACTIONS)
I, II, IDEAL = "setting-1", "setting-2", "ideal"  # noqa: E741 (the paper's names)
_ROMAN = {I: "Setting I", II: "Setting II", IDEAL: "no delays, everyone available"}


def _compared(
    key: str, statement: str, winner: str, loser: str, scenario: str, *, over_time: bool = False
) -> Claim:
    """Claim that `winner` has a lower error than `loser`: the final one, or over the whole run."""
    compare, what = (
        (better_over_time, "error over the whole run") if over_time else (better, "final error")
    )
    return Claim(
        f"{key}{'-over-time' if over_time else ''}-{scenario}",
        statement,
        f"{winner} against {loser}, {_ROMAN[scenario]}, {what}",
        compare(winner, loser, scenario),
        (scenario,),
        (winner, loser),
        on_grid=scenario != IDEAL,
    )


LOCAL = "Learning between contacts improves convergence."
UNCOORDINATED = "Under delays it is best not to have all clients share the same parameters."
COORDINATED = "Without delays, coordinated sharing is slightly better than uncoordinated."
ACCURATE = "PAO-Fed is more accurate than Online-FedSGD with 98 % less communication."
POOR = "Picking a subset of the available clients (Online-Fed) gives poor accuracy."
FEWER = "Under delays, sharing more parameters per message decreases accuracy."
WEIGHT = "Weighing delayed updates less increases accuracy."
GROWS = "The gain of weighing delayed updates less grows in the harsher Setting II."
SAVED = "Sharing 4 of 200 parameters cuts communication by 98 %."
TENFOLD = "The convergence of Online-FedSGD is reached with a tenth of its communication."

CLAIMS: Sequence[Claim] = (
    _compared("local-c", LOCAL, C1, C0, I),
    _compared("local-u", LOCAL, U1, U0, I),
    _compared("uncoordinated", UNCOORDINATED, U1, C1, I),
    _compared("uncoordinated", UNCOORDINATED, U1, C1, II),
    _compared("coordinated", COORDINATED, C1, U1, IDEAL),
    _compared("accurate-u1", ACCURATE, U1, SGD, I),
    _compared("accurate-u1", ACCURATE, U1, SGD, I, over_time=True),
    _compared("accurate-c2", ACCURATE, C2, SGD, I),
    _compared("accurate-c2", ACCURATE, C2, SGD, I, over_time=True),
    _compared("accurate-u1", ACCURATE, U1, SGD, II),
    _compared("accurate-u1", ACCURATE, U1, SGD, II, over_time=True),
    _compared("accurate-c2", ACCURATE, C2, SGD, II),
    _compared("accurate-c2", ACCURATE, C2, SGD, II, over_time=True),
    *(_compared(f"poor-{fraction}", POOR, U1, subset, I)
      for fraction, subset in zip(_FRACTIONS, SUBSETS, strict=True)),
    *(Claim(f"poor-{fraction}-equal-traffic", POOR,
            f"{U1} against {subset}, Setting I, when both have sent as much as {U1} in all",
            better_at_equal_traffic(U1, subset, I), (I,), (U1, subset))
      for fraction, subset in zip(_FRACTIONS[1:], SUBSETS[1:], strict=True)),
    _compared("fewer-4-32", FEWER, U1, MANY, I),
    _compared("fewer-1-4", FEWER, ONE, U1, I),
    _compared("fewer-4-32", FEWER, U1, MANY, II),
    _compared("weight-c1", WEIGHT, C2, C1, I),
    _compared("weight-u1", WEIGHT, C2, U1, I),
    _compared("weight-c1", WEIGHT, C2, C1, II),
    _compared("weight-u1", WEIGHT, C2, U1, II),
    Claim("grows", GROWS, "gain of pao-fed-c2 over pao-fed-u1, Setting II against Setting I",
          gain_grows(C2, U1, I, II), (I, II), (C2, U1)),
    Claim("saved", SAVED, "coordinates of pao-fed-u1 against online-fedsgd, counted, Setting I",
          less_traffic(U1, SGD, I, 98.0), (I,), (U1, SGD), unit="% less", level=98.0,
          counted=True, on_grid=False),
    *(Claim(f"tenfold-{scenario}", TENFOLD,
            f"traffic of {U1} until an error that {SGD} reaches too, {_ROMAN[scenario]}",
            times_less_traffic(U1, SGD, scenario, 10.0), (scenario,), (U1, SGD),
            unit="dB less (tenfold is 10)", level=10.0, is_ratio=True) for scenario in (I, II)),
)  # fmt: skip
