import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from lab.compare.comparison import Plan, run_comparison
from lab.compare.page import build
from lab.compare.settings import FULL, Extent
from paofed.report.comparison.judged import Judged, load, save
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Report, ignored
from paofed.table import code
from tests.lab.compare.plans import SMALL, small_plan


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
    return run_comparison(plan, folder, stages, Crew(workers=1))


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


def test_pieces_of_anything_else_are_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An edited piece, one of another entrant, and those of a setting whose file has changed."""
    plan, folder = small_plan(tmp_path), tmp_path / "units"
    expected = compared(plan, folder, Stages())
    ours, rival = (folder / f"small-{name}.json" for name in plan.entrants)
    text = ours.read_text()
    number = re.search(r"-\d\.\d{3}", text[text.index('"values"') :])
    assert number is not None
    ours.write_text(text.replace(number[0], "-9.658"))
    rival.write_text(text)
    again = Stages()
    assert compared(plan, folder, again) == expected
    assert (len(again.opened), len(caplog.messages)) == (2, 2)
    Path(plan.settings[0]).write_text(SMALL.replace("step_size = 0.5", "step_size = 0.4"))
    changed = Stages()
    compared(plan, folder, changed)
    assert len(changed.opened) == 2


def test_what_is_judged_fits_its_purse_and_pao_fed_is_not_behind_itself(tmp_path: Path) -> None:
    found = compared(small_plan(tmp_path), tmp_path / "units", Stages())
    assert {one.purse.tariff for one in found} == {"payload", "mqtt"}
    for one in found:
        assert one.error.runs == 3
        # Chosen by its mean in other worlds, so a little more may be sent here.
        assert one.bytes < 1.5 * one.purse.bytes
        if one.entrant == "pao-fed-u":
            assert (one.behind.mean, one.verdict) == (0.0, "PAO-Fed")  # type: ignore[union-attr]
    save(found, tmp_path / "compare.csv")
    assert load(tmp_path / "compare.csv") == found
    page = build(found, {}, "python -m lab compare <x>", "3 worlds")
    assert "python -m lab compare &lt;x&gt;" in page
    assert all(code(one.word) in page for one in found)


def test_half_as_much_is_run_where_a_run_costs_most(tmp_path: Path) -> None:
    plan = small_plan(tmp_path)
    assert plan.extent_in("setting-1") == plan.extent == Extent((2, 2), 3)
    assert plan.extent_in("ideal") == Extent((2,), 2)  # fewer than two have no interval
    assert FULL.halved == Extent((2,), 6)
