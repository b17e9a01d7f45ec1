"""The study goes on where it stopped, says what it was made by, and writes every number."""

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from lab.interpretations.amount import FULL, QUICK, Amount
from lab.interpretations.cell import computed, to_run
from lab.interpretations.interpretations import (
    AS_U1,
    BRACKET,
    DEFAULT,
    EVEN,
    ONE_WORLD,
    RESTING,
)
from lab.interpretations.study import (
    LABELS,
    LINEUPS,
    STATEMENTS,
    InterpretationStudy,
    gathered,
)
from paofed.algorithms import algorithm
from paofed.algorithms.setup import resolve
from paofed.core.metrics import decibels
from paofed.experiments.paper.claims import CLAIMS
from paofed.simulate.montecarlo import run as simulate
from paofed.simulate.results.estimates import estimate
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import Crew
from paofed.world.scenario import Scenario
from tests.experiments.paper.test_claims import from_db, made_up
from tests.natures import small_scenario

DATA = Path(__file__).parents[3] / "docs" / "data"
ALONE = Crew(workers=1)
INTERPRETATIONS = (DEFAULT, EVEN, AS_U1)
EFFORT = Amount(runs=2, trials=2, grid=(0.2, 0.8), shorter=1)
_LAWS: dict[str, dict[str, Any]] = {
    "setting-1": {},
    "setting-2": {"delay": {"kind": "stepped", "base": 0.5, "step": 3}},
}


def small(name: str) -> Scenario:
    """A setting with fewer clients and ticks, but models of the paper's size."""
    return small_scenario(
        name=name, features=200, ticks=60, stream={"samples": (60,)}, **_LAWS[name]
    )


@pytest.fixture(autouse=True)
def _small_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scenario, "load", small)


@contextmanager
def silent(_: str) -> Iterator[Callable[[float], None]]:
    yield lambda _: None


class Counted:
    """Simulates, and counts how often; at some count Ctrl-C is pressed."""

    def __init__(self, stop: int | None = None) -> None:
        self.seeds: list[int] = []
        self.stop = stop

    def __call__(self, *args: Any, seed: int, **options: Any) -> Result:
        if len(self.seeds) == self.stop:
            raise KeyboardInterrupt
        self.seeds.append(seed)
        return simulate(*args, seed=seed, **options)


def jobs(store: Path) -> dict[Path, bytes]:
    """Return what is finished, by its place in a store."""
    return {path.relative_to(store): path.read_bytes() for path in store.rglob("*.npz")}


class Finished(NamedTuple):
    """A study that was made in one go, without a store, and what it saved."""

    study: InterpretationStudy
    folder: Path


def write(study: InterpretationStudy, folder: Path) -> None:
    for name, table in study.tables():
        table.csv(folder / f"{name}.csv")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Scenario, "load", small)
        study = gathered(INTERPRETATIONS, EFFORT, 7, silent, crew=ALONE)
    write(study, folder)
    return Finished(study, folder)


