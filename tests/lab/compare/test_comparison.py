import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from lab.compare.comparison import Plan, run_comparison
from lab.compare.page import build
from lab.compare.settings import FULL, Extent
from paofed.report.comparison.page import Judged, every_number, load
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


def compared(plan: Plan, store: Path, stages: Stages) -> list[Judged]:
    return run_comparison(plan, stages, Crew(workers=1, store=store))


def jobs(store: Path) -> dict[Path, bytes]:
    """Return what is finished, by its place in a store."""
    return {path.relative_to(store): path.read_bytes() for path in store.rglob("*.npz")}


class Finished(NamedTuple):
    """A comparison that was made in one go."""

    plan: Plan
    store: Path
    found: list[Judged]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    place, stages = tmp_path_factory.mktemp("comparison"), Stages()
    plan, store = small_plan(place), place / "jobs"
    found = compared(plan, store, stages)
    assert len(stages.opened) == len(plan.entrants)
    return Finished(plan, store, found)


def test_a_comparison_goes_on_where_it_was_interrupted(whole: Finished, tmp_path: Path) -> None:
    store = tmp_path / "jobs"
    with pytest.raises(KeyboardInterrupt):
        compared(whole.plan, store, Stages(1))
    first = jobs(store)
    again = compared(whole.plan, store, Stages())
    finished = jobs(store)
    assert 0 < len(first) < len(finished)
    assert finished.items() >= first.items()
    assert {path.parent for path in finished} == {path.parent for path in jobs(whole.store)}
    assert compared(whole.plan, store, Stages()) == again
    assert jobs(store) == finished
    for name, found in (("whole", whole.found), ("parts", again)):
        every_number(found).csv(tmp_path / f"{name}.csv")
    assert (tmp_path / "whole.csv").read_text() == (tmp_path / "parts.csv").read_text()


def test_nothing_is_taken_from_another_setting_of_the_same_name(
    whole: Finished, tmp_path: Path
) -> None:
    plan, store = small_plan(tmp_path), tmp_path / "jobs"
    shutil.copytree(whole.store, store)
    Path(plan.settings[0]).write_text(SMALL.replace("base = 0.4", "base = 0.6"))
    assert compared(plan, store, Stages()) != whole.found
    assert len(jobs(store)) > len(jobs(whole.store))


def test_what_is_judged_fits_its_purse_and_pao_fed_is_not_behind_itself(
    whole: Finished, tmp_path: Path
) -> None:
    found = whole.found
    assert {one.purse.tariff for one in found} == {"payload", "mqtt"}
    for one in found:
        assert one.error.runs == 3
        # Chosen by its mean in other worlds, so a little more may be sent here.
        assert one.bytes < 1.5 * one.purse.bytes
        if one.entrant == "pao-fed-u":
            assert (one.behind.mean, one.verdict) == (0.0, "PAO-Fed")  # type: ignore[union-attr]
    every_number(found).csv(tmp_path / "compare.csv")
    assert load(tmp_path / "compare.csv") == found
    page = build(found, {}, "python -m lab compare <x>", "3 worlds")
    assert "python -m lab compare &lt;x&gt;" in page
    assert all(code(one.word) in page for one in found)


def test_half_as_much_is_run_where_a_run_costs_most(tmp_path: Path) -> None:
    plan = small_plan(tmp_path)
    assert plan.extent_in("setting-1") == plan.extent == Extent((2, 2), 3)
    assert plan.extent_in("ideal") == Extent((2,), 2)  # fewer than two have no interval
    assert FULL.halved == Extent((2,), 6)
