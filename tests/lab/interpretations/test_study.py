"""The study goes on where it stopped, says what it was made by, and writes every number."""

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.interpretations.amount import FULL, QUICK, Amount
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
from lab.interpretations.unit import computed, to_run
from paofed.algorithms import algorithm
from paofed.algorithms.spec import from_text
from paofed.core.metrics import decibels
from paofed.report.paper.claims import CLAIMS
from paofed.simulate.montecarlo import run as simulate
from paofed.simulate.results.estimates import estimate
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import Crew
from paofed.world.scenario import Scenario
from tests.natures import small_scenario
from tests.report.paper.test_claims import from_db, made_up

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


def start(folder: Path, monkeypatch: pytest.MonkeyPatch, counted: Counted) -> InterpretationStudy:
    monkeypatch.setattr("lab.interpretations.unit.simulate", counted)
    return gathered(INTERPRETATIONS, EFFORT, 7, folder, silent, crew=ALONE)


def test_a_second_start_computes_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt):
        start(tmp_path, monkeypatch, Counted(stop=3))
    finished = {"default-setting-1", "default-setting-2", "even-setting-1"}
    assert {path.stem for path in tmp_path.iterdir()} == finished
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    rest = Counted()
    resumed = start(tmp_path, monkeypatch, rest)
    steps = [8] * 3  # two steps of the grid and the reference, on other worlds than those judged
    assert rest.seeds == [7, *steps, 7, *steps, 7]
    assert all(path.read_bytes() == bytes_then for path, bytes_then in before.items())

    nothing = Counted()
    again = start(tmp_path, monkeypatch, nothing)
    assert nothing.seeds == []
    for judged, before_that in zip(again.judged(), resumed.judged(), strict=True):
        np.testing.assert_equal(tuple(judged.found), tuple(before_that.found))


def test_a_study_in_one_go_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
    with pytest.raises(KeyboardInterrupt):
        start(one, monkeypatch, Counted(stop=2))
    studies = [start(folder, monkeypatch, Counted()) for folder in (one, other)]
    for folder, study in zip((one, other), studies, strict=True):
        study.save(folder)
    for name in ("readings.csv", "steps.csv"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Scenario, "load", small)
        gathered(INTERPRETATIONS, EFFORT, 7, folder, silent, crew=ALONE).save(folder)
    return folder


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_number_is_that_of_the_results_in_the_folder(folder: Path) -> None:
    lines = iter(read(folder / "readings.csv"))
    for claim in STATEMENTS:
        for interpretation in INTERPRETATIONS:
            results = {s: Result.load(folder / f"{interpretation.key}-{s}.npz") for s in _LAWS}
            line, found = next(lines), claim.judge(results)
            assert (line["statement"], line["reading"]) == (claim.key, interpretation.key)
            told = [float(line[column]) for column in ("mean", "low", "high", "runs")]
            np.testing.assert_equal(told, list(found))
            assert line["verdict"] == found.verdict
    assert not list(lines)


def test_the_steps_are_those_that_were_run(folder: Path) -> None:
    lines = read(folder / "steps.csv")
    assert {line["reading"] for line in lines} == {"start-as-u1"}
    for line in lines:
        result = Result.load(folder / f"start-as-u1-{line['setting']}.npz")
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
    assert other.provenance["scenario"]["about"]["reading"] == "bracket"


# What is run again, and what is taken from the default.


def test_only_what_an_interpretation_changes_is_run_again() -> None:
    for setting, names in LINEUPS.items():
        scenario, methods = small(setting), [from_text(name) for name in names]
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


def test_a_reading_that_changes_nothing_in_a_setting_has_no_file_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.interpretations.unit.simulate", Counted())
    study = gathered((DEFAULT, RESTING), EFFORT, 7, tmp_path, silent, crew=ALONE)
    assert not (tmp_path / "resting-setting-2.npz").exists()
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


# Whose folder it is.
