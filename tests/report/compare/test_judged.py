from pathlib import Path

import numpy as np
import pytest

from paofed.errors import FileError
from paofed.report.compare.judged import judge, load


def record(**settings: tuple[float, list[float]]) -> dict[str, object]:
    """A finished unit: bytes and errors of what was chosen for the budgets of these names."""
    return {
        "chosen": [
            {"tariff": "payload", "budget": budget, "bytes": 100.0, "word": f"word-{sent}"}
            for budget, (sent, _) in settings.items()
        ],
        "values": {f"word-{sent}": values for sent, values in settings.values()},
        "spent": {f"word-{sent}": {"payload": sent} for sent, _ in settings.values()},
    }


def test_verdicts_and_the_front() -> None:
    """Errors by world; the second entrant is better by 1 dB, the third is dearer and worse."""
    found = list(
        judge(
            "here",
            {
                "pao-fed-u": record(same=(90.0, [-5.0, -6.0, -7.0])),
                "ace": record(same=(80.0, [-6.0, -7.1, -7.9])),
                "fed-at": record(same=(95.0, [-4.0, -5.1, -5.9])),
                "late": record(other=(20.0, [-1.0, -1.0, -1.0])),
            },
        )
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
        "pao-fed-u": record(same=(9.0, [-5.0, -6.0, -7.0])),
        "ace": record(same=(1.0, [np.inf, -9.0, -9.0])),
        "fed-at": record(same=(2.0, [np.inf, np.inf, np.nan])),
    }
    ours, other, third = judge("here", records)
    assert third.verdict == "diverged"
    assert (ours.verdict, ours.on_front) == ("PAO-Fed", True)
    assert (other.verdict, other.on_front) == ("diverged", False)


def test_a_difference_within_chance_is_told_as_such() -> None:
    ours = np.array([-5.0, -6.0, -7.0])
    records = {
        "pao-fed-u": record(same=(1.0, ours.tolist())),
        "ace": record(same=(2.0, (ours + np.array([0.3, -0.2, 0.1])).tolist())),
        "tie": record(same=(3.0, (ours + np.array([0.01, -0.01, 0.0])).tolist())),
    }
    verdicts = {one.entrant: one.verdict for one in judge("here", records)}
    assert (verdicts["ace"], verdicts["tie"]) == ("inconclusive", "tie")


def test_another_table_is_no_comparison(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FileError, match=r"other\.csv is no comparison: expected a compare\.csv"):
        load(tmp_path / "other.csv")
