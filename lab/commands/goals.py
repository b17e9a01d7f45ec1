"""Judge methods by what fed-ridge was built to reach, from rows of `python -m lab labels`.

A case is one table under one law of labels, with the devices that have labels or with those that
have none. A goal asks that a method's devices gain so many dB over a rival in a share of the cases.
A case is clear where the whole interval over devices is on one side of what is asked.
"""

import csv
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Literal, NamedTuple

from paofed.errors import FileError, InputError
from paofed.files import read_text, require_writable
from paofed.report.run.by_labels import BestBeside
from paofed.report.shared.looks import rank
from paofed.simulate.results.estimates import Estimate
from paofed.table import COUNT, GAIN, NAME, ShownColumn, ShownTable

EXAMPLE = "python -m lab goals labels.csv --out goals.csv"


class Case(NamedTuple):
    """How a method fared on the devices of one kind, of one table, under one law of labels."""

    algorithm: str
    table: str
    labels: str
    whom: str
    alone: BestBeside
    pooled: BestBeside
    first: BestBeside  # the first of the methods that were run

    @property
    def better(self) -> BestBeside:
        """The better of being alone and the pooled fit."""
        return min(self.alone, self.pooled, key=lambda beside: rank(beside.db))


class Goal(NamedTuple):
    """A gain that is asked of a method in a share of some cases."""

    rival: Callable[[Case], BestBeside]
    over: str
    least: float  # dB
    share: Fraction
    counts: Callable[[Case], bool]
    where: str  # the cases that count, in words

    @property
    def words(self) -> str:
        """The gain that is asked for."""
        return f"{self.least:+.1f} dB over {self.over}"

    def verdict(self, case: Case) -> "Verdict":
        """Say whether a method gains in a case what is asked, and whether that is clear."""
        gain = self.rival(case).gain
        if gain.mean >= self.least:
            return "clearly met" if gain.low >= self.least else "met"
        return "clearly missed" if gain.high < self.least else "missed"


Verdict = Literal["clearly met", "met", "missed", "clearly missed"]
GOALS = (
    Goal(lambda case: case.better, "the better of alone and pooled", -0.3, Fraction(3, 4),
        lambda _: True, "all"),
    Goal(lambda case: case.alone, "alone", -0.1, Fraction(1),
        lambda case: case.whom == "with labels", "devices with labels"),
    Goal(lambda case: case.first, "the first method", 0.3, Fraction(1, 3),
        lambda case: case.labels != "all", "labels rare, late or missing"),
)  # fmt: skip


class Attempt(NamedTuple):
    """All cases of one method that count for a goal, the furthest from it first."""

    algorithm: str
    goal: Goal
    cases: Sequence[Case]

    @property
    def asked(self) -> int:
        """In how many cases the goal must be met."""
        return math.ceil(self.goal.share * len(self.cases))

    def count(self, *verdicts: Verdict) -> int:
        """Return in how many cases the verdict is one of these."""
        return sum(self.goal.verdict(case) in verdicts for case in self.cases)

    @property
    def reached(self) -> bool:
        """Whether the goal is met in as many cases as it must be."""
        return self.count("met", "clearly met") >= self.asked


def judge(cases: Sequence[Case]) -> Iterator[Attempt]:
    """Judge by every goal all methods but the first, which is one that they are held against."""
    others = [case for case in cases if case.algorithm != case.first.name]
    for algorithm, goal in product(dict.fromkeys(case.algorithm for case in others), GOALS):
        found = [case for case in others if case.algorithm == algorithm and goal.counts(case)]
        found.sort(key=lambda case: goal.rival(case).gain.mean)
        yield Attempt(algorithm, goal, found)


def shown(found: Sequence[Attempt]) -> ShownTable:
    """Return in how many cases each method reached what was asked."""
    columns = (
        ShownColumn("algorithm", "algorithm", NAME),
        ShownColumn("goal", "goal"),
        ShownColumn("where", "cases that count"),
        ShownColumn("cases", "cases", COUNT),
        ShownColumn("asked", "asked", COUNT),
        ShownColumn("met", "met", COUNT),
        ShownColumn("clearly_met", "clearly", COUNT),
        ShownColumn("missed", "missed", COUNT),
        ShownColumn("clearly_missed", "clearly", COUNT),
        ShownColumn("reached", "goal reached"),
    )
    rows = [
        [attempt.algorithm, attempt.goal.words, attempt.goal.where, len(attempt.cases),
         attempt.asked, attempt.count("met", "clearly met"), attempt.count("clearly met"),
         attempt.count("missed", "clearly missed"), attempt.count("clearly missed"),
         "yes" if attempt.reached else "no"]
        for attempt in found
    ]  # fmt: skip
    title = "in how many cases a method's devices gain what is asked, and how often clearly"
    return ShownTable(columns, rows, title)


def shown_cases(found: Sequence[Attempt], *verdicts: Verdict) -> ShownTable:
    """Return the cases of every goal with one of some verdicts, the furthest from it first."""
    columns = (
        ShownColumn("algorithm", "algorithm", NAME),
        ShownColumn("goal", "goal"),
        ShownColumn("table", "table"),
        ShownColumn("labels", "labels"),
        ShownColumn("whom", "devices"),
        ShownColumn(("gain", "low", "high", "devices"), "gain", GAIN, "dB"),
        ShownColumn("over", "over"),
        ShownColumn("verdict", "verdict"),
    )
    rows = [
        [attempt.algorithm, attempt.goal.words, case.table, case.labels, case.whom, rival.gain,
         rival.name, verdict]
        for attempt in found
        for case in attempt.cases
        for rival, verdict in [(attempt.goal.rival(case), attempt.goal.verdict(case))]
        if verdict in verdicts
    ]  # fmt: skip
    return ShownTable(columns, rows, "the furthest from each goal first (95 % over devices)")


def load(path: Path) -> list[Case]:
    """Read the rows that `python -m lab labels` wrote."""
    try:
        return [_read(line) for line in csv.DictReader(read_text(path).splitlines())]
    except KeyError as missing:
        raise FileError(
            f"{path} has no column {missing}: expected a CSV of `python -m lab labels`"
        ) from None


def _read(line: Mapping[str, str]) -> Case:
    def beside(name: str, mean: str, low: str, high: str) -> BestBeside:
        ends = float(line[mean]), float(line[low]), float(line[high])
        gain = Estimate(*ends, int(line["devices"]))
        return BestBeside(line[name], float(line[f"{name}_db"]), gain)

    return Case(
        line["algorithm"],
        line["table"],
        line["labels"],
        line["whom"],
        alone=beside("over", "gain", "low", "high"),
        pooled=beside("pooled", "pooled_gain", "pooled_low", "pooled_high"),
        first=beside("first", "first_gain", "first_low", "first_high"),
    )


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("rows", nargs="+", type=Path, metavar="FILE",
        help="CSV files that `python -m lab labels --out` wrote")  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="FILE", help="CSV file to write every case to")


def run(args: Namespace) -> int:
    """Judge, then print how often each goal was met, and where it was not."""
    if args.out is not None:
        require_writable(args.out)
    found = list(judge([case for path in args.rows for case in load(path)]))
    if not found:
        raise InputError("no method is there beside the first one: nothing to judge")
    if args.out is not None:
        shown_cases(found, "clearly missed", "missed", "met", "clearly met").csv(args.out)
    print(shown(found).text())
    print()
    print(shown_cases(found, "clearly missed", "missed").text())
    return 0
