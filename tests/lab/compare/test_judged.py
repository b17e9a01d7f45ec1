from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from lab.compare.judgement import Entry, judge
from lab.compare.search import Pick
from paofed.errors import FileError
from paofed.report.comparison.page import Judged, Purse, digest, load
from paofed.simulate.results.estimates import Estimate
from tests.effort import effort


def entry(score: float = 0.0, **settings: tuple[float, list[float]]) -> Entry:
    """Bytes and errors of what was chosen for the budgets of these names.

    `score` is its error in the worlds of the search.
    """
    return Entry(
        chosen={
            Purse("payload", budget, 100.0): Pick(f"word-{sent}", score)
            for budget, (sent, _) in settings.items()
        },
        values={f"word-{sent}": np.array(values) for sent, values in settings.values()},
        spent={f"word-{sent}": {"payload": sent} for sent, _ in settings.values()},
    )


def judged_alone(entries: dict[str, Entry]) -> list[Judged]:
    """Judge a comparison of one setting."""
    return judge({"here": entries})


def test_verdicts_and_the_front() -> None:
    """Errors by world; the second entrant is better by 1 dB, the third is dearer and worse."""
    found = judged_alone(
        {
            "pao-fed-u": entry(same=(90.0, [-5.0, -6.0, -7.0])),
            "ace": entry(same=(80.0, [-6.0, -7.1, -7.9])),
            "fed-at": entry(same=(95.0, [-4.0, -5.1, -5.9])),
            "late": entry(other=(20.0, [-1.0, -1.0, -1.0])),
        }
    )
    by_name = {one.entrant: one for one in found}
    verdicts = {name: one.verdict for name, one in by_name.items()}
    assert verdicts == {"pao-fed-u": "PAO-Fed", "ace": "better", "fed-at": "worse",
                        "late": "PAO-Fed does not fit"}  # fmt: skip
    assert by_name["ace"].behind is not None
    assert by_name["ace"].behind.mean == pytest.approx(-1.0)
    assert {name for name, one in by_name.items() if one.on_front} == {"ace", "late"}


def test_what_diverged_is_told_and_is_on_no_front() -> None:
    records = {
        "pao-fed-u": entry(same=(9.0, [-5.0, -6.0, -7.0])),
        "ace": entry(same=(1.0, [np.inf, -9.0, -9.0])),
        "fed-at": entry(same=(2.0, [np.inf, np.inf, np.nan])),
    }
    ours, other, third = judged_alone(records)
    assert third.verdict == "diverged"
    assert (ours.verdict, ours.on_front) == ("PAO-Fed", True)
    assert (other.verdict, other.on_front) == ("diverged", False)


def test_a_difference_within_chance_is_told_as_such() -> None:
    ours = np.array([-5.0, -6.0, -7.0])
    records = {
        "pao-fed-u": entry(same=(1.0, ours.tolist())),
        "ace": entry(same=(2.0, (ours + np.array([0.3, -0.2, 0.1])).tolist())),
        "tie": entry(same=(3.0, (ours + np.array([0.01, -0.01, 0.0])).tolist())),
    }
    verdicts = {one.entrant: one.verdict for one in judged_alone(records)}
    assert (verdicts["ace"], verdicts["tie"]) == ("inconclusive", "tie")


def test_pao_fed_s_version_is_chosen_where_settings_are_and_not_where_it_is_judged() -> None:
    """The coordinated version leads in the search, the other one in the worlds of judgement."""
    records = {
        "pao-fed-u": entry(-4.0, same=(1.0, [-5.3, -6.2, -7.4])),
        "pao-fed-c": entry(-4.1, same=(2.0, [-5.0, -6.0, -7.0])),
        "ace": entry(-9.0, same=(3.0, [-5.1, -6.0, -7.2])),
    }
    ours, reference, other = judged_alone(records)
    assert {one.against for one in (ours, reference, other)} == {reference.word}
    assert (reference.behind, ours.behind.mean) == (Estimate(0, 0, 0, 3), pytest.approx(-0.3))  # type: ignore[union-attr]
    assert other.behind is not None
    assert other.behind.mean == pytest.approx(-0.1)
    assert digest([ours, reference, other])[0].ours == reference


def by_chance(rng: np.random.Generator, entrants: int) -> dict[str, Entry]:
    """Entrants none of which is better than PAO-Fed, but by chance."""
    values = rng.normal(size=(entrants + 1, 12))
    names = ["pao-fed-u", *(f"entrant-{k}" for k in range(entrants))]
    return {name: entry(same=(float(k), values[k].tolist())) for k, name in enumerate(names)}


def test_however_many_differences_there_are_chance_seldom_makes_one_of_them_clear() -> None:
    """Of all comparisons at most 5 % say anything; without a correction, 62 % would.

    The test fails by chance in less than one of 10,000 cases.
    """
    rng, comparisons = np.random.default_rng(7), effort(everyday=40, thorough=100)
    wrong = sum(
        any(one.verdict in ("better", "worse") for one in judged_alone(by_chance(rng, 20)))
        for _ in range(comparisons)
    )
    assert wrong <= binom.isf(1e-4, comparisons, 0.05)


def test_the_front_seldom_leaves_anybody_out_by_chance() -> None:
    """As above: nobody is better than anybody else, so at most 5 % of fronts leave anybody out."""
    rng, comparisons = np.random.default_rng(8), effort(everyday=40, thorough=100)
    wrong = sum(
        not all(one.on_front for one in judged_alone(by_chance(rng, 12)))
        for _ in range(comparisons)
    )
    assert wrong <= binom.isf(1e-4, comparisons, 0.05)


def width(found: list[Judged]) -> float:
    """How wide the interval of the last entrant's difference to PAO-Fed is."""
    behind = found[-1].behind
    assert behind is not None
    return behind.high - behind.low


def test_a_difference_is_counted_once_for_all_budgets_and_in_each_setting() -> None:
    ours, other = [-5.0, -6.0, -7.0], [-6.0, -7.3, -7.9]
    one = {"pao-fed-u": entry(same=(9.0, ours)), "ace": entry(same=(8.0, other))}
    twice = {
        "pao-fed-u": entry(same=(9.0, ours), tenfold=(9.0, ours)),
        "ace": entry(same=(8.0, other), tenfold=(8.0, other)),
    }
    assert width(judge({"here": twice})) == width(judge({"here": one}))
    alone, together = judge({"here": one}), judge({"there": one, "here": one})
    # Two-sided: 5 % for one difference, 2.5 % for each of two (Student's t with 2 degrees).
    assert width(together) / width(alone) == pytest.approx(6.2053 / 4.3027, rel=1e-4)


def test_another_table_is_no_comparison(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FileError, match=r"other\.csv is no comparison: expected a compare\.csv"):
        load(tmp_path / "other.csv")