def test_a_second_start_computes_what_is_missing_and_finds_the_same(
    whole: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "jobs"

    def start(counted: Counted) -> InterpretationStudy:
        monkeypatch.setattr("paofed.experiments.experiment.run", counted)
        return gathered(INTERPRETATIONS, EFFORT, 7, silent, crew=Crew(workers=1, store=store))

    with pytest.raises(KeyboardInterrupt):
        start(Counted(stop=3))
    first = jobs(store)
    counted = Counted()
    start(counted)
    steps = [8] * 3  # two steps of the grid and the reference, on other worlds than those judged
    assert counted.seeds == [7, 7, 7, 7, *steps, 7, *steps, 7]
    finished = jobs(store)
    assert 0 < len(first) < len(finished)
    assert finished.items() >= first.items()
    write(start(Counted()), tmp_path)
    assert jobs(store) == finished
    for name in ("readings.csv", "steps.csv"):
        assert (tmp_path / name).read_bytes() == (whole.folder / name).read_bytes()


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_number_is_that_of_the_results(whole: Finished) -> None:
    lines = iter(read(whole.folder / "readings.csv"))
    for claim in STATEMENTS:
        for interpretation in INTERPRETATIONS:
            line, found = next(lines), claim.judge(whole.study.results[interpretation])
            assert (line["statement"], line["reading"]) == (claim.key, interpretation.key)
            told = [float(line[column]) for column in ("mean", "low", "high", "runs")]
            np.testing.assert_equal(told, list(found))
            assert line["verdict"] == found.verdict
    assert not list(lines)


def test_the_steps_are_those_that_were_run(whole: Finished) -> None:
    lines = read(whole.folder / "steps.csv")
    assert {line["reading"] for line in lines} == {"start-as-u1"}
    for line in lines:
        result = whole.study.results[AS_U1][line["setting"]]
        (described,) = (
            d for d in result.provenance["algorithms"] if d["name"] == line["algorithm"]
        )
        assert described["step_size"] == float(line["step_size"])
    assert {line["step_size"] for line in lines if line["algorithm"] == "pao-fed-u1"} == {"0.4"}


def test_worlds_of_a_trace_are_the_scenario_s_but_for_what_is_read() -> None:
    """The other target through worlds of one's own: the same traffic, another error."""
    scenario, method = (
        small("setting-1"),
        [algorithm("pao-fed-u1")],
    )  # no interpretation here changes it
    usual, other, one_world = (
        computed(interpretation, scenario, method, EFFORT, 7, None, ALONE)
        for interpretation in (DEFAULT, BRACKET, ONE_WORLD)
    )
    np.testing.assert_array_equal(usual.traffic, other.traffic)
    assert not np.isclose(usual.mse, other.mse).any()
    assert one_world.provenance["same_world"]
    np.testing.assert_array_equal(one_world.mse[0], usual.mse[0])
    assert other.provenance["scenario"]["about"]["interpretation"] == "bracket"


# What is run again, and what is taken from the default.


def test_only_what_an_interpretation_changes_is_run_again() -> None:
    for setting, names in LINEUPS.items():
        scenario, methods = small(setting), [resolve(name) for name in names]
        for interpretation in (DEFAULT, EVEN, BRACKET, AS_U1, ONE_WORLD):
            assert [m.name for m in to_run(interpretation, scenario, methods)] == list(names)
        resting = ["pao-fed-c0", "pao-fed-u0"] if setting == "setting-1" else []
        assert [m.name for m in to_run(RESTING, scenario, methods)] == resting


def random_result(rng: np.random.Generator, names: Sequence[str], runs: int) -> Result:
    return made_up({name: from_db(rng.normal(-10, 3, size=(runs, 40))) for name in names})


def test_a_comparison_takes_from_each_reading_what_the_reading_changes() -> None:
    rng = np.random.default_rng(8)
    default = {setting: random_result(rng, names, 9) for setting, names in LINEUPS.items()}
    own = {"setting-1": random_result(rng, ["pao-fed-c0", "pao-fed-u1"], 4)}
    study = InterpretationStudy({DEFAULT: default, RESTING: own})
    found = {(j.claim.key, j.interpretation.key): j.found for j in study.judged()}

    def finals(result: Result, name: str) -> Any:
        return decibels(result.run_finals(name))[:4]

    here, usual = own["setting-1"], default["setting-1"]
    both = estimate(finals(usual, "online-fedsgd") - finals(here, "pao-fed-u1"))
    assert found["accurate-u1-setting-1", "resting"] == pytest.approx(both)
    untouched = found["accurate-c2-setting-1", "resting"]
    assert untouched == found["accurate-c2-setting-1", "default"]
    assert untouched.runs == 9
    there = default["setting-2"]
    gains = [
        finals(one, "pao-fed-u1") - finals(other, "pao-fed-c2")
        for one, other in ((here, usual), (there, there))
    ]
    assert found["grows", "resting"] == pytest.approx(estimate(gains[1] - gains[0]))


def test_an_interpretation_that_changes_nothing_in_a_setting_is_not_run_there() -> None:
    study = gathered((DEFAULT, RESTING), EFFORT, 7, silent, crew=ALONE)
    assert set(study.results[RESTING]) == {"setting-1"}
    for judged in study.judged():
        if judged.claim.key not in ("local-c-setting-1", "local-u-setting-1"):
            assert judged.found == judged.claim.judge(study.results[DEFAULT])


# What is judged.


def test_all_that_is_disputed_is_judged_again() -> None:
    disputed = {
        line["claim"]
        for line in read(DATA / "claims.csv")
        if line["verdict"] in ("does not hold", "inconclusive")
    }
    assert set(LABELS) == disputed | {"local-c-setting-1", "local-u-setting-1"}
    assert {claim.key for claim in STATEMENTS} <= {claim.key for claim in CLAIMS}
    assert len(set(LABELS.values())) == len(LABELS)


def test_the_scenario_s_step_is_among_those_tried() -> None:
    for effort in (FULL, QUICK):
        assert any(step == pytest.approx(0.4) for step in effort.grid)
    assert [FULL.runs_of(interpretation) for interpretation in (DEFAULT, BRACKET)] == [100, 50]
    assert Amount(2, 1, (), 1).runs_of(BRACKET) == 2  # an interval needs two
