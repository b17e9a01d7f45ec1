"""Algorithms that met the same runs become one result, as if one call had run them all."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.errors import InputError
from paofed.simulate.montecarlo import run
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from tests.effort import some
from tests.simulate.results.test_merging import ASKED, WORLD, part, saved
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

LINEUP = ["pao-fed-u1", "online-fedsgd", "pao-fed-c2:shared=2"]


@cache
def whole() -> Result:
    return run(WORLD, LINEUP, runs=2, **ASKED)


@cache
def alone(name: str) -> Result:
    return run(WORLD, name, runs=2, **ASKED)


@given(st.permutations(LINEUP), st.integers(1, 2))
def test_any_cut_gives_the_same_bytes_as_one_call(names: list[str], cut: int) -> None:
    parts = [alone(name) for name in names]
    together = Result.concat([Result.concat(parts[:cut]), *parts[cut:]])
    assert together.algorithms == names
    for name in names:
        np.testing.assert_array_equal(together.run_curves(name), whole().run_curves(name))
    if names == LINEUP:
        assert saved(together) == saved(whole())
    gain = together.compare(names[0], names[1])
    assert gain == whole().compare(names[0], names[1])


@pytest.mark.parametrize(
    ("other", "starts"),
    some([("pao-fed-u1:learner=rls", 0), ("pao-fed-c2", 1)], everyday=1),
)
def test_over_a_table_every_baseline_is_there_once(other: str, starts: int, tmp_path: Path) -> None:
    write(tmp_path / "t.csv", with_gaps(hourly(4, 60)))
    setting, lineup = fleet(table(tmp_path / "t.csv")), ["pao-fed-u1", other]
    together = TableResult.of(run(setting, lineup, runs=2, cold_starts=starts, **ASKED))
    parts = [run(setting, name, runs=2, cold_starts=starts, **ASKED) for name in lineup]
    assert bool(together.provenance["apart"]) != bool(starts)  # one that is alone in its own way
    assert (together.cold_start is not None) == bool(starts)
    found = TableResult.concat(parts)
    if together.cold_start is not None and found.cold_start is not None:
        # Newcomers of several algorithms are computed at once: sums differ in the last digit.
        one, other_one = together.cold_start.errors, found.cold_start.errors
        np.testing.assert_allclose(other_one, one, rtol=1e-12)
        found = replace(found, cold_start=replace(found.cold_start, errors=one))
    assert saved(found) == saved(together)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"seed": 5}, "seed is 4 in the first and 5 in the second"),
        ({"same_world": True}, "same_world is False in the first"),
        ({"scenario": {}}, r"scenario\.name is"),
    ],
)
def test_results_of_other_runs_are_refused(changed: dict[str, Any], told: str) -> None:
    one, other = alone(LINEUP[0]), alone(LINEUP[1])
    other = replace(other, provenance={**other.provenance, **changed})
    expected = f"results 1 and 2 are not of the same runs: {told}.*figures.side_by_side"
    with pytest.raises(InputError, match=expected):
        Result.concat([one, other])


def test_so_is_what_makes_no_sense() -> None:
    one, other = alone(LINEUP[0]), alone(LINEUP[1])
    with pytest.raises(InputError, match="runs_finished"):
        Result.concat([one, part(other, [0])])
    with pytest.raises(InputError, match="they differ in ticks"):
        Result.concat([one, replace(other, ticks=other.ticks + 1)])
    with pytest.raises(InputError, match="only one of them has clean/"):
        Result.concat([one, replace(other, clean=None)])
    with pytest.raises(InputError, match=r"pao-fed-u1 is in results 1 and 3: .* by Result\.merge"):
        Result.concat([one, other, one])
    with pytest.raises(InputError, match="nothing to put together"):
        Result.concat([])
