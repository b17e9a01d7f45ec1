"""Runs over a table: both engines judge the same models on the same samples."""

import hashlib
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from pydantic import ValidationError
from threadpoolctl import threadpool_info

from paofed.algorithms import ALGORITHMS, Algorithm, algorithm, options_of
from paofed.core.rules import LMS
from paofed.errors import AlgorithmError
from paofed.simulate.engines import reference
from paofed.simulate.engines.fast.family import Simulation, settle
from paofed.simulate.montecarlo import run
from paofed.simulate.results.progressive import MODELS, Progressive
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.table.baselines import USUAL
from paofed.simulate.table.regressors import Regressor, boosting
from paofed.world.realize import half_width_of, realize, world_key
from paofed.world.realize_samples import realize_samples
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from paofed.world.table.spec import Table
from tests.effort import some
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

U1 = algorithm("pao-fed-u1")
# 4 does not divide 9 features, and 5 is more than half of them.
LINEUP = [
    *(algorithm(n, subset=0.5 if "subset" in options_of(n) else None) for n in ALGORITHMS),
    replace(algorithm("pao-fed-u1", exchange="single"), name="single"),
    replace(algorithm("pao-fed-c2", exchange="live", shared=5), name="live"),
    replace(algorithm("pso-fed", subset=1, exchange="live"), name="live subset"),
    replace(algorithm("pao-fed-u2", divisor="coverage", max_age=1), name="coverage"),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five devices, 90 hours: more ticks than the kernels take in one stretch."""
    return write(tmp_path_factory.mktemp("table") / "t.csv", with_gaps(hourly(5, 90)))


@pytest.fixture(scope="module")
def scenario(path: Path) -> Scenario:
    return fleet(table(path, score_from="2024-05-02 03:00"))


@pytest.fixture(scope="module")
def result(scenario: Scenario) -> Result:
    return run(scenario, LINEUP, runs=2, every=10, precision="float64")


def judged(result: Result) -> Progressive:
    return TableResult.of(result).progressive


def assert_same_run(got: Result, expected: Result) -> None:
    assert judged(got).learners.tolist() == judged(expected).learners.tolist()
    for name in ("errors", "device_errors"):
        one, two = (getattr(judged(r), name) for r in (got, expected))
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=0, err_msg=name)
    np.testing.assert_allclose(got.mse, expected.mse, rtol=1e-9, atol=0)
    np.testing.assert_allclose(got.models, expected.models, rtol=1e-9, atol=1e-12)
    for name in ("ticks", "traffic"):
        np.testing.assert_array_equal(getattr(got, name), getattr(expected, name), name)


# The first tick that counts is 17: a point of the curve ends before it, or not; or it is the last.
@pytest.mark.parametrize("every", some([17, 1, 10, 18, 200], everyday=1))
def test_engines_agree(scenario: Scenario, every: int) -> None:
    assert read(scenario.table).scored == 17
    slow = run(scenario, LINEUP, runs=2, every=every, engine="reference", workers=1)
    assert set(slow.provenance["engines"]) == {"reference"}
    assert_same_run(run(scenario, LINEUP, runs=2, every=every, precision="float64"), slow)


def test_engines_agree_on_recorded_presence_and_delays(path: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    np.save(tmp_path / "there.npy", rng.random((80, 5)) < 0.6)
    np.save(tmp_path / "late.npy", rng.integers(0, 7, size=(80, 5)))
    scenario = fleet(
        table(path),
        availability={"kind": "recorded", "file": str(tmp_path / "there.npy")},
        delay={"kind": "recorded", "file": str(tmp_path / "late.npy")},
    )
    slow = run(scenario, LINEUP, every=7, engine="reference")
    assert_same_run(run(scenario, LINEUP, every=7, precision="float64"), slow)


@pytest.mark.parametrize("method", some(LINEUP, everyday=6), ids=lambda method: method.name)
def test_errors_are_those_of_the_models_before_the_tick(
    scenario: Scenario, method: Algorithm
) -> None:
    """What the reference says of a tick, predicted again from the states it left before."""
    trace = realize(scenario)
    assert trace.start.any()
    server, local = trace.start, np.tile(trace.start, (5, 1))
    for state, info in reference.ticks(trace, method, step_size=0.4, max_age=3):
        assert info.client.tolist() == np.flatnonzero(trace.has_data[info.tick]).tolist()
        for k, errors in zip(info.client.tolist(), info.errors.T, strict=True):
            x, y = trace.x[info.tick, k], trace.y[info.tick, k]
            z = trace.fourier_map(x)
            expected = [y - local[k] @ z, y - server @ z]
            np.testing.assert_allclose(errors, expected, rtol=1e-9, atol=1e-12)
        server, local = state.server.copy(), state.local.copy()


def test_engines_agree_on_the_error_of_every_sample(scenario: Scenario) -> None:
    """Signed, and in the order of the readings."""
    samples = realize_samples(scenario)
    settled = [settle(method, 0.4, 3) for method in LINEUP]
    fleet = Simulation.over(samples, settled, "float64", judged=True)
    fleet.advance(0, samples.ticks)
    for method, errors in zip(LINEUP, fleet.errors, strict=True):
        steps = reference.ticks(samples, method, step_size=0.4, max_age=3)
        expected = np.concatenate([info.errors for _, info in steps], axis=1)
        np.testing.assert_allclose(errors, expected, rtol=1e-9, atol=1e-12, err_msg=method.name)
    assert (fleet.errors < 0).any()
    assert (fleet.errors > 0).any()


def test_baselines_stand_beside_the_algorithms_the_same_in_all_runs_of_a_world(
    scenario: Scenario, result: Result
) -> None:
    found = judged(result)
    assert found.baselines == list(USUAL)
    assert found.learners.tolist() == [
        *([name, whose] for name in result.algorithms for whose in MODELS),
        *([name, "baseline"] for name in USUAL),
    ]
    mapped = [i for i, (name, _) in enumerate(found.learners.tolist()) if name == "central"]
    assert not np.array_equal(found.errors[0, mapped], found.errors[1, mapped])
    same = judged(run(scenario, [U1], runs=2, every=10, same_world=True))
    np.testing.assert_array_equal(same.errors[0, 2:], same.errors[1, 2:])
    assert not np.array_equal(same.errors[0, :2], same.errors[1, :2])
    np.testing.assert_array_equal(same.errors[0, 2:], found.errors[0, -len(USUAL) :])


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("start", ["zeros", "calibration"])
def test_the_first_interval_goes_by_what_its_learner_knows(
    path: Path, engine: Literal["fast", "reference"], start: str
) -> None:
    """Algorithms by what the fleet begins with, baselines each by what it begins with itself."""
    setting, names = fleet(table(path), start=start), ["rls", "start alone", "batch linear"]
    result = run(setting, [U1], engine=engine, baselines=names, workers=1)
    lives = TableResult.of(result).lives
    own = {
        begin: half_width_of(setting.model_copy(update={"start": begin}), world_key(0, 0))
        for begin in ("zeros", "calibration")
    }
    assert own["zeros"] != own["calibration"]
    spread = read(setting.table).target.scale
    begins = [start, start, "zeros", "calibration", "calibration"]
    for (name, whose), begin in zip(lives.learners.tolist(), begins, strict=True):
        widths = lives.mean_sums(name, whose).own_width[lives.stage == 0]
        assert widths == pytest.approx(2 * spread * own[begin])


def test_trees_grow_in_the_one_thread_that_judges(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenMP keeps its limit by thread: what the caller limits holds for no worker."""
    found: list[dict[str, Any]] = []

    def noting() -> Regressor:
        if threading.current_thread() is not threading.main_thread():
            found.extend(threadpool_info())
        return boosting()

    monkeypatch.setattr("paofed.simulate.table.baselines.boosting", noting)
    run(fleet(table(path)), U1, baselines=["boost"], workers=2)
    assert {one["num_threads"] for one in found} == {1}
    assert "openmp" in {one["user_api"] for one in found}


@pytest.mark.parametrize("drawn", [None, {"share": 0.5}])
def test_progress_goes_on_while_a_slow_baseline_learns(
    path: Path, drawn: dict[str, float] | None
) -> None:
    """Nearly all work is the forest's, which is the same in all worlds unless labels are drawn."""
    heard: list[float] = []
    asked: dict[str, Any] = {"baselines": ["rls", "mondrian"], "workers": 1, "every": 10}
    run(fleet(table(path), labels=drawn), U1, runs=2, report=heard.append, **asked)
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)
    assert np.diff(heard).max() < 0.2


