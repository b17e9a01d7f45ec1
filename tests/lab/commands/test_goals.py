import math
from pathlib import Path
from typing import Any

import pytest

from lab.commands import main
from lab.commands.goals import GOALS, Case, Goal, judge, load, shown, shown_cases
from paofed.files import write_table
from paofed.report.run.by_labels import BestBeside
from paofed.simulate.results.estimates import Estimate

NEAR, ALONE, AHEAD = GOALS


def beside(gain: float, half: float = 0.05, *, name: str = "rls", db: float = -5.0) -> BestBeside:
    return BestBeside(name, db, Estimate(gain, gain - half, gain + half, 4))


def case(**changes: Any) -> Case:
    """A method that gains nothing, over nobody."""
    values: dict[str, Any] = {
        "algorithm": "ours",
        "table": "t",
        "labels": "10%",
        "whom": "with labels",
        "alone": beside(0.0),
        "pooled": beside(0.0, name="batch linear", db=-4.0),
        "first": beside(0.0, name="theirs"),
    }
    return Case(**{**values, **changes})


@pytest.mark.parametrize(
    ("goal", "gain", "half", "verdict"),
    [
        (NEAR, -0.3, 0.1, "met"),
        (NEAR, -0.1, 0.1, "clearly met"),
        (NEAR, -0.31, 0.1, "missed"),
        (NEAR, -0.5, 0.1, "clearly missed"),
        (NEAR, -0.5, math.nan, "missed"),  # a single device has no interval
        (NEAR, -math.inf, math.nan, "missed"),  # diverged
        (NEAR, math.inf, math.nan, "met"),  # all others did
        (ALONE, -0.1, 0.1, "met"),
        (ALONE, -0.2, 0.05, "clearly missed"),
        (AHEAD, 0.3, 0.1, "met"),
        (AHEAD, 0.5, 0.1, "clearly met"),
        (AHEAD, 0.29, 0.1, "missed"),
    ],
)
def test_a_verdict_is_clear_where_the_whole_interval_is(
    goal: Goal, gain: float, half: float, verdict: str
) -> None:
    found = beside(gain, half)
    assert goal.verdict(case(alone=found, first=found)) == verdict


@pytest.mark.parametrize(
    ("pooled_db", "better"), [(-4.0, "rls"), (-6.0, "batch linear"), (math.nan, "rls")]
)
def test_the_better_rival_has_the_least_error(pooled_db: float, better: str) -> None:
    one = case(pooled=beside(0.0, name="batch linear", db=pooled_db))
    assert NEAR.rival(one).name == better


def test_each_goal_counts_cases_of_its_own() -> None:
    cases = [
        case(labels="all", alone=beside(-0.2)),
        case(alone=beside(-0.4)),
        case(whom="without labels", first=beside(0.5, name="theirs")),
        case(algorithm="theirs", alone=beside(-9.0)),  # others are held against it
    ]
    near, alone, ahead = judge(cases)
    assert [len(one.cases) for one in (near, alone, ahead)] == [3, 2, 2]
    assert [one.asked for one in (near, alone, ahead)] == [3, 2, 1]  # 3/4 of 3; all; a third of 2
    assert [one.count("met", "clearly met") for one in (near, alone, ahead)] == [2, 0, 1]
    assert [one.reached for one in (near, alone, ahead)] == [False, False, True]
    assert [NEAR.rival(one).gain.mean for one in near.cases] == [-0.4, -0.2, 0.0]
    assert {one.algorithm for one in (near, alone, ahead)} == {"ours"}


def test_both_tables_say_the_same() -> None:
    found = list(judge([case(), case(table="u", alone=beside(-0.4))]))
    (near, *_) = shown(found).json()
    assert (near["cases"], near["asked"], near["met"], near["missed"]) == (2, 2, 1, 1)
    assert (near["clearly_met"], near["clearly_missed"], near["reached"]) == (1, 1, "no")
    missed = shown_cases(found, "missed", "clearly missed").json()
    assert [(row["goal"], row["table"], row["verdict"]) for row in missed] == [
        (NEAR.words, "u", "clearly missed"),
        (ALONE.words, "u", "clearly missed"),
        (AHEAD.words, "t", "clearly missed"),
        (AHEAD.words, "u", "clearly missed"),
    ]
    assert missed[0]["gain"] == pytest.approx({"mean": -0.4, "low": -0.45, "high": -0.35})


HEADER = (
    "table", "labels", "algorithm", "whom", "devices", "gain", "low", "high", "over", "over_db",
    "pooled_gain", "pooled_low", "pooled_high", "pooled", "pooled_db",
    "first_gain", "first_low", "first_high", "first", "first_db",
)  # fmt: skip


def row(table: str, algorithm: str, ahead: float) -> list[Any]:
    nobody = [math.nan, math.nan, math.nan, "", math.nan]
    alone, first = [-0.4, -0.5, -0.3, "rls", -5.0], [ahead, 0.4, 0.6, "theirs", -4.0]
    return [table, "10%", algorithm, "with labels", 7, *alone, *nobody, *first]


def test_files_of_several_runs_are_judged_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for file, name in zip(files, "tu", strict=True):
        write_table(file, HEADER, [row(name, "theirs", 0.0), row(name, "ours", 0.5)])
    (_, ours) = load(files[0])
    assert ours.alone == BestBeside("rls", -5.0, Estimate(-0.4, -0.5, -0.3, 7))
    assert (ours.better, ours.first.gain.mean) == (ours.alone, 0.5)
    out = tmp_path / "goals.csv"
    assert main(["goals", *map(str, files), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "-0.3 dB over the better of alone and pooled" in shown
    _, *lines = out.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 6  # every goal for every table
    where, found = "ours,+0.3 dB over the first method,u,10%,with labels", "0.5,0.4,0.6,7,theirs"
    assert lines[-1] == f"{where},{found},clearly met"


def test_what_cannot_be_judged_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.csv"
    write_table(file, HEADER, [row("t", "theirs", 0.0)])
    assert main(["goals", str(file)]) == 2
    assert "nothing to judge" in capsys.readouterr().err
    write_table(file, HEADER[:-5], [row("t", "theirs", 0.0)[:-5]])
    assert main(["goals", str(file)]) == 2
    assert "has no column 'first_gain'" in capsys.readouterr().err
