"""A sweep runs what `run` would: the same worlds for all points, bit for bit."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from paofed.errors import InputError
from paofed.experiments.experiment import seed_of
from paofed.experiments.sweep.sweep import sweep
from paofed.experiments.sweep.swept import Swept
from paofed.simulate.montecarlo import run
from paofed.simulate.stopping import Interrupted
from tests.experiments.race.tables import racing_fleet, readings
from tests.natures import small_scenario

OVER = {"step_size": [0.1, 0.4], "shared": [1, 4], "loss.up": [0.0, 0.3]}
METHODS = ["pao-fed-u1", "online-fedsgd"]


@pytest.fixture(scope="module")
def swept() -> Swept:
    return sweep(small_scenario(), METHODS, OVER, runs=3, seed=5, fresh=2)


def test_every_point_is_a_plain_run_bit_for_bit(swept: Swept) -> None:
    """Each alone, whatever else was run beside it in the sweep."""
    assert len(swept.points) == 12
    assert swept.whole
    for number in (0, 1, 6, 11):
        point = swept.points[number]
        changed = small_scenario(loss={"up": point.values["loss.up"]})
        alone = run(changed, swept.algorithm(point), runs=3, seed=5)
        (name,) = alone.algorithms
        np.testing.assert_array_equal(swept.finals[number, :, 1], alone.run_finals(name))
        np.testing.assert_array_equal(swept.traffic[number], alone.traffic[:, 0, :, -1])
    assert np.isnan(swept.finals[..., 0]).all()  # no devices' models are judged here


def test_two_points_are_compared_as_a_result_compares_them(swept: Swept) -> None:
    words = "pao-fed-u1:shared=4,step_size=0.4", "online-fedsgd:step_size=0.4"
    result = run(small_scenario(), words, runs=3, seed=5)
    beside = (
        "pao-fed-u1 step_size=0.4 shared=4 loss.up=0.0",
        "online-fedsgd step_size=0.4 loss.up=0.0",
    )
    assert swept.compare(*beside) == result.compare(*words)


def test_the_best_is_run_again_in_worlds_apart(swept: Swept) -> None:
    best = swept.best("pao-fed-u1", {"loss.up": 0.3})
    scenario = small_scenario(loss={"up": 0.3})
    alone = run(scenario, swept.algorithm(best.point), runs=2, seed=seed_of(5, 0))
    assert best.fresh is not None
    (name,) = alone.algorithms
    assert best.fresh.mean == pytest.approx(10 * np.log10(alone.run_finals(name)).mean())


def test_worlds_are_common_as_far_as_they_can_be() -> None:
    """What does not reach a model has no part in it: with nothing lost, loss is no other world."""
    over = {"loss.down": [0.0, 1.0], "max_age": [0, 10]}
    found = sweep(small_scenario(), "pao-fed-u1", over, runs=2)
    assert found.conditions == ["loss.down"]
    assert (found.traffic[0, :, 0] == found.traffic[2, :, 0]).all()  # the same contacts
    assert (found.finals[0, :, 1] != found.finals[2, :, 1]).all()


def test_steps_that_diverge_are_points_like_others(tmp_path: Path) -> None:
    found = sweep(small_scenario(), "online-fedsgd", {"step_size": [0.2, 90.0]}, runs=2, fresh=1)
    assert [one.diverged for _, one in found.curve("step_size", "online-fedsgd")] == [False, True]
    best = found.best()
    assert (best.point.values, best.diverged) == ({"step_size": 0.2}, 1)
    found.save(tmp_path / "swept.npz")
    assert Swept.load(tmp_path / "swept.npz").best() == best
    lost = sweep(small_scenario(), "online-fedsgd", {"step_size": [90.0]}, runs=2, fresh=1)
    assert lost.best().found.diverged
    assert lost.fresh_points is None


def test_a_random_design_is_the_same_again() -> None:
    over = {"step_size": {"from": 0.05, "to": 1.6}, "exchange": ["paper", "live"]}
    one, other = (sweep(small_scenario(), "pao-fed-u1", over, random=4, runs=2) for _ in "ab")
    assert one.points == other.points
    np.testing.assert_array_equal(one.finals, other.finals)
    assert not one.is_grid
    assert {point.values["exchange"] for point in one.points} == {"paper", "live"}
    assert len(list(one.bests())) == 1


def test_over_a_table_the_devices_models_count(tmp_path: Path) -> None:
    scenario = racing_fleet(tmp_path / "readings.csv", readings(4))
    found = sweep(scenario, "pao-fed-u1", {"step_size": [0.1, 0.4]}, runs=2)
    assert found.usual_whose == "device"
    alone = run(scenario, ["pao-fed-u1:step_size=0.1", "pao-fed-u1:step_size=0.4"], runs=2)
    a, b = alone.algorithms
    one, other = found.points
    assert found.compare(one, other) == alone.compare(a, b, "device")
    assert found.compare(one, other, "server") == alone.compare(a, b) != found.compare(one, other)
    found.to_csv(tmp_path / "points.csv")
    assert len((tmp_path / "points.csv").read_text().splitlines()) == 1 + 2 * 2


def test_progress_rises_to_the_end() -> None:
    heard: list[float] = []
    sweep(
        small_scenario(),
        "pao-fed-u1",
        {"loss.up": [0.0, 0.1]},
        runs=2,
        fresh=1,
        report=heard.append,
    )
    assert heard == sorted(heard)
    assert 0 < heard[0] < 0.5
    assert heard[-1] == 1.0


@pytest.mark.parametrize("after", [0.0, 0.6])
def test_an_interrupt_keeps_what_was_finished(after: float) -> None:
    def impatient(share: float) -> None:
        if share > after:
            raise KeyboardInterrupt

    over = {"loss.up": [0.0, 0.1]}
    with pytest.raises(Interrupted) as caught:
        sweep(small_scenario(), "pao-fed-u1", over, runs=4, workers=1, report=impatient)
    known = caught.value.swept
    assert (known is None) == (after == 0.0)
    if known is not None:
        whole = sweep(small_scenario(), "pao-fed-u1", over, runs=4)
        assert known.finished[0].all()
        assert not known.finished[1].all()
        np.testing.assert_array_equal(known.finals[known.finished], whole.finals[known.finished])
        assert next(best.point for _, _, best in known.bests()) == known.points[0]
        assert str(caught.value).startswith("interrupted, with ")


def test_a_second_start_goes_on_where_the_first_was_interrupted(tmp_path: Path) -> None:
    """With a store, only what is missing is computed; the record is the same, bit for bit."""
    over = {"loss.up": [0.0, 0.1, 0.2]}

    def impatient(share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    ask = partial(sweep, small_scenario(), "pao-fed-u1", over, runs=2, store=tmp_path / "units")
    with pytest.raises(Interrupted):
        ask(report=impatient)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "units").rglob("*.npz")}
    assert before
    again, whole = ask(), sweep(small_scenario(), "pao-fed-u1", over, runs=2)
    np.testing.assert_array_equal(again.finals, whole.finals)
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "units").rglob("*.npz")}
    assert before.items() < after.items()


def test_who_computes_does_not_matter(swept: Swept) -> None:
    with ThreadPoolExecutor(2) as executor:
        found = sweep(small_scenario(), METHODS, OVER, runs=3, seed=5, executor=executor)
    np.testing.assert_array_equal(found.finals, swept.finals)
    np.testing.assert_array_equal(found.traffic, swept.traffic)


def test_mistakes_are_refused_before_any_work() -> None:
    heard: list[float] = []
    with pytest.raises(InputError, match="shared=99"):
        sweep(small_scenario(), "pao-fed-u1", {"shared": [1, 99]}, report=heard.append)
    with pytest.raises(InputError, match="fresh is -1: expected a whole number from 0 on"):
        sweep(small_scenario(), "pao-fed-u1", {"shared": [1]}, fresh=-1, report=heard.append)
    assert heard == []
