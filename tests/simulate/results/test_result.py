import csv
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.archives import save_arrays
from paofed.core.metrics import Traffic, curve_ticks
from paofed.core.tariffs import Tariff
from paofed.errors import FileError, InputError
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import ColdStart, Progressive
from paofed.simulate.results.result import Clean, Result
from paofed.simulate.results.stored import RESULT
from tests.natures import small_trace

# By tick, a contact more, with 10 coordinates up and 15 down.
COUNTS = np.stack(Traffic.of_floats(np.arange(1, 101), 10, 15))
FALLING = np.broadcast_to(COUNTS[:, 3::-1], (2, 1, 7, 4))


def made(mse: list[list[list[float]]], ticks: int = 4) -> Result:
    curves = np.array(mse)
    runs, algorithms, _ = curves.shape
    names = ["a", "b", "c"][:algorithms]
    return Result(
        provenance={
            "scenario": {
                "name": "s",
                "ticks": ticks,
                "clients": 2,
                "features": 3,
                "step_size": 0.4,
                "kernel_width": 1.0,
                "stream": {},
            },
            "algorithms": [{"name": name} for name in names],
            "seed": 0,
            "same_world": False,
            "first_run": 0,
            "runs_requested": runs,
            "runs_finished": list(range(runs)),
            "cpus": {"a": list(range(runs))},
            "engines": ["fast"] * algorithms,
            "precision": "float32",
            "table": None,
            "versions": {"paofed": "0"},
        },
        ticks=np.arange(ticks),
        mse=curves,
        traffic=np.broadcast_to(COUNTS[:, :ticks], (runs, algorithms, 7, ticks)),
        models=np.zeros((runs, algorithms, 3)),
    )


TWO_RUNS = made([[[1.0, 1.0, 0.1, 0.1]], [[3.0, 1.0, 0.1, 0.3]]])


def test_curves_are_linear_means_with_standard_errors() -> None:
    mean, error = TWO_RUNS.curve("a")
    np.testing.assert_allclose(mean, [2.0, 1.0, 0.1, 0.2])
    np.testing.assert_allclose(error, [1.0, 0.0, 0.0, 0.1])
    db, db_error = TWO_RUNS.curve_db("a")
    np.testing.assert_allclose(db, 10 * np.log10(mean))
    # The first-order error is the derivative of the decibel: compare with a small difference.
    step = 1e-6
    slope = (10 * np.log10(2.0 + step) - 10 * np.log10(2.0)) / step
    assert db_error[0] == pytest.approx(slope * 1.0, rel=1e-5)


def test_the_final_error_is_the_mean_of_the_last_twentieth() -> None:
    curve = [1.0] * 95 + [0.1] * 5
    result = made([[curve], [curve]], ticks=100)
    assert result.final("a").db == pytest.approx(-10.0)
    assert result.final("a").standard_error == pytest.approx(0.0)


def test_two_algorithms_are_compared_run_by_run() -> None:
    """Worlds of very different errors, in each of which the first is better by about 10 dB."""
    finals = [(1e-1, 1.0), (1e-4, 1.1e-3), (1e-2, 0.9e-1)]
    result = made([[[one] * 4, [other] * 4] for one, other in finals])
    gain, loss = result.compare("a", "b"), result.compare("b", "a")
    differences = [10.0, 10 * np.log10(11.0), 10 * np.log10(9.0)]
    assert gain.mean == pytest.approx(np.mean(differences))
    assert gain.high - gain.mean == pytest.approx(4.303 * np.std(differences, ddof=1) / 3**0.5)
    assert gain.verdict == "holds"
    assert loss == pytest.approx((-gain.mean, -gain.high, -gain.low, 3))
    assert result.compare("a", "a")[:3] == (0.0, 0.0, 0.0)


def test_what_cannot_be_compared() -> None:
    result = made([[[1.0] * 4, [np.inf] * 4], [[1.0] * 4, [np.inf] * 4]])
    assert result.compare("a", "b").mean == np.inf
    assert np.isnan(result.compare("b", "b").mean)
    with pytest.raises(InputError, match="unknown algorithm 'c'"):
        result.compare("a", "c")
    with pytest.raises(InputError, match="whose is 'device': expected 'server'"):
        result.compare("a", "b", "device")


def test_one_run_has_no_standard_error() -> None:
    assert np.isnan(made([[[1.0, 1.0, 1.0, 1.0]]]).final("a").standard_error)


