"""Labels that are rare or late over a table: baselines, newcomers, intervals, results."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from paofed.archives import save_arrays
from paofed.core.arrays import FloatArray
from paofed.core.due import Due, SampleLabels, due_of
from paofed.core.features import FourierMap, draw_map
from paofed.core.intervals import Interval, half_widths
from paofed.core.random import key_of
from paofed.core.ridge import Ridge
from paofed.core.rules import lms_step
from paofed.errors import FileError
from paofed.simulate.engines.fast.nature import joining, traced
from paofed.simulate.montecarlo import run
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.table.baselines import USUAL, baselines, repeated, with_constant
from paofed.simulate.table.regressors import (
    FORGETTING,
    OnlineRegressor,
    adaptive_forest,
    mondrian,
)
from paofed.world.realize_samples import realize_samples
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from paofed.world.table.readings import Readings
from tests.effort import some
from tests.natures import small_scenario
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

STEP, REFITS = 0.4, [7, 20, 30]
LAW = {"share": 0.5, "late": "5h", "devices": ["d0", "d3"]}


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Readings:
    path = write(tmp_path_factory.mktemp("table") / "t.csv", with_gaps(hourly(3, 60), 0.3))
    return read(table(path, tick="1h"))


@pytest.fixture(scope="module", params=[(0.4, 0), (1.0, 6), (0.6, 30)])
def labels(request: pytest.FixtureRequest, readings: Readings) -> SampleLabels:
    rng = np.random.default_rng(5)
    share, latest = request.param
    given = (rng.random(readings.y.size) < share) & (readings.device != 1)
    return SampleLabels(given, rng.integers(0, latest + 1, size=readings.y.size))


@pytest.fixture(scope="module")
def fourier_map() -> FourierMap:
    return draw_map(key_of(1), inputs=2, features=20, width=2.0)


@pytest.fixture(scope="module")
def errors(
    readings: Readings, fourier_map: FourierMap, labels: SampleLabels
) -> dict[str, FloatArray]:
    names = [*USUAL, "seasonal naive"]
    return baselines(readings, fourier_map, STEP, REFITS, names=names, labels=labels)


def learned(readings: Readings, labels: SampleLabels) -> list[list[int]]:
    """What a queue would hand out at each sample."""
    found: list[list[int]] = []
    waiting: list[int] = []
    for i, (n, k) in enumerate(zip(readings.tick, readings.device, strict=True)):
        waiting += [i] if labels.given[i] else []
        now = [
            j
            for j in waiting
            if readings.device[j] == k and readings.tick[j] + labels.delay[j] <= n
        ]
        waiting = [j for j in waiting if j not in now]
        found.append(now)
    return found


def test_alone(
    readings: Readings,
    fourier_map: FourierMap,
    labels: SampleLabels,
    errors: dict[str, FloatArray],
) -> None:
    queue, z = learned(readings, labels), fourier_map(readings.x)
    w = np.zeros((3, 20))
    for i, k in enumerate(readings.device.tolist()):
        assert errors["alone"][i] == pytest.approx(readings.y[i] - w[k] @ z[i])
        for j in queue[i]:
            w[k] = lms_step(w[k], z[j], float(readings.y[j]), STEP)
    one = readings.device == 1  # the device without labels
    np.testing.assert_allclose(errors["alone"][one], readings.y[one])
    np.testing.assert_allclose(errors["start alone"][one], errors["start"][one])
    np.testing.assert_allclose(errors["rls"][one], readings.y[one])


def test_rls(readings: Readings, labels: SampleLabels, errors: dict[str, FloatArray]) -> None:
    queue, z = learned(readings, labels), with_constant(readings.x)
    for k in (0, 2):
        gram, moment = np.zeros((2, FORGETTING.size, 3, 3)), np.zeros((FORGETTING.size, 3))
        w, misses = np.zeros((FORGETTING.size, 3)), np.zeros(FORGETTING.size)
        for i in np.flatnonzero(readings.device == k):
            found = readings.y[i] - w[np.argmin(misses)] @ z[i]
            assert errors["rls"][i] == pytest.approx(found)
            for j in queue[i]:
                misses += (readings.y[j] - w @ z[j]) ** 2
                for f, kept in enumerate(FORGETTING):
                    gram[0, f] = kept * gram[0, f] + np.outer(z[j], z[j])
                    moment[f] = kept * moment[f] + readings.y[j] * z[j]
                    w[f] = np.linalg.solve(gram[0, f] + np.eye(3), moment[f])


def test_central(
    readings: Readings,
    fourier_map: FourierMap,
    labels: SampleLabels,
    errors: dict[str, FloatArray],
) -> None:
    queue, z, w = learned(readings, labels), fourier_map(readings.x), np.zeros(20)
    for n in range(readings.ticks):
        now, before = np.flatnonzero(readings.tick == n).tolist(), w
        for i in now:
            assert errors["central"][i] == pytest.approx(readings.y[i] - before @ z[i])
            for j in queue[i]:
                w = lms_step(w, z[j], float(readings.y[j]), STEP)


def test_batch_fits_are_fitted_to_what_was_known(
    readings: Readings, labels: SampleLabels, errors: dict[str, FloatArray]
) -> None:
    queue, made = learned(readings, labels), None
    made = Ridge.over(with_constant, readings.x_past, readings.y_past)
    ends = [*np.searchsorted(readings.tick, REFITS).tolist(), readings.y.size]
    begin = 0
    for end in ends:
        expected = readings.y[begin:end] - with_constant(readings.x[begin:end]) @ made.model
        np.testing.assert_allclose(errors["batch linear"][begin:end], expected, atol=1e-9)
        known = [j for i in range(begin, end) for j in queue[i]]
        made.add(with_constant(readings.x[known]), readings.y[known])
        begin = end


def test_the_last_value_is_the_newest_label_that_is_known(
    readings: Readings, labels: SampleLabels, errors: dict[str, FloatArray]
) -> None:
    queue = learned(readings, labels)
    known: dict[int, int] = {}
    for i, k in enumerate(readings.device.tolist()):
        last = readings.y[known[k]] if k in known else readings.last_past[k]
        assert errors["last value"][i] == pytest.approx(readings.y[i] - np.nan_to_num(last))
        for j in queue[i]:
            known[k] = max(j, known.get(k, -1))


def test_seasonal_naive_is_the_newest_known_label_of_the_time_of_day(
    readings: Readings, labels: SampleLabels, errors: dict[str, FloatArray]
) -> None:
    queue, found = learned(readings, labels), errors["seasonal naive"]
    known: dict[tuple[int, int], int] = {}
    hours = (readings.tick % 24).tolist()
    for i, k in enumerate(readings.device.tolist()):
        if (before := known.get((k, hours[i]))) is None:
            assert found[i] == errors["last value"][i]
        else:
            assert found[i] == readings.y[i] - readings.y[before]
        for j in queue[i]:
            known[k, hours[j]] = max(j, known.get((k, hours[j]), -1))
    assert (found != errors["last value"]).any()


def test_a_device_that_has_never_measured_is_taken_for_the_mean(readings: Readings) -> None:
    nothing = replace(readings, last_past=np.full(3, np.nan))
    labels = SampleLabels(np.zeros(readings.y.size, bool), np.zeros(readings.y.size, int))
    np.testing.assert_array_equal(repeated(nothing, labels), readings.y)


def test_labels_at_once_change_no_bit(readings: Readings, fourier_map: FourierMap) -> None:
    usual = SampleLabels(np.ones(readings.y.size, bool), np.zeros(readings.y.size, int))
    one = baselines(readings, fourier_map, STEP, REFITS)
    two = baselines(readings, fourier_map, STEP, REFITS, labels=usual)
    for name in set(one) - {"last value"}:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_boosting_sees_known_labels_alone(readings: Readings, fourier_map: FourierMap) -> None:
    none = SampleLabels(np.zeros(readings.y.size, bool), np.zeros(readings.y.size, int))
    found = baselines(readings, fourier_map, STEP, REFITS, names=["boost"], labels=none)
    whole = baselines(readings, fourier_map, STEP, [], names=["boost"], labels=none)
    np.testing.assert_array_equal(found["boost"], whole["boost"])


@pytest.mark.parametrize(
    ("name", "make"), [("mondrian", mondrian), ("adaptive forest", adaptive_forest)]
)
def test_a_forest_learns_what_is_known(
    readings: Readings,
    fourier_map: FourierMap,
    labels: SampleLabels,
    name: str,
    make: Callable[[], OnlineRegressor],
) -> None:
    """One for all devices; each time the same one; a tick is predicted before it is learned."""
    (found,) = baselines(readings, fourier_map, STEP, REFITS, names=[name], labels=labels).values()
    queue, forest = learned(readings, labels), make()
    for x, y in zip(readings.x_past.tolist(), readings.y_past.tolist(), strict=True):
        forest.learn_one(dict(enumerate(x)), y)
    for n in range(readings.ticks):
        now = np.flatnonzero(readings.tick == n).tolist()
        for i in now:
            expected = forest.predict_one(dict(enumerate(readings.x[i].tolist())))
            assert found[i] == readings.y[i] - expected
        for j in (j for i in now for j in queue[i]):
            forest.learn_one(dict(enumerate(readings.x[j].tolist())), float(readings.y[j]))


def test_intervals_learn_of_a_miss_with_the_label(readings: Readings, labels: SampleLabels) -> None:
    rng = np.random.default_rng(2)
    found = rng.normal(size=(2, readings.y.size))
    due = due_of(readings.tick, readings.device, labels)
    widths = half_widths(found, readings.device, np.array([1.0, 2.0]), due)
    queue = learned(readings, labels)
    for learner, start in enumerate((1.0, 2.0)):
        states = [Interval(start) for _ in range(3)]
        for i, k in enumerate(readings.device.tolist()):
            assert widths[learner, i] == pytest.approx(states[k].half_width)
            for j in queue[i]:
                missed = abs(found[learner, j]) > widths[learner, j]
                states[k] = states[k]._replace(
                    samples=states[k].samples + 1, misses=states[k].misses + missed
                )


def scenario(folder: Path, **changes: Any) -> Scenario:
    path = write(folder / "t.csv", with_gaps(hourly(5, 200)))
    return fleet(table(path, tick="1h"), **{"labels": LAW, **changes})


METHODS = ["pao-fed-u1:shared=3", "pao-fed-u2:learner=two-speed"]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> TableResult:
    made = scenario(tmp_path_factory.mktemp("labels"))
    return TableResult.of(run(made, METHODS, runs=2, every=20, cold_starts=3))


def test_errors_without_labels_stand_beside_those_of_all(result: TableResult) -> None:
    judged = result.progressive
    assert judged.with_labels is not None
    assert judged.with_labels.tolist() == 2 * [[True, False, False, True, False]]
    others = ~judged.with_labels[0]
    for line in result.summary():
        name = line["algorithm"]
        place = judged.learners.tolist().index([name, "device"])
        errors = judged.device_errors[:, place][:, others].sum(axis=1)
        expected = 10 * np.log10((errors / judged.device_samples[others].sum()).mean())
        assert line["device_db_without_labels"] == pytest.approx(expected)
        assert line["device_db"] == judged.final(name, "device").db
    without = judged.without_labels("start alone", "baseline")
    assert without == judged.without_labels("start", "baseline")


def test_a_result_with_labels_is_saved_merged_and_shown(
    result: TableResult, tmp_path: Path
) -> None:
    result.save(tmp_path / "r.npz")
    back = TableResult.load(tmp_path / "r.npz")
    made = scenario(tmp_path)
    parts = [run(made, METHODS, runs=1, first=i, every=20, cold_starts=3) for i in (1, 0)]
    whole = TableResult.of(run(made, METHODS, runs=2, every=20, cold_starts=3))
    for one, other in ((back, result), (TableResult.of(Result.merge(parts)), whole)):
        assert one.cold_start is not None
        assert other.cold_start is not None
        np.testing.assert_array_equal(one.progressive.with_labels, other.progressive.with_labels)
        np.testing.assert_array_equal(one.cold_start.last_label, other.cold_start.last_label)
        np.testing.assert_array_equal(one.lives.sums, other.lives.sums)
    assert '"device_db_without_labels":' in result.to_json()
    page = result.report(tmp_path / "page").read_text(encoding="utf-8")
    assert "without labels" in page


def test_labels_of_a_part_that_is_not_there_are_refused(
    result: TableResult, tmp_path: Path
) -> None:
    def refused(found: Result, leave: str, **more: NDArray[Any]) -> str:
        found.save(tmp_path / "r.npz")
        with np.load(tmp_path / "r.npz") as held:
            arrays = {name: a for name, a in held.items() if not name.startswith(leave)}
        save_arrays(tmp_path / "forged.npz", {**arrays, **more})
        with pytest.raises(FileError) as caught:
            Result.load(tmp_path / "forged.npz")
        return str(caught.value)

    last = {"cold_start/last_label": np.zeros((2, 1, 1, 1))}
    whose = {"progressive/with_labels": np.ones((1, 3), dtype=bool)}
    said = refused(result, "cold_start/", **last)
    assert "cold_start/last_label is given without cold_start/errors" in said
    said = refused(run(small_scenario(), "pao-fed-u1"), "nothing", **whose)
    assert "progressive/with_labels is given without progressive/learners" in said


def test_where_everybody_has_labels_nothing_is_said_of_others(tmp_path: Path) -> None:
    made = scenario(tmp_path, labels={"share": 0.5})
    found = TableResult.of(run(made, METHODS[:1], every=20, cold_starts=2))
    assert found.progressive.with_labels is None
    assert "without_labels" not in found.to_json()
    assert found.cold_start is not None
    assert found.cold_start.last_label is not None
    usual = TableResult.of(run(made.replace(labels=None), METHODS[:1], every=20, cold_starts=2))
    assert usual.cold_start is not None
    assert usual.cold_start.last_label is None
    assert usual.cold_start.beside["last value"] is usual.cold_start.last_value


def test_a_newcomer_knows_nothing_of_what_it_never_measured(tmp_path: Path) -> None:
    """With labels that are later than it is watched, it predicts as it began."""
    made = scenario(tmp_path, labels={"late": 1000})
    cold = TableResult.of(run(made, METHODS[:1], cold_starts=3, baselines="none")).cold_start
    late = made.replace(labels={"late": 30})
    other = TableResult.of(run(late, METHODS[:1], cold_starts=3, baselines="none")).cold_start
    assert cold is not None
    assert other is not None
    # The first horizon, a day, is over before the first label of a newcomer comes.
    np.testing.assert_array_equal(cold.alone[..., 0], other.alone[..., 0])
    assert (cold.joined(METHODS[0], "old") != other.joined(METHODS[0], "old")).any()


@pytest.mark.parametrize("name", some(["alone", "start alone"], everyday=1))
def test_devices_apart_learn_from_the_same_labels(tmp_path: Path, name: str) -> None:
    """The engine's devices without contacts are the baseline's, learner by learner."""
    start = "calibration" if name == "start alone" else "zeros"
    never = {"kind": "bernoulli", "probabilities": (0.0,)}
    made = scenario(tmp_path, start=start, availability=never, labels={"share": 0.4, "late": 7})
    found = TableResult.of(run(made, "pao-fed-u1:shared=3", runs=2, precision="float64"))
    one = found.progressive.run_finals("pao-fed-u1:shared=3", "device")
    np.testing.assert_allclose(one, found.progressive.run_finals(name, "baseline"), rtol=1e-9)


def test_a_newcomer_meets_the_labels_of_what_it_measured_itself(tmp_path: Path) -> None:
    """The kernels' nature of one that joins: all that the others learn, and its own since then."""
    trace = realize_samples(scenario(tmp_path, labels={"share": 0.7, "late": 9}), 1)
    nature, begin, client = traced(trace), 60, 2

    def taught(due: Due) -> set[tuple[int, int]]:
        """Pairs of a sample and of what is learned at the sample, in the order of ticks."""
        pairs = [(i, j) for i in range(trace.tick.size) for j in due.at(i)]
        return {(int(nature.place[i]), int(nature.place[j])) for i, j in pairs}

    everything = taught(nature.due)
    assert everything == {(i, j) for i in range(trace.tick.size) for j in trace.due.at(i)}
    expected = {
        (i, j) for i, j in everything if trace.client[j] != client or trace.tick[j] >= begin
    }
    assert taught(joining(nature, client, begin).due) == expected != everything
    usual = traced(replace(trace, labels=None))
    assert joining(usual, client, begin) is usual
