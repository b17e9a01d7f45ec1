"""How entrants are judged: compared with PAO-Fed and with each other, in pairs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lab.compare.search import Pick
from paofed.core.arrays import FloatArray
from paofed.experiments.rejection import Student, student_of_race
from paofed.report.comparison.page import PAO_FED, Judged, Purse
from paofed.simulate.results.estimates import Estimate, estimate


class Entry(NamedTuple):
    """What one entrant chose in one setting and what that did in the worlds of judgement."""

    chosen: Mapping[Purse, Pick]
    values: Mapping[str, FloatArray]  # by word: errors in dB by world or device
    spent: Mapping[str, Mapping[str, float]]  # by word and tariff: bytes


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


def judge(entries: Mapping[str, Mapping[str, Entry]]) -> list[Judged]:
    """Compare entrants with PAO-Fed and with each other, from entries by setting and name.

    The version of PAO-Fed that entrants are held against is chosen by the worlds of the search, as
    the settings of everybody are: the better of two in the worlds of judgement would be a little
    lucky there. However many differences there are, the intervals of all of them hold together
    with 95 % (Bonferroni's bound), and so do, among themselves, those that decide on the front. A
    difference that stands for several purses is counted once.
    """
    found = [one for setting, here in entries.items() for one in _chosen(setting, here)]
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


def _chosen(setting: str, entries: Mapping[str, Entry]) -> Iterator[_Chosen]:
    """Yield what the entrants of one setting chose, from their entries by name."""
    for name, entry in entries.items():
        for purse, pick in entry.chosen.items():
            yield _Chosen(
                setting=setting,
                purse=purse,
                entrant=name,
                word=pick.word,
                score=pick.score,
                bytes=entry.spent[pick.word][purse.tariff],
                values=entry.values[pick.word],
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