def test_divergence_is_counted_and_located() -> None:
    result = made([[[1.0, np.inf, np.nan, np.nan], [1.0] * 4], [[1.0] * 4, [1.0] * 4]])
    assert result.diverged("a") == (1, 1)
    assert result.diverged("b") == (0, None)
    assert not np.isfinite(result.final("a").db)


def test_traffic_and_summary() -> None:
    """4 contacts, of 10 coordinates up and 15 down each."""
    (line,), (mine,) = TWO_RUNS.summary(), TWO_RUNS.summary("up=7,contact_down=100")
    assert (line["sent_up"], line["payload_up"], line["payload_down"]) == (40, 160, 240)
    assert (line["messages_up"], line["messages_down"], line["contacts"]) == (4, 4, 4)
    assert (line["wire_up"], line["wire_down"]) == (160, 240)
    assert mine == {**line, "wire_up": 160 + 4 * 7, "wire_down": 240 + 4 * 100}


def test_bytes_on_the_wire_over_time() -> None:
    wire = TWO_RUNS.run_wire("a", Tariff(name="mine", up=1, down=2, contact_up=0.5))
    contacts = np.array([[1, 2, 3, 4]] * 2)
    np.testing.assert_array_equal(wire.up, contacts * 41.5)
    np.testing.assert_array_equal(wire.down, contacts * 62)
    np.testing.assert_array_equal(TWO_RUNS.mean_sent("a", "up=1")["wire_up"], contacts[0] * 41)


def test_an_unknown_tariff_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown tariff 'coup': did you mean 'coap'"):
        TWO_RUNS.run_wire("a", "coup")


def test_one_file_there_and_back(tmp_path: Path) -> None:
    TWO_RUNS.save(tmp_path / "r.npz")
    back = Result.load(tmp_path / "r.npz")
    np.testing.assert_array_equal(back.mse, TWO_RUNS.mse)
    assert back.provenance == TWO_RUNS.provenance
    assert back.algorithms == ["a"]


def test_a_file_that_is_no_result(tmp_path: Path) -> None:
    small_trace(0).save(tmp_path / "t.npz")
    with pytest.raises(FileError, match=r"t\.npz is not a result: it holds x, y"):
        Result.load(tmp_path / "t.npz")


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown algorithm 'x'"):
        TWO_RUNS.final("x")


