"""Parts of a result merge exactly, however the work was cut, ordered and repeated."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.errors import InputError
from paofed.simulate.montecarlo import run
from paofed.simulate.results.merging import HeldResult
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from tests.natures import small_scenario as scenario
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

RUNS = 6
LINEUP = ["pao-fed-u1", "online-fedsgd"]
LIAR = {"kind": "liar", "clients": 1, "push": 0.5}
WORLD = scenario(ticks=12, stream={"samples": (6, 12)}, faults=[LIAR])
ASKED: dict[str, Any] = {"seed": 4, "engine": "reference", "workers": 1}


def saved(result: Result) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "result.npz"
        result.save(path)
        return path.read_bytes()


@cache
def whole() -> Result:
    return run(WORLD, LINEUP, runs=RUNS, **ASKED)


def part(result: Result, runs: Sequence[int]) -> Result:
    """Some runs of a result that was interrupted before the others."""
    arrays, provenance = result._held()
    rows = [provenance["runs_finished"].index(one) for one in runs]
    (cpu,) = provenance["cpus"]
    held = HeldResult(
        {name: array if name == "ticks" else array[rows] for name, array in arrays.items()},
        {**provenance, "cpus": {cpu: sorted(runs)}, "runs_finished": list(runs)},
    )
    return Result._of(held)


def on(result: Result, cpu: str, **changes: Any) -> Result:
    """The same result, had it been computed on such a type of processor."""
    cpus = {cpu: result.provenance["runs_finished"]}
    return replace(result, provenance={**result.provenance, "cpus": cpus}, **changes)


@given(
    st.lists(st.lists(st.integers(0, RUNS - 1), min_size=1, max_size=RUNS, unique=True), max_size=5)
)
def test_any_cut_order_and_repetition_gives_the_same_bytes(cuts: list[list[int]]) -> None:
    rest = sorted(set(range(RUNS)).difference(*cuts)) or [0]
    parts = [part(whole(), sorted(runs)) for runs in (*cuts, rest)]
    assert saved(Result.merge(parts)) == saved(whole())
    assert saved(Result.merge(reversed(parts))) == saved(whole())
    assert saved(Result.merge([Result.merge(parts[:-1] or parts), *parts])) == saved(whole())


def test_parts_that_were_run_apart_are_one_result() -> None:
    cuts = ((4, 2), (0, 3), (2, 2))
    parts = [run(WORLD, LINEUP, runs=runs, first=first, **ASKED) for first, runs in cuts]
    assert parts[0].places == [(4, 0), (5, 0)]
    assert saved(Result.merge(parts)) == saved(whole())


def test_parts_over_a_table_are_one_result(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", with_gaps(hourly(4, 60)))
    setting = fleet(table(tmp_path / "t.csv"))
    lineup = ["pao-fed-u1", "pao-fed-u1:learner=rls"]
    together = TableResult.of(run(setting, lineup, runs=2, cold_starts=1, **ASKED))
    parts = [run(setting, lineup, first=i, cold_starts=1, **ASKED) for i in (1, 0)]
    assert together.cold_start is not None
    assert together.provenance["apart"]
    assert saved(Result.merge(parts)) == saved(together)


def test_results_of_another_question_are_refused() -> None:
    one = whole()
    for changed, told in (
        ({"seed": 5}, "seed is 4 in the first and 5 in the second"),
        ({"versions": {}}, r"versions\.\w+ is"),
        (
            {"algorithms": one.provenance["algorithms"][::-1]},
            r"algorithms\.0\.name is 'pao-fed-u1'",
        ),
        ({"scenario": {**one.provenance["scenario"], "step_size": 0.1}}, r"scenario\.step_size is"),
    ):
        other = replace(one, provenance={**one.provenance, **changed})
        with pytest.raises(InputError, match=f"results 1 and 2 are not parts of one .*{told}"):
            Result.merge([one, other])
    with pytest.raises(InputError, match="only one of them has clean/"):
        Result.merge([one, replace(one, clean=None)])
    with pytest.raises(InputError, match="they differ in ticks"):
        Result.merge([one, replace(one, ticks=one.ticks + 1)])
    with pytest.raises(InputError, match="nothing to merge"):
        Result.merge([])


def test_a_run_that_is_there_twice_must_agree_on_one_type_of_processor() -> None:
    one, other = whole(), replace(whole(), mse=whole().mse * (1 + 1e-9))
    with pytest.raises(InputError, match="run 0 is in results 1 and 2, and its mse differs"):
        Result.merge([one, other])
    first, second = on(one, "A"), on(other, "B")
    assert saved(Result.merge([first, second])) == saved(first)
    assert saved(Result.merge([second, first])) == saved(first)
    for parts in permutations([on(one, "B"), second, first]):  # whoever stands between
        with pytest.raises(InputError, match=r"run 0 is in results . and ., and its mse differs"):
            Result.merge(parts)
    mixed = Result.merge([second, part(first, [0])])
    assert mixed.provenance["cpus"] == {"A": [0], "B": [1, 2, 3, 4, 5]}
    assert (mixed.mse[0] == first.mse[0]).all()
    assert (mixed.mse[1:] == second.mse[1:]).all()
