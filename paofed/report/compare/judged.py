"""What the entrants did: errors, bytes, differences in pairs, and who is on the front."""

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.errors import FileError
from paofed.files import read_text, write_table
from paofed.racing.rejection import Student, student_of_race
from paofed.report.compare.lineup import PAO_FED
from paofed.report.compare.search import Purse
from paofed.simulate.results.estimates import Estimate, estimate


class Judged(NamedTuple):
    """One entrant with the settings it chose for one purse, in the worlds of judgement."""

    setting: str
    purse: Purse
    entrant: str
    word: str
    bytes: float  # on the wire, under the tariff of the purse
    error: Estimate  # in dB, mean over worlds or, over a table, devices
    # DB by which it is worse than PAO-Fed with this purse; None: PAO-Fed has nothing for it. The
    # intervals of all differences of a comparison hold together with 95 %.
    behind: Estimate | None
    on_front: bool  # whether nothing that costs no more is clearly better, under this tariff
    against: str | None  # PAO-Fed's settings that `behind` is held against

    @property
    def verdict(self) -> str:
        """What the difference to PAO-Fed says, in words."""
        if not math.isfinite(self.error.mean):
            return "diverged"
        if self.entrant in PAO_FED:
            return "PAO-Fed"
        if self.behind is None:
            return "PAO-Fed does not fit"
        words = {"holds": "worse", "does not hold": "better"}
        return words.get(self.behind.verdict, self.behind.verdict)


class _Chosen(NamedTuple):
    """What an entrant chose for a purse, and its errors in dB by world or device."""

    setting: str
    purse: Purse
    entrant: str
    word: str
    score: float  # mean error in dB in the worlds of the search
    bytes: float
    values: FloatArray

    @property
    def place(self) -> tuple[str, Purse]:
        """The setting and the purse, by which entrants are compared."""
        return self.setting, self.purse

    @property
    def diverged(self) -> bool:
        return not np.isfinite(self.values).all()

    def behind(self, other: "_Chosen", student: Student) -> Estimate:
        """Return by how many dB this choice is worse than another, pair by pair."""
        with np.errstate(invalid="ignore"):  # both may have diverged
            return estimate(self.values - other.values, student=student)

    def is_no_cheaper_than(self, other: "_Chosen") -> bool:
        """Whether another choice is a rival on the front: it costs no more where both were run."""
        here = (self.setting, self.purse.tariff) == (other.setting, other.purse.tariff)
        return here and other.word != self.word and other.bytes <= self.bytes