def test_tidy_csv(tmp_path: Path) -> None:
    TWO_RUNS.to_csv(tmp_path / "c.csv")
    with (tmp_path / "c.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert rows[3]["algorithm"] == "a"
    assert (int(rows[3]["tick"]), int(rows[3]["runs"])) == (3, 2)
    assert float(rows[3]["mse"]) == 0.2  # every digit is kept
    assert float(rows[3]["db"]) == pytest.approx(10 * np.log10(0.2))


def test_the_csv_has_traffic_under_any_tariff(tmp_path: Path) -> None:
    for tariff in ("payload", "mqtt", "up=3,down=2.5"):
        TWO_RUNS.to_csv(tmp_path / "c.csv", tariff)
        with (tmp_path / "c.csv").open() as file:
            rows = list(csv.DictReader(file))
        wire = TWO_RUNS.run_wire("a", tariff)
        assert [float(row["wire_up"]) for row in rows] == wire.up.mean(axis=0).tolist()
        assert [float(row["wire_down"]) for row in rows] == wire.down.mean(axis=0).tolist()
        assert [float(row["messages_down"]) for row in rows] == [1, 2, 3, 4]
        assert {row["tariff"] for row in rows} == {tariff}


@pytest.mark.parametrize(
    ("ticks", "every", "points"),
    [(6, 2, [1, 3, 5]), (7, 3, [2, 5, 6]), (3, 10, [2]), (3, 1, [0, 1, 2])],
)
def test_points_of_a_curve(ticks: int, every: int, points: list[int]) -> None:
    assert curve_ticks(ticks, every).tolist() == points


def drifted(
    curve: list[float], drifts: list[int], ticks: list[int] | None = None, takes: int = 0
) -> Result:
    """One run whose curve has a point at every tick, or at those given."""
    result = made([[curve]], len(curve))
    points = result.ticks if ticks is None else np.array(ticks)
    scenario = {
        **result.provenance["scenario"],
        "ticks": int(points[-1]) + 1,
        "stream": {"drifts": drifts, "drift_ticks": takes},
    }
    return replace(result, provenance={**result.provenance, "scenario": scenario}, ticks=points)


def test_recovery_from_one_drift() -> None:
    curve = [1.0] * 35 + [0.2, 0.0] + [2.0] + [1.0] * 10 + [0.126, 0.125, 0.5] + [0.1] * 9
    (found,) = drifted(curve, [37]).recovery("a")  # 5 % of 60 ticks are 3
    assert found.tick == 37
    assert found.before_db == pytest.approx(10 * np.log10((1.0 + 0.2 + 0.0) / 3))
    assert found.worst_db == pytest.approx(10 * np.log10(2.0))
    assert found.ticks == 48 - 37  # 0.126 is the first within 1 dB of 0.4, as 0.503 is the limit


def test_the_limit_of_recovery_is_one_decibel() -> None:
    for factor, ticks in ((10**0.0999, 2), (10**0.1001, None)):
        (found,) = drifted([1.0] * 20 + [4.0, 4.0, factor], [20]).recovery("a")
        assert found.ticks == ticks


def test_an_error_that_never_leaves_has_recovered_at_once() -> None:
    (found,) = drifted([1.0] * 20 + [1.1] * 5, [20]).recovery("a")
    assert found.ticks == 0
    assert found.worst_db == pytest.approx(10 * np.log10(1.1))


@pytest.mark.parametrize(("takes", "ticks"), [(0, 0), (1, 0), (2, 2), (3, 1), (4, 0), (9, None)])
def test_a_gradual_drift_is_recovered_from_once_it_is_over(takes: int, ticks: int | None) -> None:
    """A curve that is still near where it was has not recovered: the target is on its way."""
    curve = [1.0] * 20 + [1.1, 4.0, 4.0, 1.2] + [1.0] * 4
    (found,) = drifted(curve, [20], takes=takes).recovery("a")
    assert (found.tick, found.ticks) == (20, ticks)
    assert found.worst_db == pytest.approx(10 * np.log10(4.0))


def test_what_was_while_a_drift_went_on_is_not_what_was_before_the_next() -> None:
    curve = [1.0] * 40 + [3.0, 3.0, 2.0] + [5.0] * 20  # 5 % of 63 ticks are 3
    for takes, before in ((1, (3.0 + 3.0 + 2.0) / 3), (3, 2.0)):
        found = drifted(curve, [40, 43], takes=takes).recovery("a")
        assert found[1].before_db == pytest.approx(10 * np.log10(before))


def test_every_drift_is_judged_up_to_the_next() -> None:
    curve = [1.0] * 10 + [5.0] * 10 + [9.0] + [5.0] * 4 + [7.0] + [1.0] * 4
    first, second, third = drifted(curve, [10, 20, 25]).recovery("a")
    assert (first.tick, first.ticks) == (10, None)  # the 1.0 at the end are another target's
    assert first.worst_db == pytest.approx(10 * np.log10(5.0))
    assert (second.tick, second.ticks) == (20, 1)
    assert second.worst_db == pytest.approx(10 * np.log10(9.0))
    assert (third.tick, third.ticks) == (25, 1)


def test_the_mean_curve_is_what_recovers() -> None:
    two = made([[[1.0] * 4 + [9.0, 3.0, 1.0]], [[1.0] * 4 + [9.0, 1.0, 1.0]]], 7)
    about = {**two.provenance, "scenario": {"name": "s", "stream": {"drifts": [4]}}}
    (found,) = replace(two, provenance=about).recovery("a")
    assert found.ticks == 2  # after one tick one run is back, but not the mean of both


def test_recovery_where_the_curve_has_few_points() -> None:
    curve, ticks = [2.0, 4.0, 1.0, 3.0], [29, 59, 89, 99]
    early, middle, late = drifted(curve, [10, 60, 97], ticks).recovery("a")
    assert np.isnan(early.before_db)  # no point before it
    assert early.worst_db == pytest.approx(10 * np.log10(4.0))
    assert early.ticks is None
    assert middle.before_db == pytest.approx(10 * np.log10(4.0))
    assert middle.ticks == 29
    # None in the 5 ticks before it: the last point there is.
    assert late.before_db == pytest.approx(0.0)
    (between, _) = drifted(curve, [60, 61], ticks).recovery("a")
    assert np.isnan(between.worst_db)
    assert between.ticks is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_diverged_curve_does_not_recover(bad: float) -> None:
    after = drifted([1.0] * 20 + [3.0, bad, bad], [20, 22]).recovery("a")
    assert [found.worst_db for found in after] == [np.inf, np.inf]
    assert [found.before_db for found in after] == [0.0, np.inf]
    assert [found.ticks for found in after] == [None, None]


def test_without_drifts_there_is_nothing_to_recover_from() -> None:
    assert TWO_RUNS.recovery("a") == []  # saved before a scenario could have drifts
    assert drifted([1.0] * 4, []).recovery("a") == []
    assert TWO_RUNS.summary()[0]["recovery"] == []


def test_a_summary_tells_of_recovery(tmp_path: Path) -> None:
    result = drifted([1.0] * 20 + [4.0, 1.0], [20])
    result.save(tmp_path / "r.npz")
    back = Result.load(tmp_path / "r.npz")
    assert back.drifts == [20]
    (found,) = back.summary()[0]["recovery"]
    assert list(found) == ["tick", "before_db", "worst_db", "ticks"]
    assert (found["tick"], found["before_db"], found["ticks"]) == (20, 0.0, 1)


def judged(samples: list[int]) -> Progressive:
    """Two devices, both models of one algorithm and a baseline, over two runs and four points."""
    return Progressive(
        learners=np.array([("a", "device"), ("a", "server"), ("last value", "baseline")]),
        devices=np.array(["north", "süd"]),
        errors=np.arange(24.0).reshape(2, 3, 4),
        samples=np.array(samples),
        device_errors=np.arange(12.0).reshape(2, 3, 2),
        device_samples=np.array([3, 7]),
    )


LIVED = Lives(
    learners=judged([1, 2, 3, 4]).learners,
    device=np.array([0, 1, 1]),
    stage=np.array([0, 0, 1]),
    samples=np.array([1, 1, 2]),
    group=np.array(["roof", "roof"]),
    target=np.array([[-1.0, 0.5, 0.5], [1.0, 2.0, 3.0]]),
    sums=np.arange(90.0).reshape(2, 3, 5, 3),
)
JOINED = ColdStart(
    algorithms=np.array(["a"]),
    devices=np.array([0, 1]),
    starts=np.array([0, 2]),
    horizons=np.array([1]),
    errors=np.arange(24.0).reshape(2, 1, 3, 2, 2, 1),
    alone=np.arange(8.0).reshape(2, 2, 2, 1),
    last_value=np.ones((2, 2, 1)),
    samples=np.full((2, 2, 1), 5),
)
OVER_A_TABLE = replace(
    TWO_RUNS,
    provenance={
        **TWO_RUNS.provenance,
        "scenario": {
            **TWO_RUNS.provenance["scenario"],
            "stream": {"kind": "table", "file": "readings.csv", "target": "y"},
        },
        "table": {
            "facts": [],
            "recipes": [],
            "columns": [],
            "ranges": [],
            "calendar": True,
            "begin": 0.0,
            "tick": 3600.0,
        },
    },
    progressive=judged([1, 2, 3, 4]),
    lives=LIVED,
    cold_start=JOINED,
)


@pytest.mark.parametrize(
    "parts",
    [(), ("progressive",), ("progressive", "cold_start"), ("progressive", "lives", "cold_start")],
)
def test_the_parts_of_a_table_there_and_back(tmp_path: Path, parts: tuple[str, ...]) -> None:
    left_out: dict[str, Any] = {
        name: None for name in ("progressive", "lives", "cold_start") if name not in parts
    }
    replace(OVER_A_TABLE, **left_out).save(tmp_path / "r.npz")
    back = Result.load(tmp_path / "r.npz")
    np.testing.assert_array_equal(back.mse, TWO_RUNS.mse)
    for name in left_out:
        assert getattr(back, name) is None
    for name in parts:
        one, two = getattr(back, name), getattr(OVER_A_TABLE, name)
        for field in fields(two):
            got, expected = getattr(one, field.name), getattr(two, field.name)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected, field.name)


