"""What models are judged on where sensors are faulty: what was right."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.simulate.engines.fast import family
from paofed.simulate.engines.fast.own import simulation as own
from paofed.simulate.engines.reference_run import run_reference
from paofed.simulate.results.outcome import RunRecord
from paofed.world.scenario import Scenario
from tests.simulate.engines.own.rules import OWN
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

METHODS = [algorithm("pao-fed-u1", shared=3), algorithm("online-fedsgd")]
PLACE: dict[str, Any] = {"seed": 5, "world": 1, "run": 2, "every": 7}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("table") / "t.csv", with_gaps(hourly(5, 60)))


def over(path: Path, *faults: dict[str, Any]) -> Scenario:
    return fleet(table(path), faults=list(faults))


def assert_equal(got: RunRecord, expected: RunRecord) -> None:
    for name in RunRecord._fields:
        np.testing.assert_allclose(
            getattr(got, name), getattr(expected, name), rtol=0, atol=1e-9, err_msg=name
        )


def test_over_a_table_all_engines_agree(path: Path) -> None:
    scenario = over(
        path,
        {"kind": "scaled", "by": 2.0, "clients": 2, "start": 10},
        {"kind": "noise", "deviation": 0.3, "clients": 0.5, "what": "a"},
    )
    expected = run_reference(scenario, METHODS, **PLACE)
    told: dict[str, Any] = {"precision": "float64", "report": lambda _: None}
    assert_equal(family.run(scenario, METHODS, **PLACE, **told), expected)
    mine = run_reference(scenario, [OWN], **PLACE)
    assert_equal(own.run(scenario, [OWN], **PLACE, **told), mine)
    right = run_reference(over(path), METHODS, **PLACE)
    assert not np.allclose(expected.models, right.models)


@pytest.mark.parametrize("engine", ["reference", "family", "own"])
def test_a_faulty_target_is_judged_by_the_right_one(path: Path, engine: str) -> None:
    """A fault that nobody can have learned from yet leaves every error as it was."""
    last = over(path).ticks - 1
    records = []
    for faults in ([], [{"kind": "stuck", "at": 1e6, "clients": 5, "start": last}]):
        scenario = over(path, *faults)
        if engine == "reference":
            records.append(run_reference(scenario, METHODS, **PLACE))
        else:
            run, methods = (family.run, METHODS) if engine == "family" else (own.run, [OWN])
            records.append(
                run(scenario, methods, **PLACE, precision="float64", report=lambda _: None)
            )
    right, wrong = records
    np.testing.assert_array_equal(wrong.over_time, right.over_time)
    np.testing.assert_array_equal(wrong.cells, right.cells)
    assert not np.array_equal(wrong.models, right.models)
