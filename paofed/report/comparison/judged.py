"""What the entrants did: errors, bytes, differences in pairs, who is on the front, who leads."""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from paofed.errors import FileError
from paofed.files import read_text
from paofed.simulate.results.estimates import Estimate
from paofed.table import ShownTable, in_files
from paofed.words import counted, listed

PAO_FED = ("pao-fed-u", "pao-fed-c")  # the entrants with which others are compared


class Purse(NamedTuple):
    """A number of bytes on the wire, of a whole fleet over a whole run, under a tariff."""

    tariff: str
    budget: str
    bytes: float


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


def every_number(found: Sequence[Judged]) -> ShownTable:
    """Return every number, as `load` reads it."""
    keys = (
        "setting", "tariff", "budget", "budget_bytes", "entrant", "word", "bytes",
        ("db", "low", "high", "units"), ("behind", "behind_low", "behind_high"),
        "verdict", "on_front", "against",
    )  # fmt: skip
    rows = [
        [one.setting, *one.purse, one.entrant, one.word, one.bytes, one.error, one.behind,
         one.verdict, "yes" if one.on_front else "no", one.against]
        for one in found
    ]  # fmt: skip
    return in_files(keys, rows)


def load(path: Path) -> list[Judged]:
    """Read the CSV of every number."""
    lines = csv.DictReader(read_text(path).splitlines())
    if lines.fieldnames != every_number([]).header:
        raise FileError(
            f"{path} is no comparison: expected a compare.csv of `python -m lab compare`"
        )
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


class BudgetLine(NamedTuple):
    """One budget in one setting."""

    ours: Judged | None  # the version of PAO-Fed that others are held against, if one fits
    best: Judged  # the best of all entrants, by the mean error
    ahead: tuple[str, ...]  # entrants that are clearly better than PAO-Fed, the best first


def digest(found: Sequence[Judged]) -> list[BudgetLine]:
    """Return all budgets that any sound entrant fits, in the order in which they were run."""
    lines = []
    for _, group in groupby(found_in_order(found), key=lambda one: (one.setting, one.purse[:2])):
        sound = [one for one in group if one.verdict != "diverged"]
        if sound:
            own = (one for one in sound if one.entrant in PAO_FED and one.word == one.against)
            ours = next(own, None)
            ahead = tuple(one.entrant for one in sound if one.verdict == "better")
            lines.append(BudgetLine(ours, sound[0], ahead))
    return lines


def summary(found: Sequence[Judged]) -> str:
    """Say in how many comparisons anything beats PAO-Fed at equal bytes, and what does."""
    held = [one for one in found if one.entrant not in PAO_FED and one.behind is not None]
    better = [one.entrant for one in held if one.verdict == "better"]
    if not better:
        return (
            f"Nothing beats PAO-Fed clearly ({worlds(found)}) in any of "
            f"{counted(len(held), 'comparison')} at equal bytes."
        )
    most = sorted(dict.fromkeys(better), key=lambda name: -better.count(name))
    named = listed([f"{name} in {better.count(name)}" for name in most])
    return (
        f"In {len(better)} of {counted(len(held), 'comparison')} at equal bytes something beats "
        f"PAO-Fed clearly ({worlds(found)}): {named}."
    )


def worlds(found: Sequence[Judged]) -> str:
    """Say in how many worlds entrants were judged; over a table, devices are in their place."""
    counts = sorted({one.error.runs for one in found})
    return (
        counted(counts[0], "world") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} worlds"
    )


FOLDER = Path(__file__).parent / "published"


class Published(NamedTuple):
    """What was found, by which command, with which versions of the packages it needs."""

    found: list[Judged]
    command: str
    versions: Mapping[str, str]


def published() -> Published:
    """Read the published comparison from the package."""
    about = json.loads(read_text(FOLDER / "about.json"))
    return Published(load(FOLDER / "compare.csv"), about["command"], about["versions"])
