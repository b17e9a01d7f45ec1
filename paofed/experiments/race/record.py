"""What is known after a race: a record that prints as a table and goes to JSON."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from paofed.algorithms import Algorithm
from paofed.experiments.candidates import Axes
from paofed.experiments.trials import Tried
from paofed.simulate.results.estimates import Estimate
from paofed.simulate.results.result import Result
from paofed.table import (
    BYTES,
    COUNT,
    ESTIMATE,
    WHOLE,
    ShownColumn,
    ShownTable,
    at_most,
    estimated,
    known,
)
from paofed.words import MEAN_DB, listed


@dataclass(frozen=True, kw_only=True)
class Fresh:
    """The winner in worlds that had no part in the choice."""

    worlds: int
    score: Estimate
    gain: Estimate  # dB over the usual candidate, pair by pair


@dataclass(frozen=True, kw_only=True)
class Race:
    """What was asked and tried, and what won."""

    asked: tuple[str, ...]
    winner: str
    usual: str  # the first candidate, which would have been taken without a race
    where: str
    over: str  # what the intervals are over: worlds, devices or blocks of time
    tolerance: float  # dB that a cheaper candidate may be worse and still win
    options: Axes  # values tried by option; empty for named candidates
    methods: Mapping[str, Algorithm] = field(repr=False)  # all candidates by name; not in JSON
    tried: tuple[Tried, ...] = ()  # the best first
    at_most: float = math.inf  # dB by which anything tried can be better than the winner
    fresh: Fresh | None = None  # None: the race was interrupted before
    reason: str = ""  # why nothing was tried, if so

    def __str__(self) -> str:
        """Say what was chosen, then the table of what was tried."""
        return "\n\n".join(filter(None, (self.sentence, self.table)))

    def __repr__(self) -> str:
        return str(self)

    @property
    def best(self) -> Algorithm:
        """The algorithm that won."""
        return self.methods[self.winner]

    @property
    def table(self) -> str:
        """Return what was tried as a table; empty where nothing was."""
        if not self.tried:
            return ""
        columns = (
            ShownColumn("candidate", "candidate"),
            ShownColumn("score", score_name(self.over), ESTIMATE),
            ShownColumn("behind", "behind", ESTIMATE, "dB", missing="winner"),
            ShownColumn("payload", "payload", BYTES),
            ShownColumn("kept", "kept", COUNT),
            ShownColumn("worlds", "worlds", WHOLE),
            ShownColumn("dropped", "dropped"),
        )
        rows = [
            [
                one.candidate,
                one.score,
                None if one.candidate == self.winner else one.behind,
                one.payload,
                one.kept,
                one.worlds,
                None if one.dropped is None else f"after round {one.dropped}",
            ]
            for one in self.tried
        ]
        over = (
            f"payload: bytes of a run; kept: numbers that a device keeps; intervals of 95 % over "
            f"{self.over}, those of `behind` for all candidates at once"
        )
        return ShownTable(columns, rows, notes=(over,)).text()

    @property
    def sentence(self) -> str:
        """Say what was chosen among what, and how sure that is."""
        if self.reason:
            return f"{self.winner}: as usual, since nothing could be chosen: {self.reason}"
        said = f"{self.winner}: chosen {self.where}, among {self._among}; {self._why}{self._doubt}"
        if self.fresh is None:
            return f"{said}; not judged on fresh worlds"
        score = score_said(self.fresh.score, self.over)
        said = f"{said}; on {self.fresh.worlds} fresh worlds {score}"
        if self.winner == self.usual:
            return said
        return f"{said}, {compared(self.fresh.gain)} than {self.usual}"

    @property
    def _among(self) -> str:
        if not self.options:
            return listed([one.candidate for one in self.tried])
        parts = [f"{key} {', '.join(map(str, sorted(v)))}" for key, v in self.options.items()]
        if len(self.tried) == math.prod(map(len, self.options.values())):
            return " x ".join(parts)
        return f"{len(self.tried)} combinations of {' with '.join(parts)}"

    @property
    def _why(self) -> str:
        """Say why the winner is not the best of what was tried; empty where it is."""
        if self.winner == self.tried[0].candidate:
            return ""
        return f"it is the cheapest within {self.tolerance:g} dB of the best; "

    @property
    def _doubt(self) -> str:
        """Say by how much anything tried can be better, with the confidence of the race."""
        if self.at_most <= 0:
            return "all else that was tried was worse (95 %)"
        if not math.isfinite(self.at_most):
            return "too little was run to say how good the others are"
        return f"nothing tried was better by more than {at_most(self.at_most)} dB (95 %)"

    def as_json(self) -> dict[str, Any]:
        """Return everything in plain values, and in words; what is not known is None."""
        told = {"units" if key == "over" else key: value for key, value in vars(self).items()}
        del told["methods"]
        told |= {"sentence": self.sentence, "table": self.table}
        told["tried"] = [plain(one) for one in self.tried]
        told["fresh"] = None if self.fresh is None else plain(self.fresh)
        values: dict[str, Any] = known(told)
        return values

    def kept_in(self, result: Result) -> Result:
        """Return the result of a run with the chosen candidate; its provenance names this race."""
        races = [*result.provenance.get("chosen", ()), self.as_json()]
        return replace(result, provenance={**result.provenance, "chosen": races})


def lms_step(races: Sequence[Race]) -> float | None:
    """Return the step size of the best candidate with LMS steps; None where none was tried.

    Baselines use it, since they take LMS steps as well: the step size of another learner may suit
    that learner alone.
    """
    best = [found for race in races if (found := _best_by_lms(race)) is not None]
    return min(best)[1] if best else None


def _best_by_lms(race: Race) -> tuple[float, float] | None:
    """Return score and step size of the best candidate of one race that takes LMS steps."""
    for one in race.tried:  # the best first
        method = race.methods[one.candidate]
        if method.steps_by_lms and method.step_size is not None and math.isfinite(one.score.mean):
            return one.score.mean, method.step_size
    return None


def plain(part: object) -> dict[str, Any]:
    """Return the fields of a record, with estimates in plain values."""
    return {
        key: value._asdict() if isinstance(value, Estimate) else value
        for key, value in vars(part).items()
    }


def score_name(over: str) -> str:
    """Name a score: dB are taken in each world, but of the mean over devices or blocks of time."""
    return MEAN_DB if over == "worlds" else "error (dB)"


def score_said(score: Estimate, over: str) -> str:
    """Write a score over worlds, devices or blocks of time, with its name."""
    return f"{estimated(score)} {MEAN_DB if over == 'worlds' else 'dB'}"


def compared(gain: Estimate) -> str:
    """Say a gain in words: a gain below 0 is a loss."""
    if gain.mean >= 0:
        return f"{estimated(gain)} dB better"
    return f"{estimated(Estimate(-gain.mean, -gain.high, -gain.low, gain.runs))} dB worse"