def silent_for_a_day(path: Path) -> Scenario:
    """Nobody has a reading from tick 20 to tick 43."""
    lines = [line for line in hourly(2, 90) if not 30 <= hour_of(line) < 54]
    return fleet(table(write(path / "t.csv", lines)))


def hour_of(line: str) -> int:
    day, hour = line.split(",")[1].split(" ")
    return 24 * (int(day[-2:]) - 1) + int(hour[:2])


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_an_interval_without_samples_has_no_error_and_is_no_divergence(
    tmp_path: Path, engine: str
) -> None:
    result = run(silent_for_a_day(tmp_path), [U1], every=10, engine=engine)
    empty = np.isnan(result.mse[0, 0])
    np.testing.assert_array_equal(np.flatnonzero(empty), [2, 3])
    np.testing.assert_array_equal(judged(result).samples == 0, empty)
    assert np.isfinite(result.final("pao-fed-u1").db)
    assert result.diverged("pao-fed-u1") == (0, None)
    assert result.summary()[0]["diverged_runs"] == 0


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_an_error_that_is_no_number_counts_as_one(scenario: Scenario, engine: str) -> None:
    """What diverges has no finite error, in its own row and nowhere else."""
    wild = replace(algorithm("online-fedsgd", step_size=1e40), name="wild")
    result = run(scenario, [wild, U1], every=10, engine=engine)
    runs, tick = result.diverged("wild")
    assert runs == 1
    assert tick is not None
    assert not np.isfinite(result.mse[0, 0, result.ticks >= tick]).any()
    assert not np.isfinite(result.final("wild").db)
    assert not np.isfinite(judged(result).final("wild", "device").db)
    assert result.diverged("pao-fed-u1") == (0, None)
    learners = judged(result).learners.tolist()
    others = [name not in ("wild", "start alone:step_size=1e+40") for name, _ in learners]
    assert others.count(False) == 3
    finite = np.isfinite(judged(result).device_errors[0]).all(axis=1)
    np.testing.assert_array_equal(finite, others)