def saved(folder: Path, result: Result = OVER_A_TABLE) -> dict[str, Any]:
    """The arrays of a result's file, as another program would read them."""
    result.save(folder / "r.npz")
    with np.load(folder / "r.npz") as file:
        return dict(file)


def refusal(folder: Path, arrays: dict[str, Any]) -> str:
    """What is said of a file with these arrays."""
    save_arrays(folder / "r.npz", arrays)
    with pytest.raises(FileError) as refused:
        Result.load(folder / "r.npz")
    before, _, told = str(refused.value).partition(" is not a result: ")
    assert before == str(folder / "r.npz")
    assert "\n" not in told
    return told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("progressive/devices", "progressive/learners is given without progressive/devices"),
        ("progressive/learners", "progressive/devices is given without progressive/learners"),
        ("cold_start/samples", "cold_start/algorithms is given without cold_start/samples"),
        ("mse", "arrays missing: mse"),
        ("traffic", "arrays missing: traffic"),
        ("provenance", "arrays missing: provenance"),
    ],
)
def test_a_result_that_lacks_an_array_is_none(tmp_path: Path, name: str, told: str) -> None:
    arrays = saved(tmp_path)
    del arrays[name]
    assert refusal(tmp_path, arrays) == told


def test_an_array_that_no_part_knows_is_refused(tmp_path: Path) -> None:
    arrays = {**saved(tmp_path), "progressive/erors": np.zeros(1)}
    assert "did you mean 'progressive/errors'?" in refusal(tmp_path, arrays)