def judge(pieces: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[Judged]:
    """Compare entrants with PAO-Fed and with each other, from finished pieces by setting and name.

    The version of PAO-Fed that entrants are held against is chosen by the worlds of the search, as
    the settings of everybody are: the better of two in the worlds of judgement would be a little
    lucky there. However many differences there are, the intervals of all of them hold together
    with 95 % (Bonferroni's bound), and so do, among themselves, those that decide on the front. A
    difference that stands for several purses is counted once.
    """
    found = [one for setting, units in pieces.items() for one in _chosen(setting, units)]
    ours = _references(found)
    rivals = {
        (one.place, one.entrant): [other for other in found if one.is_no_cheaper_than(other)]
        for one in found
    }
    against = [(one, ours[one.place]) for one in found if one.place in ours]
    # A difference may be clear to either side; on the front one side counts.
    student = _student(2 * _distinct(against))
    student_of_front = _student(
        _distinct((one, other) for one in found for other in rivals[one.place, one.entrant])
    )

    def judged(one: _Chosen) -> Judged:
        best = ours.get(one.place)
        beaten = any(
            one.behind(other, student_of_front).low > 0 for other in rivals[one.place, one.entrant]
        )
        return Judged(
            setting=one.setting,
            purse=one.purse,
            entrant=one.entrant,
            word=one.word,
            bytes=one.bytes,
            error=estimate(one.values),
            behind=None if best is None else one.behind(best, student),
            on_front=not (one.diverged or beaten),
            against=None if best is None else best.word,
        )

    return [judged(one) for one in found]


def _chosen(setting: str, pieces: Mapping[str, Mapping[str, Any]]) -> Iterator[_Chosen]:
    """Yield what the entrants of one setting chose, from their pieces by name."""
    for name, piece in pieces.items():
        for line in piece["chosen"]:
            yield _Chosen(
                setting=setting,
                purse=Purse(line["tariff"], line["budget"], line["bytes"]),
                entrant=name,
                word=line["word"],
                score=line["score"],
                bytes=piece["spent"][line["word"]][line["tariff"]],
                values=np.array(piece["values"][line["word"]]),
            )


def _references(found: Sequence[_Chosen]) -> dict[tuple[str, Purse], _Chosen]:
    """Return PAO-Fed's better version by place, as far as the worlds of the search tell."""
    ours = sorted((one for one in found if one.entrant in PAO_FED), key=lambda one: -one.score)
    return {one.place: one for one in ours}  # the best comes last


def _distinct(pairs: Iterable[tuple[_Chosen, _Chosen]]) -> int:
    """Count differences; that of the same two choices in the same worlds is one difference."""
    words = {(one.setting, one.word, other.word) for one, other in pairs if one.word != other.word}
    return len(words)


def _student(intervals: int) -> Student:
    """Return where one-sided intervals end that hold all together."""
    return student_of_race(1 + intervals, rounds=1)


def found_in_order(found: Sequence[Judged]) -> list[Judged]:
    """Sort by setting and tariff as they were run, then by budget, the best first."""
    places = list(dict.fromkeys(place(one) for one in found))
    budgets = list(dict.fromkeys(one.purse.budget for one in found))

    def rank(one: Judged) -> tuple[int, int, float]:
        mean = one.error.mean
        worst = mean if math.isfinite(mean) else math.inf  # entrants that diverged come last
        return places.index(place(one)), budgets.index(one.purse.budget), worst

    return sorted(found, key=rank)


def place(one: Judged) -> tuple[str, str]:
    """Return the setting and the tariff under which something was judged."""
    return one.setting, one.purse.tariff


HEADER = (
    "setting", "tariff", "budget", "budget_bytes", "entrant", "word", "bytes", "db", "low", "high",
    "units", "behind", "behind_low", "behind_high", "verdict", "on_front",
    "against",
)  # fmt: skip


def save(found: Sequence[Judged], path: Path) -> None:
    """Write every number as CSV."""
    write_table(path, list(HEADER), [_row(one) for one in found])


def _row(one: Judged) -> list[object]:
    behind = ("", "", "") if one.behind is None else one.behind[:3]
    return [
        one.setting, *one.purse, one.entrant, one.word, one.bytes, *one.error, *behind,
        one.verdict, "yes" if one.on_front else "no", one.against or "",
    ]  # fmt: skip


def load(path: Path) -> list[Judged]:
    """Read what `save` wrote."""
    lines = csv.DictReader(read_text(path).splitlines())
    if tuple(lines.fieldnames or ()) != HEADER:
        raise FileError(f"{path} is no comparison: expected a compare.csv of `paofed compare`")
    return [_read(line) for line in lines]


def _read(line: Mapping[str, str]) -> Judged:
    def estimate_of(mean: str, low: str, high: str) -> Estimate:
        return Estimate(float(line[mean]), float(line[low]), float(line[high]), int(line["units"]))

    return Judged(
        setting=line["setting"],
        purse=Purse(line["tariff"], line["budget"], float(line["budget_bytes"])),
        entrant=line["entrant"],
        word=line["word"],
        bytes=float(line["bytes"]),
        error=estimate_of("db", "low", "high"),
        behind=estimate_of("behind", "behind_low", "behind_high") if line["behind"] else None,
        on_front=line["on_front"] == "yes",
        against=line["against"] or None,
    )
