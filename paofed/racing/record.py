"""What is known after a race: a record that prints as a table and goes to JSON."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from paofed.algorithms.spec import from_text
from paofed.core.learners import chosen
from paofed.racing.rejection import Standings, Student, behind_winner, last_of
from paofed.simulate.results.estimates import Estimate, estimate
from paofed.simulate.results.result import Result
from paofed.words import listed, size, table


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One candidate: what it scored, in dB."""

    candidate: str
    score: Estimate  # with its 95 % interval
    behind: Estimate  # the winner, unit by unit, when both were last run; an interval of the race
    payload: float  # bytes of a run, both ways
    kept: int  # numbers that a device keeps
    worlds: int  # that it was run in
    dropped: int | None  # after which round; None: it stayed to the end


def all_tried(
    history: Sequence[Standings],
    winner: str,
    student: Student,
    rounds: Sequence[int],
    left: Collection[str],
) -> tuple[Tried, ...]:
    """What is known of every candidate, the nearest to the winner first.

    `rounds` are the worlds of each round, and `left` are those whom the last one did not drop.
    """

    def tried(name: str) -> Tried:
        last = last_of(history, name)
        standing = history[last][name]
        return Tried(
            candidate=name,
            score=estimate(standing.values),
            behind=behind_winner(history, winner, name, student),
            payload=standing.payload,
            kept=standing.kept,
            worlds=sum(rounds[: last + 1]),
            dropped=None if name in left else last + 1,
        )

    return tuple(sorted(map(tried, history[0]), key=_rank))


def _rank(one: Tried) -> float:
    """By the difference to the winner, which alone is over common worlds."""
    return one.behind.mean if math.isfinite(one.behind.mean) else math.inf


@dataclass(frozen=True, kw_only=True)
class Fresh:
    """The winner in worlds that had no part in the choice."""

    worlds: int
    score: Estimate
    gain: Estimate  # over the usual candidate, unit by unit


@dataclass(frozen=True, kw_only=True)
class Race:
    """What was asked and tried, and what won."""

    asked: tuple[str, ...]
    winner: str
    usual: str  # the first candidate: what would have been taken without a race
    where: str
    units: str  # what the intervals are over
    tolerance: float  # dB that a cheaper candidate may be worse
    options: Mapping[str, tuple[Any, ...]]  # what was tried by option; empty for named candidates
    tried: tuple[Tried, ...] = ()  # the best first
    at_most: float = math.inf  # dB by which anything tried can be better than the winner
    fresh: Fresh | None = None  # None: it was interrupted before that
    reason: str = ""  # why nothing was tried

    def __str__(self) -> str:
        """The sentence, and a table of what was tried."""
        return "\n\n".join(filter(None, (self.sentence, self.table)))

    def __repr__(self) -> str:
        return str(self)

    @property
    def table(self) -> str:
        """What was tried, for people; nothing where nothing was."""
        if not self.tried:
            return ""
        header = ["candidate", "error (dB)", "behind (dB)", "payload", "kept", "worlds", "dropped"]
        rows = [
            [
                one.candidate,
                with_half(one.score),
                "winner" if one.candidate == self.winner else with_half(one.behind),
                size(one.payload),
                f"{one.kept:,}",
                str(one.worlds),
                "" if one.dropped is None else f"after round {one.dropped}",
            ]
            for one in self.tried
        ]
        over = (
            f"payload is that of a run, kept the numbers on a device; intervals over {self.units}; "
            f"those of `behind` hold all together with 95 %"
        )
        return f"{table(header, rows, left=(0, 6))}\n\n{over}"

    @property
    def sentence(self) -> str:
        """What was chosen among what, and how sure that is."""
        if self.reason:
            return f"{self.winner}: as usual, since nothing could be chosen: {self.reason}"
        said = f"{self.winner}: chosen {self.where}, among {self._among}; {self._why}{self._doubt}"
        if self.fresh is None:
            return f"{said}; not judged on fresh worlds"
        said = f"{said}; on {self.fresh.worlds} fresh worlds {with_half(self.fresh.score)} dB"
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
        """Why the winner is not the best of what was tried, where it is not."""
        if self.winner == self.tried[0].candidate:
            return ""
        return f"it is the cheapest within {self.tolerance:g} dB of the best; "

    @property
    def _doubt(self) -> str:
        """By how much anything that was tried can be better, with the confidence of the race."""
        if self.at_most <= 0:
            return "all else that was tried was worse (95 %)"
        if not math.isfinite(self.at_most):
            return "too little was run to say how good the others are"
        most = math.ceil(100 * self.at_most) / 100
        return f"nothing tried was better by more than {most:.2f} dB (95 %)"

    def as_json(self) -> dict[str, Any]:
        """Everything in plain values, and in words; what is not known is None."""
        told = asdict(self) | {"sentence": self.sentence, "table": self.table}
        told["tried"] = [plain(one) for one in self.tried]
        told["fresh"] = None if self.fresh is None else plain(self.fresh)
        values: dict[str, Any] = known(told)
        return values

    def kept_in(self, result: Result) -> Result:
        """The result of a run with what was chosen, whose provenance then says so."""
        races = [*result.provenance.get("chosen", ()), self.as_json()]
        return replace(result, provenance={**result.provenance, "chosen": races})


def lms_step(races: Sequence[Race]) -> float | None:
    """The step size of the best candidate that takes LMS steps; None where none was tried.

    It is for baselines, which take such steps, too: that of another learner may suit it alone.
    """
    best = [found for race in races if (found := _best_by_lms(race)) is not None]
    return min(best)[1] if best else None


def _best_by_lms(race: Race) -> tuple[float, float] | None:
    """Score and step size of the best candidate of one race that takes LMS steps."""
    for one in race.tried:  # the best first
        method = from_text(one.candidate)
        learner = chosen(method.learner)
        by_lms = learner is not None and learner.learner == "lms"
        if by_lms and method.step_size is not None and math.isfinite(one.score.mean):
            return one.score.mean, method.step_size
    return None


def plain(part: object) -> dict[str, Any]:
    """The fields of a record, with estimates in plain values."""
    return {
        key: value._asdict() if isinstance(value, Estimate) else value
        for key, value in vars(part).items()
    }


def known(value: Any) -> Any:
    """The same in which what is not finite is None, as JSON has it."""
    if isinstance(value, dict):
        return {key: known(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [known(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def compared(gain: Estimate) -> str:
    """A gain in words: one below 0 is a loss."""
    if gain.mean >= 0:
        return f"{with_half(gain)} dB better"
    return f"{with_half(Estimate(-gain.mean, -gain.high, -gain.low, gain.runs))} dB worse"


def with_half(found: Estimate) -> str:
    """A mean and half of its interval, where it has one."""
    if not math.isfinite(found.mean):
        return "diverged"
    half = (found.high - found.low) / 2
    mean = round(found.mean, 2) + 0.0  # no minus zero
    return f"{mean:.2f} ± {half:.2f}" if math.isfinite(half) else f"{mean:.2f}"
