"""What the entrants did: errors, bytes, differences in pairs, and who is on the front."""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.errors import FileError
from paofed.files import read_text, write_table
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
    # DB by which it is worse than PAO-Fed with this purse; None: PAO-Fed has nothing for it.
    behind: Estimate | None
    on_front: bool  # whether nothing that costs no more is clearly better, under this tariff

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

    purse: Purse
    entrant: str
    word: str
    bytes: float
    values: FloatArray

    @property
    def diverged(self) -> bool:
        return not np.isfinite(self.values).all()

    def behind(self, other: "_Chosen") -> Estimate:
        """Return by how many dB this choice is worse than another, pair by pair."""
        with np.errstate(invalid="ignore"):  # both may have diverged
            return estimate(self.values - other.values)

    def is_beaten_by(self, other: "_Chosen") -> bool:
        """Whether another choice costs no more and is clearly better."""
        if other.word == self.word or other.bytes > self.bytes:
            return False
        return self.behind(other).low > 0


def judge(setting: str, pieces: Mapping[str, Mapping[str, Any]]) -> Iterator[Judged]:
    """Compare the entrants of one setting, by name, with PAO-Fed and with each other."""
    found = [
        _Chosen(
            purse=Purse(line["tariff"], line["budget"], line["bytes"]),
            entrant=name,
            word=line["word"],
            bytes=piece["spent"][line["word"]][line["tariff"]],
            values=np.array(piece["values"][line["word"]]),
        )
        for name, piece in pieces.items()
        for line in piece["chosen"]
    ]
    for one in found:
        own = [other for other in found if other.purse == one.purse and other.entrant in PAO_FED]
        best = min(own, key=lambda other: float(other.values.mean()), default=None)
        rivals = [other for other in found if other.purse.tariff == one.purse.tariff]
        yield Judged(
            setting=setting,
            purse=one.purse,
            entrant=one.entrant,
            word=one.word,
            bytes=one.bytes,
            error=estimate(one.values),
            behind=None if best is None else one.behind(best),
            on_front=not (one.diverged or any(one.is_beaten_by(other) for other in rivals)),
        )


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
)  # fmt: skip


def save(found: Sequence[Judged], path: Path) -> None:
    """Write every number as CSV."""
    write_table(path, list(HEADER), [_row(one) for one in found])


def _row(one: Judged) -> list[object]:
    behind = ("", "", "") if one.behind is None else one.behind[:3]
    return [
        one.setting, *one.purse, one.entrant, one.word, one.bytes, *one.error, *behind,
        one.verdict, "yes" if one.on_front else "no",
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
    )
