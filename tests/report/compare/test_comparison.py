import csv
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from paofed.report.compare import comparison
from paofed.report.compare.comparison import HEADER, Judged, Plan, run_comparison, save
from paofed.report.compare.page import build, summary
from paofed.simulate.stopping import Report, ignored
from tests.report.compare.plans import small_plan


class Stages:
    """Opens stages, and notes which."""

    def __init__(self, interrupted: int | None = None) -> None:
        self.opened: list[str] = []
        self._interrupted = interrupted

    @contextmanager
    def __call__(self, what: str) -> Iterator[Report]:
        if len(self.opened) == self._interrupted:
            raise KeyboardInterrupt
        self.opened.append(what)
        yield ignored


def compared(plan: Plan, folder: Path, stages: Stages) -> list[Judged]:
    folder.mkdir(exist_ok=True)
    return run_comparison(plan, folder, stages, 1)


def test_a_comparison_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    plan = small_plan(tmp_path)
    whole, first, second, third = Stages(), Stages(1), Stages(), Stages()
    at_once = compared(plan, tmp_path / "whole", whole)
    with suppress(KeyboardInterrupt):
        compared(plan, tmp_path / "parts", first)
    again = compared(plan, tmp_path / "parts", second)
    assert len(whole.opened) == 2
    assert (first.opened, second.opened) == (whole.opened[:1], whole.opened[1:])
    assert compared(plan, tmp_path / "parts", third)
    assert third.opened == []
    for name in ("whole", "parts"):
        save(at_once if name == "whole" else again, tmp_path / f"{name}.csv")
    assert (tmp_path / "whole.csv").read_text() == (tmp_path / "parts.csv").read_text()


def test_what_is_judged_fits_its_purse_and_pao_fed_is_not_behind_itself(tmp_path: Path) -> None:
    found = compared(small_plan(tmp_path), tmp_path / "units", Stages())
    assert {one.purse.tariff for one in found} == {"payload", "mqtt"}
    for one in found:
        assert one.values.shape == (3,)
        # Chosen by its mean in other worlds, so a little more may be sent here.
        assert one.bytes < 1.5 * one.purse.bytes
        if one.entrant == "pao-fed-u":
            assert (one.behind.mean, one.verdict) == (0.0, "PAO-Fed")  # type: ignore[union-attr]
    save(found, tmp_path / "compare.csv")
    with (tmp_path / "compare.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(HEADER)
    assert [row["word"] for row in rows] == [one.word for one in found]
    page = build(found, {}, "paofed compare <x>", "3 worlds")
    assert "paofed compare &lt;x&gt;" in page
    assert all(f"<code>{one.word}</code>" in page for one in found)


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
        comparison._judged(
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
    assert "In 1 of 2 comparisons" in summary(found)
    assert "ace in 1" in summary(found)
    assert "Nothing beats PAO-Fed" in summary([by_name["pao-fed-u"], by_name["fed-at"]])


def test_what_diverged_is_told_and_is_on_no_front() -> None:
    records = {
        "pao-fed-u": record(same=(9.0, [-5.0, -6.0, -7.0])),
        "ace": record(same=(1.0, [np.inf, -9.0, -9.0])),
        "fed-at": record(same=(2.0, [np.inf, np.inf, np.nan])),
    }
    ours, other, third = comparison._judged("here", records)
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
    verdicts = {one.entrant: one.verdict for one in comparison._judged("here", records)}
    assert (verdicts["ace"], verdicts["tie"]) == ("inconclusive", "tie")