def test_newcomers_without_the_devices_they_are_among(tmp_path: Path) -> None:
    arrays = saved(tmp_path)
    alone = {name: array for name, array in arrays.items() if "progressive" not in name}
    assert refusal(tmp_path, alone) == "lives is given without progressive"
    alone = {name: array for name, array in alone.items() if "lives" not in name}
    assert refusal(tmp_path, alone) == "cold_start is given without progressive"


def test_every_array_of_a_result_has_its_form() -> None:
    """Held against the records themselves: who adds an array says what it looks like."""
    parts = {"progressive": Progressive, "lives": Lives, "cold_start": ColdStart, "clean": Clean}
    names = {f"{part}/{field.name}" for part, kind in parts.items() for field in fields(kind)}
    own = {field.name for field in fields(Result)} - set(parts)
    assert set(RESULT.known) == names | own


@pytest.mark.parametrize(
    ("name", "array", "told"),
    [
        ("mse", np.ones(4), "mse has shape (4,): expected 3 dimensions, (R, A, P)"),
        ("mse", np.ones((3, 1, 4)), "traffic has 2 runs (R), but mse has 3"),
        ("mse", np.ones((2, 1, 4), int), "mse is of type int64: expected a floating-point type"),
        ("mse", np.full((2, 1, 4), -1.0), "mse holds -1.0: expected nothing below 0"),
        ("traffic", np.full((2, 1, 7, 4), -1), "traffic holds -1: expected nothing below 0"),
        ("traffic", FALLING, "traffic falls: expected what was sent until each"),
        ("ticks", np.array([0, 1, 1, 3]), "ticks does not rise"),
        ("ticks", np.array([-1, 1, 2, 3]), "ticks holds -1: expected nothing below 0"),
        ("ticks", np.array([0, 1, 2, 9]), "its provenance tells of 4 ticks, but its arrays hold"),
        ("models", np.zeros((2, 1, 0)), "models has shape (2, 1, 0): no features (D = 0)"),
        ("provenance", np.array("{"), "its provenance is not JSON"),
        ("provenance", np.array("[" * 9999), "its provenance is not JSON"),
        ("provenance", np.array('{"scenario": "\\ud800"}'), "its provenance is not JSON"),
        ("provenance", np.array("{}"), "its provenance.scenario is missing or of another type"),
        ("provenance", np.array(["{}"]), "provenance has shape (1,): expected one value"),
        ("progressive/learners", np.array([["a", "b", "c"]] * 3), "expected (L, 2)"),
        ("progressive/learners", np.array([["a", "server"], ["a", "device"], ["alone", "x"]]),
         "its learners are not both models of each algorithm and then baselines"),
        ("progressive/learners", np.array([["a", "device"], ["a", "server"], ["b", "server"]]),
         "its learners are not both models of each algorithm and then baselines"),
        ("progressive/samples", np.array([1, 2, 3, -4]), "samples holds -4: expected nothing"),
        ("lives/learners", np.array([["a", "device"]] * 3), "its lives are of other learners"),
        ("lives/device", np.array([0, 1, 2]), "a life is of none of its devices"),
        ("lives/stage", np.array([0, 1, 64]), "a life has more than 64 stages"),
        ("lives/samples", np.array([0, 1, 1]), "a cell of its lives has no sample"),
        ("lives/sums", np.zeros((2, 3, 2, 3)), "expected (R, L, 5, C)"),
        ("cold_start/devices", np.array([0, 2]), "a newcomer is none of its devices"),
        ("cold_start/starts", np.array([2, 0]), "cold_start/starts does not rise"),
        ("cold_start/horizons", np.array([0]), "a horizon has no tick"),
        ("cold_start/algorithms", np.array(["b"]), "algorithms that it does not have"),
        ("cold_start/errors", np.zeros((2, 1, 2, 2, 2, 1)), "expected (R, F, 3, S, J, H)"),
    ],
)  # fmt: skip
def test_a_file_that_is_nonsense_inside(tmp_path: Path, name: str, array: Any, told: str) -> None:
    arrays = saved(tmp_path)
    assert told in refusal(tmp_path, {**arrays, name: array})


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (["algorithms"], [], "tells of 0 algorithms, but its arrays hold 1"),
        (["algorithms"], [{"name": "u1", "step_size": []}], "the step size of u1 is []: expected"),
        (["algorithms"], [{"name": "u1", "step_size": -1}], "the step size of u1 is -1: expected"),
        (["algorithms"], [{"name": 1}], "its provenance.algorithms[0].name is missing or of"),
        (["runs_finished"], [0], "tells of 1 finished runs, but its arrays hold 2"),
        (["runs_finished"], [0, "1"], "its provenance.runs_finished[1] is missing or of"),
        (["first_run"], -1, "its first run is -1: expected a whole number from 0 on"),
        (["cpus"], ["a"], "its provenance.cpus is missing or of another type"),
        (["cpus"], {"a": [0], "b": "1"}, "its types of processors are not those of its runs"),
        (["cpus"], {"a": [0], "b": [2]}, "its types of processors are not those of its runs"),
        (["seed"], None, "its provenance.seed is missing"),
        (["same_world"], 0, "its provenance.same_world is missing"),
        (["scenario", "features"], 4, "tells of 4 features, but its arrays hold 3"),
        (["scenario", "step_size"], 0, "its provenance.scenario.step_size is missing"),
        (["scenario", "kernel_width"], 10**400, "its provenance.scenario.kernel_width is missing"),
        (["scenario", "stream", "drift_ticks"], -1, "its drifts take -1 ticks: expected a whole"),
        (["scenario", "stream", "drift_ticks"], "9", "its drifts take '9' ticks: expected a"),
        (["scenario", "faults"], 1, "its faults are none that a scenario may have"),
        (["scenario", "faults"], [{"kind": "x"}], "its faults are none that a scenario may have"),
        (["scenario", "stream", "drifts"], [0], "its drifts are not ticks of its scenario"),
        (["scenario", "stream", "drifts"], [1.5], "its drifts are not ticks of its scenario"),
        (["scenario", "stream", "file"], None, "its provenance.scenario.stream.file is missing"),
        (["table"], None, "its provenance.table is missing"),
        (["table", "tick"], 0.0, "its provenance.table.tick is missing"),
    ],
)
def test_a_provenance_that_is_nonsense(
    tmp_path: Path, path: list[str], value: Any, told: str
) -> None:
    arrays = saved(tmp_path)
    about = inner = json.loads(str(arrays["provenance"]))
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    arrays["provenance"] = np.array(json.dumps(about))
    assert told in refusal(tmp_path, arrays)


