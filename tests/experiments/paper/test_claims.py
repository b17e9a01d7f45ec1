"""The claims: what an interval says, what each difference measures, and whom each claim favours."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray
from paofed.core.rules import Newest
from paofed.core.selection import Windows
from paofed.core.staleness import Geometric
from paofed.core.traffic import Traffic
from paofed.experiments.paper import claims
from paofed.experiments.paper.claims import (
    CLAIMS,
    Claim,
    better,
    better_at_equal_traffic,
    better_over_time,
    finals_db,
    gain_grows,
    less_traffic,
    over_time_db,
    times_less_traffic,
)
from paofed.experiments.paper.study import ROWS
from paofed.report.paper.page import REASONS
from paofed.simulate.results.estimates import Count, Estimate, Verdict, estimate, student_95
from paofed.simulate.results.world_result import WorldResult
from paofed.world.scenario import Scenario
from tests.effort import effort

RNG = np.random.default_rng(12)


def made_up(
    curves: Mapping[str, ArrayLike], sent: Mapping[str, ArrayLike] | None = None, *, every: int = 1
) -> WorldResult:
    """A result with the given error curves (runs, points), and traffic if it matters."""
    mse = np.stack([np.asarray(curve, dtype=np.float64) for curve in curves.values()], axis=1)
    runs, algorithms, points = mse.shape
    traffic = np.zeros((runs, algorithms, len(Traffic._fields), points), dtype=np.int64)
    for index, name in enumerate(curves):
        counted = np.asarray(sent[name] if sent is not None else 0)
        traffic[:, index] = np.stack(counts_of(np.broadcast_to(counted, mse[:, index].shape)), 1)
    return WorldResult(
        provenance={
            "algorithms": [{"name": name} for name in curves],
            "scenario": {"stream": {}},
            "seed": 0,
        },
        ticks=every * (np.arange(points) + 1) - 1,
        mse=mse,
        traffic=traffic,
        models=np.zeros((runs, algorithms, 2)),
    )


def counts_of(sent: NDArray[np.int64]) -> Traffic:
    """So many coordinates of 4 bytes, a third of them up, each in a message of its own."""
    up, down = sent // 3, sent - sent // 3
    return Traffic(up, down, up, down, 4 * up, 4 * down, sent)


def from_db(db: ArrayLike) -> FloatArray:
    linear: FloatArray = 10.0 ** (np.asarray(db, dtype=np.float64) / 10)
    return linear


# The interval


@pytest.mark.parametrize(
    ("freedom", "quantile"),  # from the tables
    [(4, 2.776), (5, 2.571), (6, 2.447), (7, 2.365), (9, 2.262), (19, 2.093), (29, 2.045),
     (49, 2.010), (99, 1.984), (999, 1.962), (10**9, 1.960)],
)  # fmt: skip
def test_the_quantile_is_students_to_three_digits(freedom: int, quantile: float) -> None:
    assert student_95(freedom) == pytest.approx(quantile, abs=0.001)


@pytest.mark.parametrize(("freedom", "quantile"), [(1, 12.706), (2, 4.303), (3, 3.182)])
def test_few_runs_have_the_wide_interval_they_deserve(freedom: int, quantile: float) -> None:
    assert student_95(freedom) == pytest.approx(quantile, rel=1e-3)


def test_a_single_difference_has_no_interval_and_none_has_no_mean() -> None:
    found = estimate(np.array([-1.5]))
    assert (found.mean, found.runs) == (-1.5, 1)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.verdict == "inconclusive"
    assert estimate(np.array([np.inf])).mean == np.inf
    nothing = estimate(np.array([]))
    assert math.isnan(nothing.mean)
    assert nothing.runs == 0


def test_an_estimate_by_hand() -> None:
    # 1, 2, 3, 4, 10: mean 4; squares 9 + 4 + 1 + 0 + 36 = 50, so s^2 = 12.5, s / sqrt(5) = 1.58114.
    found = estimate(np.array([1.0, 2.0, 3.0, 4.0, 10.0]))
    assert found.mean == 4.0
    assert found.runs == 5
    assert found.high - found.mean == pytest.approx(2.776 * 1.58114, rel=1e-3)
    assert found.mean - found.low == pytest.approx(found.high - found.mean)


@pytest.mark.parametrize("runs", [5, 8, 100])
def test_the_interval_covers_the_truth_in_95_of_100_studies(runs: int) -> None:
    studies = effort(everyday=4_000, thorough=20_000)
    found = [estimate(row) for row in RNG.normal(0.7, 2.0, size=(studies, runs))]
    covered = np.mean([e.low <= 0.7 <= e.high for e in found])
    # Five standard deviations of the count: a false alarm in 2 million changes of the seed.
    assert abs(covered - 0.95) < 5 * math.sqrt(0.95 * 0.05 / studies)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.2, 0.9, "holds"),
        (0.02, 0.11, "holds"),  # beyond the tie at one end, and on one side
        (-0.9, -0.2, "does not hold"),
        (-0.11, -0.02, "does not hold"),
        (-0.05, 0.05, "tie"),
        (-0.1, 0.1, "tie"),
        (0.02, 0.1, "tie"),  # a difference, but none worth naming
        (-0.1, -0.02, "tie"),
        (-0.11, 0.1, "inconclusive"),
        (-0.1, 0.11, "inconclusive"),
        (-3.0, 4.0, "inconclusive"),
        (0.0, 0.9, "inconclusive"),
        (-0.9, 0.0, "inconclusive"),
        (math.nan, math.nan, "inconclusive"),
    ],
)
def test_what_an_interval_says(low: float, high: float, verdict: Verdict) -> None:
    assert Estimate((low + high) / 2, low, high, 10).verdict == verdict


@pytest.mark.parametrize(
    ("count", "verdict"),
    [(0.0, "holds"), (0.05, "holds"), (3.0, "holds"), (-0.05, "does not hold")],
)
def test_a_count_without_spread_is_settled(count: float, verdict: Verdict) -> None:
    assert Count(count, count, count, 7).verdict == verdict


def test_what_is_the_same_in_every_run_has_no_spread() -> None:
    assert estimate(np.zeros(7)) == Estimate(0.0, 0.0, 0.0, 7)


def test_a_level_moves_the_interval_and_not_its_width() -> None:
    moved = Estimate(1.0, 0.5, 2.0, 9).above(98.0)
    assert moved == Estimate(99.0, 98.5, 100.0, 9)


def test_two_algorithms_that_never_differ_tie() -> None:
    same = np.full((5, 40), 0.02)
    result = made_up({"a": same, "b": same})
    assert estimate(better("a", "b", "here")({"here": result})).verdict == "tie"


# The differences


def test_the_final_error_is_the_mean_of_the_last_twentieth() -> None:
    curve = np.full((2, 200), 7.0)  # what came before must not matter
    curve[:, -10:] = 0.01
    curve[1, -5:] = 0.03  # a mean of errors, not of decibels: (5 * 0.01 + 5 * 0.03) / 10 = 0.02
    np.testing.assert_allclose(
        finals_db(made_up({"a": curve}), "a"), [-20.0, 10 * math.log10(0.02)]
    )


def test_the_error_over_time_is_a_mean_of_decibels() -> None:
    curve = from_db([[-10.0] * 30 + [-30.0] * 10, [0.0] * 20 + [-8.0] * 20])
    np.testing.assert_allclose(over_time_db(made_up({"a": curve}), "a"), [-15.0, -4.0])


@pytest.mark.parametrize(
    ("ticks", "every"),
    [
        (2000, 10),
        (2000, 20),
        (2000, 1),
        (60, 1),
        (150, 1),
        (10, 1),
    ],
)  # fmt: skip
def test_claims_and_tables_mean_the_same_by_the_final_error(ticks: int, every: int) -> None:
    curve = np.exp(-np.arange(every, ticks + 1, every) / ticks)
    result = made_up({"a": curve[None]}, every=every)
    assert finals_db(result, "a") == pytest.approx([result.final("a").db], abs=1e-12)


WINNER, LOSER = from_db([[-20.0] * 40, [-15.0] * 40]), from_db([[-14.0] * 40, [-16.0] * 40])


def test_better_is_run_by_run_and_positive_where_the_winner_is_lower() -> None:
    results = {"here": made_up({"w": WINNER, "l": LOSER})}
    for difference in (better, better_over_time):
        np.testing.assert_allclose(difference("w", "l", "here")(results), [6.0, -1.0])
        np.testing.assert_allclose(difference("l", "w", "here")(results), [-6.0, 1.0])


def test_better_looks_at_the_end_and_over_time_at_all() -> None:
    late = from_db([[0.0] * 20 + [-30.0] * 20])
    steady = from_db([[-20.0] * 40])
    results = {"here": made_up({"late": late, "steady": steady})}
    assert better("late", "steady", "here")(results) == pytest.approx([10.0])
    assert better_over_time("late", "steady", "here")(results) == pytest.approx([-5.0])


def test_the_gain_grows_from_here_to_there() -> None:
    here = made_up({"w": from_db([[-20.0] * 40] * 2), "l": from_db([[-19.0] * 40] * 2)})
    there = made_up({"w": WINNER, "l": LOSER})
    results = {"here": here, "there": there}
    np.testing.assert_allclose(gain_grows("w", "l", "here", "there")(results), [5.0, -2.0])
    np.testing.assert_allclose(gain_grows("w", "l", "there", "here")(results), [-5.0, 2.0])


def test_less_traffic_counts_what_was_sent_in_all() -> None:
    flat = np.ones((3, 4))
    sent = {
        "frugal": [[9, 9, 9, 8], [9, 9, 9, 4], [0, 0, 0, 16]],
        "lavish": [[1, 1, 1, 400], [1, 1, 1, 400], [1, 1, 1, 400]],
    }
    results = {"here": made_up({"frugal": flat, "lavish": flat}, sent)}
    found = less_traffic("frugal", "lavish", "here", 98.0)(results)
    assert found[0] == 0.0  # exactly 98 %: four of two hundred is what was promised
    np.testing.assert_allclose(found, [0.0, 1.0, -2.0], atol=1e-12)


STEP = 2.0**-7  # powers of two: means of them are exact


def stairs(*at: int, points: int = 100) -> FloatArray:
    """One run per number: an error of 1 until that point, then of 2^-7."""
    return np.where(np.arange(points) < np.array(at)[:, None], 1.0, STEP)


def steady(per_tick: int, runs: int, points: int = 100) -> FloatArray:
    return np.tile(per_tick * np.arange(1.0, points + 1), (runs, 1))


def test_traffic_until_the_same_error() -> None:
    # Smoothed over five points, a fall at point p is complete at p + 4, the (p + 5)th point.
    results = {
        "here": made_up(
            {"frugal": stairs(20, 20, 55), "lavish": stairs(20, 45, 20)},
            {"frugal": steady(1, 3), "lavish": steady(20, 3)},
        )
    }
    times = np.array([20 * 25 / 25, 20 * 50 / 25, 20 * 25 / 60])
    found = times_less_traffic("frugal", "lavish", "here", 10.0)(results)
    np.testing.assert_allclose(found, 10 * np.log10(times / 10))


def test_the_error_both_reach_is_the_higher_of_the_final_ones() -> None:
    early_but_poor = np.maximum(stairs(10), STEP * 2)
    late_but_good = np.where(np.arange(100) < 60, stairs(30) * 2, STEP / 2)
    assert late_but_good[0, 40] == 2 * STEP  # passes the other's level on its way down
    for names in (("poor", "good"), ("good", "poor")):
        result = made_up(
            {"poor": early_but_poor, "good": late_but_good},
            {"poor": steady(1, 1), "good": steady(3, 1)},
        )
        times = {"poor": 15.0, "good": 3 * 35.0}
        expected = 10 * math.log10(times[names[1]] / times[names[0]])
        found = times_less_traffic(*names, "here", 1.0)({"here": result})
        assert found == pytest.approx([expected])


def test_a_level_that_a_smoothed_curve_lags_behind_is_reached_at_the_end() -> None:
    falling = np.linspace(2.0, 1.0, 40)[None]  # the mean of its last two is below that of any five
    good = np.full((1, 40), 0.5)  # is there from its first point on
    result = made_up(
        {"falling": falling, "good": good},
        {"falling": steady(1, 1, 40), "good": steady(4, 1, 40)},
    )
    found = times_less_traffic("falling", "good", "here", 1.0)({"here": result})
    assert found == pytest.approx([10 * math.log10(4 / 40)])


def test_at_equal_traffic_the_thriftier_sets_the_budget() -> None:
    frugal, lavish = stairs(50, 50, 50), stairs(15, 16, 90)
    sent = {"frugal": steady(1, 3), "lavish": steady(5, 3)}
    results = {"here": made_up({"frugal": frugal, "lavish": lavish}, sent)}
    # The budget of 100 is the lavish one's first 20 points. By then its fall is complete over five
    # points in the first run, over four in the second, and has not begun in the third.
    behind = 10 * np.log10([1.0, (1 + 4 * STEP) / 5 / STEP, 1 / STEP])
    found = better_at_equal_traffic("frugal", "lavish", "here")(results)
    np.testing.assert_allclose(found, behind, atol=1e-12)
    back = better_at_equal_traffic("lavish", "frugal", "here")(results)
    np.testing.assert_allclose(back, -found, atol=1e-12)


def test_a_diverged_run_leaves_a_comparison_open() -> None:
    wild = np.where(np.arange(40) < 20, 1.0, np.inf) * np.ones((3, 1))
    results = {"here": made_up({"tame": np.ones((3, 40)), "wild": wild, "too": wild})}
    for pair in (("tame", "wild"), ("wild", "tame"), ("wild", "too")):
        assert estimate(better(*pair, "here")(results)).verdict == "inconclusive"


# The claims


def each(wanted: Sequence[Claim]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("claim", wanted, ids=[claim.key for claim in wanted])


def about(*keys: str) -> pytest.MarkDecorator:
    return each([claim for claim in CLAIMS if claim.key.startswith(keys)])


def judged_where(claim: Claim, names: Sequence[str]) -> Estimate:
    """Judge a claim where the first algorithm is better and thriftier, more so in Setting II."""
    gains = {claims.I: 1.0, claims.II: 4.0, claims.IDEAL: 1.0}
    first, second = names
    results = {}
    for scenario in claim.scenarios:
        falling = np.linspace(0.0, -20.0, 200) + RNG.normal(0, 0.01, size=(6, 1))
        gain = gains[scenario] + RNG.normal(0, 0.02, size=(6, 1))
        results[scenario] = made_up(
            {first: from_db(falling - gain), second: from_db(falling)},
            {first: steady(1, 6, 200), second: steady(400, 6, 200)},
        )
    return claim.judge(results)


@each(CLAIMS)
def test_a_claim_holds_where_its_winner_is_better_and_only_there(claim: Claim) -> None:
    winner, loser = claim.algorithms
    assert judged_where(claim, (winner, loser)).verdict == "holds"
    assert judged_where(claim, (loser, winner)).verdict == "does not hold"


def test_claims_have_keys_of_their_own_and_stand_by_statement_each_with_a_reason() -> None:
    assert len({claim.key for claim in CLAIMS}) == len(CLAIMS)
    assert len({claim.where for claim in CLAIMS}) == len(CLAIMS)
    assert set(REASONS) == {claim.statement for claim in CLAIMS}
    order = list(dict.fromkeys(claim.statement for claim in CLAIMS))
    places = [order.index(claim.statement) for claim in CLAIMS]
    assert places == sorted(places)


@each(CLAIMS)
def test_a_claim_is_about_what_is_run(claim: Claim) -> None:
    assert set(claim.algorithms) <= set(ROWS)
    for scenario in claim.scenarios:
        assert Scenario.load(scenario).name == scenario
    if claim.on_grid:  # where there are only the two settings, and no reference engine
        assert set(claim.scenarios) <= {claims.I, claims.II}
        assert not any(name.startswith("pso-fed") for name in claim.algorithms)
    if claims.IDEAL in claim.scenarios:
        assert set(claim.algorithms) <= {"pao-fed-c1", "pao-fed-u1"}


@each(CLAIMS)
def test_a_claim_says_in_words_what_it_compares(claim: Claim) -> None:
    where = claim.where.replace(",", " ").split()
    places = [where.index(name) for name in claim.algorithms]
    assert places == sorted(places)
    for scenario, word in ((claims.I, " Setting I"), (claims.II, " Setting II")):
        said = f"{claim.where},".count(f"{word},") + claim.where.count(f"{word} ")
        assert (said > 0) == (scenario in claim.scenarios)
    assert ("whole run" in claim.where) == ("over-time" in claim.key)


@each(CLAIMS)
def test_a_claim_has_a_reason_and_one_statement(claim: Claim) -> None:
    family = claim.key.partition("-")[0]
    assert REASONS[claim.statement].endswith(".")
    assert claim.statement.endswith(".")
    same = {c.statement for c in CLAIMS if c.key.partition("-")[0] == family}
    assert same == {claim.statement}


# Whom each statement favours, by what the algorithms are made of


def window(name: str) -> Windows:
    uplink = resolve(name).uplink
    assert isinstance(uplink, Windows)
    return uplink


def weight_of_late(name: str) -> float:
    server = resolve(name).server
    assert isinstance(server, Newest)
    staleness = server.staleness
    assert isinstance(staleness, Geometric)
    return staleness(1)


@about("local-")
def test_learning_between_contacts_is_sending_the_window_left_alone(claim: Claim) -> None:
    assert [window(name).ahead for name in claim.algorithms] == [1, 0]


@about("uncoordinated-")
def test_under_delays_the_uncoordinated_should_win(claim: Claim) -> None:
    assert [window(name).coordinated for name in claim.algorithms] == [False, True]


@about("coordinated-")
def test_without_delays_the_coordinated_should_win(claim: Claim) -> None:
    assert [window(name).coordinated for name in claim.algorithms] == [True, False]
    assert Scenario.load(claim.scenarios[0]).delay.kind == "none"


@about("accurate-", "saved", "tenfold")
def test_few_parameters_should_do_against_whole_models(claim: Claim) -> None:
    few, whole = (resolve(name) for name in claim.algorithms)
    assert window(few.name).size(200) == 4
    assert whole.name == "online-fedsgd"
    assert whole.subset is None


@about("poor-")
def test_picking_clients_should_lose(claim: Claim) -> None:
    all_of_them, picked = (resolve(name) for name in claim.algorithms)
    assert all_of_them.subset is None
    assert picked.subset is not None
    assert str(picked.subset) in claim.key


@about("fewer-")
def test_the_smaller_window_should_win(claim: Claim) -> None:
    few, many = (window(name).size(200) for name in claim.algorithms)
    assert few < many
    assert f"-{few}-{many}-" in claim.key


@about("weight-", "grows")
def test_weighing_late_updates_less_should_win(claim: Claim) -> None:
    less, more = (weight_of_late(name) for name in claim.algorithms)
    assert less < more == 1.0


def test_the_harsher_setting_is_the_second() -> None:
    (claim,) = (claim for claim in CLAIMS if claim.key == "grows")
    mild, harsh = (Scenario.load(name) for name in claim.scenarios)
    assert harsh.max_age > mild.max_age
