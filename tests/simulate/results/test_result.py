"""Results over worlds made by hand: what their curves, traffic and models say."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.core.metrics import curve_ticks
from paofed.core.tariffs import Tariff
from paofed.core.traffic import Traffic
from paofed.errors import FileError, InputError
from paofed.simulate.results.result import Result
from paofed.simulate.results.world_result import WorldResult
from tests.natures import small_trace

# What a result says of an algorithm, whatever it is called.
DESCRIBED = algorithm("pao-fed-u1").describe()
# By tick, a contact more, with 10 coordinates up and 15 down.
COUNTS = np.stack(Traffic.of_floats(np.arange(1, 101), 10, 15))


def made(mse: list[list[list[float]]], ticks: int = 4) -> WorldResult:
    curves = np.array(mse)
    runs, algorithms, _ = curves.shape
    names = ["a", "b", "c"][:algorithms]
    return WorldResult(
        provenance={
            "scenario": {
                "name": "s",
                "ticks": ticks,
                "clients": 2,
                "features": 3,
                "step_size": 0.4,
                "kernel_width": 1.0,
                "linear": False,
                "start": "zeros",
                "newcomers": "windows",
                "personal": False,
                "stream": {},
            },
            "algorithms": [{**DESCRIBED, "name": name} for name in names],
            "seed": 0,
            "same_world": False,
            "first_run": 0,
            "runs_requested": runs,
            "runs_finished": list(range(runs)),
            "cpus": {"a": list(range(runs))},
            "engines": ["fast"] * algorithms,
            "refused": {},
            "precision": "float32",
            "table": None,
            "baselines": [],
            "apart": [],
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
) -> WorldResult:
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


@pytest.mark.parametrize(("takes", "ticks"), [(0, 0), (1, 0), (2, 2), (3, 1), (4, 0), (9, None)])
def test_a_gradual_drift_is_recovered_from_once_it_is_over(takes: int, ticks: int | None) -> None:
    """A curve that is still near where it was has not recovered: the target is on its way."""
    curve = [1.0] * 20 + [1.1, 4.0, 4.0, 1.2] + [1.0] * 4
    (found,) = drifted(curve, [20], takes=takes).recovery("a")
    assert (found.tick, found.ticks) == (20, ticks)
    assert found.worst_db == pytest.approx(10 * np.log10(4.0))


def test_every_drift_is_judged_up_to_the_next() -> None:
    curve = [1.0] * 10 + [5.0] * 10 + [9.0] + [5.0] * 4 + [7.0] + [1.0] * 4
    first, second, third = drifted(curve, [10, 20, 25]).recovery("a")
    assert (first.tick, first.ticks) == (10, None)  # the 1.0 at the end are another target's
    assert first.worst_db == pytest.approx(10 * np.log10(5.0))
    assert (second.tick, second.ticks) == (20, 1)
    assert second.worst_db == pytest.approx(10 * np.log10(9.0))
    assert (third.tick, third.ticks) == (25, 1)


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


def test_a_summary_tells_of_recovery(tmp_path: Path) -> None:
    result = drifted([1.0] * 20 + [4.0, 1.0], [20])
    result.save(tmp_path / "r.npz")
    back = Result.load(tmp_path / "r.npz")
    assert back.drifts == [20]
    (found,) = back.summary()[0]["recovery"]
    assert list(found) == ["tick", "before_db", "worst_db", "ticks"]
    assert (found["tick"], found["before_db"], found["ticks"]) == (20, 0.0, 1)