def test_two_algorithms_of_one_name(tmp_path: Path) -> None:
    arrays = saved(tmp_path, made([[[1.0] * 4] * 2]))
    about = json.loads(str(arrays["provenance"]))
    about["algorithms"] = [{"name": "a"}, {"name": "a"}]
    arrays["provenance"] = np.array(json.dumps(about))
    assert "two algorithms of the same name" in refusal(tmp_path, arrays)


def test_errors_that_diverged_are_no_nonsense(tmp_path: Path) -> None:
    made([[[1.0, np.inf, np.nan, np.nan]]]).save(tmp_path / "r.npz")
    assert Result.load(tmp_path / "r.npz").diverged("a") == (1, 1)


def test_over_a_table_the_final_error_is_that_of_all_samples_that_count() -> None:
    server = [(2 + 3) / 10, (8 + 9) / 10]
    assert OVER_A_TABLE.run_finals("a") == pytest.approx(server)
    assert OVER_A_TABLE.final("a").db == pytest.approx(10 * np.log10(np.mean(server)))


def test_no_samples_are_no_divergence() -> None:
    gap = np.array([[[1.0, np.nan, 1.0, np.nan]]])
    assert replace(made(gap.tolist()), progressive=judged([1, 0, 1, 0])).diverged("a") == (0, None)
    assert replace(made(gap.tolist()), progressive=judged([1, 0, 1, 2])).diverged("a") == (1, 3)
    assert made(gap.tolist()).diverged("a") == (1, 1)
