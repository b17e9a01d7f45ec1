"""Units: the same on every machine, and with another key whenever anything differs."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.algorithms.spec import resolve
from paofed.errors import FileError, ScenarioError
from paofed.simulate.engines.task import Task
from paofed.simulate.spread import identity, units
from paofed.simulate.spread.units import WorkUnit, cut, files_of, require_same, runs_per_unit
from paofed.world.scenario import Scenario
from paofed.world.worlds import setting_of
from tests.natures import small_scenario, small_trace
from tests.world.table.tables import fleet, hourly, table, write

SETTING = Scenario.load("setting-1")


def task(**changes: Any) -> Task:
    usual: dict[str, Any] = {
        "scenario": SETTING,
        "methods": [resolve("pao-fed-u1")],
        "seed": 0,
        "same_world": False,
        "every": 10,
        "precision": "float32",
        "runs": (),
        "workers": 1,
    }
    return Task(**{**usual, **changes})


def key(engine: str = "fast", **changes: Any) -> str:
    asked = task(**changes)
    first, *_ = cut(engine, asked, range(1), files_of(asked.scenario))
    return first.key


def test_a_unit_takes_seconds_whatever_it_is_of() -> None:
    nine = [resolve("pao-fed-u1")] * 9
    assert runs_per_unit("fast", task(methods=nine)) == 10
    assert runs_per_unit("fast", task()) == 97
    assert runs_per_unit("fast", task(scenario=small_scenario())) == units.MOST
    assert runs_per_unit("reference", task(methods=nine)) == 1


@given(st.integers(0, 300), st.integers(1, 300), st.integers(1, 300))
def test_units_hold_every_run_once_and_do_not_depend_on_how_many_there_are(
    first: int, runs: int, more: int
) -> None:
    def made(count: int) -> list[WorkUnit]:
        return list(
            cut("fast", task(methods=[resolve("pao-fed-u1")] * 9), range(first, first + count), {})
        )

    found, longer = made(runs), made(runs + more)
    assert [run for unit in found for run in unit.runs] == list(range(first, first + runs))
    assert found[:-1] == longer[: len(found) - 1]
    assert len({unit.key for unit in longer}) == len(longer)


@given(st.integers(0, 300), st.integers(1, 300))
def test_units_begin_at_multiples_of_their_size_wherever_the_work_begins(
    first: int, runs: int
) -> None:
    """So runs that somebody else began elsewhere are cut into the same units."""
    asked = task(methods=[resolve("pao-fed-u1")] * 9)
    size = runs_per_unit("fast", asked)
    _, *later = cut("fast", asked, range(first, first + runs), {})
    assert all(unit.runs.start % size == 0 for unit in later)


def test_whatever_is_asked_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [
        key(),
        key("reference"),
        key(seed=1),
        key(same_world=True),
        key(every=20),
        key(precision="float64"),
        key(methods=[resolve("pao-fed-u2")]),
        key(methods=[resolve("pao-fed-u1"), resolve("pao-fed-u2")]),
        key(scenario=SETTING.model_copy(update={"step_size": 0.3})),
        key(scenario=setting_of(lambda _, run: small_trace(run))),
        key(scenario=setting_of(lambda _, run: small_trace(run + 1))),
    ]
    here = identity.program()
    monkeypatch.setattr(units, "program", lambda: {**here, "numba": "0.1"})
    assert len({*keys, key()}) == len(keys) + 1
    assert key(workers=7) == key()  # who computes is not


def test_files_count_by_their_content(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", hourly(3, 40))
    first, files = key(scenario=fleet(table(path))), files_of(fleet(table(path)))
    other = write(tmp_path / "other.csv", hourly(3, 40))
    assert key(scenario=fleet(table(other), name=fleet(table(path)).name)) == first
    require_same(files, "here")
    write(path, hourly(3, 40, seed=1))
    assert key(scenario=fleet(table(path))) != first
    with pytest.raises(ScenarioError, match=r"t\.csv on here is another file than it was"):
        require_same(files, "here")
    path.unlink()
    with pytest.raises(FileError, match=r"t\.csv cannot be read"):
        require_same(files, "here")