def test_provenance_says_which_table_it_was(path: Path, result: Result) -> None:
    about = result.provenance["table"]
    assert about["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (about["inputs"], about["scored"]) == (["a", "b"], 17)
    assert (about["calendar"], about["tick"]) == (True, 3600.0)
    assert about["facts"] == read(table(path, score_from="2024-05-02 03:00")).facts()
    assert len(about["recipes"]) == 3


def judged_alone(stream: Table) -> TableResult:
    """A run of one algorithm, without baselines."""
    return TableResult.of(run(fleet(stream), U1, baselines="none"))


def test_devices_are_grouped_by_how_much_they_measure(tmp_path: Path) -> None:
    """Eight devices, of which the k-th lives for 20 + 5 k hours."""
    lines = [line for i, line in enumerate(hourly(8, 80)) if i // 8 < 20 + 5 * (i % 8)]
    lives = judged_alone(table(write(tmp_path / "t.csv", lines))).lives
    heard = np.bincount(np.repeat(lives.device, lives.samples), minlength=8)
    names, _ = lives.groups
    assert len(names) == 4
    for name in names:
        own = heard[lives.group == name]
        assert name == f"{own.min():,} to {own.max():,} readings"
        assert own.size == 2


def test_or_by_what_the_table_says(tmp_path: Path) -> None:
    where = ["roof", "wall", "roof", ""]
    lines = [f"{line},{where[i % 4]}" for i, line in enumerate(hourly(4, 40))]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["device,time,y,a,b,where", *lines]))
    assert judged_alone(table(path, group="where")).lives.group.tolist() == [
        "roof",
        "wall",
        "roof",
        "no group",
    ]
    lines[-4] = lines[-4].replace("roof", "cellar")
    path.write_text("\n".join(["device,time,y,a,b,where", *lines]))
    with pytest.raises(
        ValidationError, match=r"line 158: where of d0 is 'cellar', and 'roof' else"
    ):
        run(fleet(table(path, group="where")), U1)


def test_a_method_that_cannot_begin_with_a_model_is_refused_before_it_runs(path: Path) -> None:
    """Told what to do; with zeros it runs."""
    deaf = replace(U1, name="deaf", learner=replace(LMS, merge=lambda state, _: state))
    with pytest.raises(AlgorithmError, match=r"^deaf: its learner cannot begin .*`start`"):
        run(fleet(table(path)), [deaf])
    assert run(fleet(table(path), start="zeros"), [deaf], engine="reference").runs == 1
