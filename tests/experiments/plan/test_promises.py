"""What a plan promises, held against cases whose optimum is known."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from paofed.algorithms.setup import Setup
from paofed.experiments.plan.field import Candidate
from paofed.experiments.plan.guards import guard, guarded
from paofed.experiments.plan.judgement import choice
from paofed.experiments.plan.record import Offer
from paofed.experiments.plan.screening import SLACK, fitting
from paofed.experiments.rejection import ERROR, Standing, student_of_race
from paofed.experiments.trials import Trials, Won, student_of_trials
from paofed.simulate.results.estimates import estimate
from paofed.simulate.stopping import ignored
from tests.effort import effort

ROUNDS = (8, 8, 16)
PURSES = (4.0, 2.0, 1.0)
PAYLOADS = np.array([1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 9.0])  # the last fits nowhere
CASES = {
    "near equals": np.linspace(0.3, 0.0, 7),
    "dear is better": np.array([1.0, 0.9, 0.6, 0.5, 0.1, 0.0, -3.0]),
    "cheap is better": np.array([0.0, 0.1, 0.5, 0.6, 0.9, 1.0, -3.0]),
}


def raced(rng: np.random.Generator, means: np.ndarray, tolerance: float) -> Trials[str]:
    """Candidates of known means in worlds that differ much and pairs that differ little."""
    names = [str(i) for i in range(means.size)]
    student = student_of_trials(means.size, len(ROUNDS), len(PURSES))
    trials = Trials(names, PURSES, tolerance, student)
    values = np.zeros((means.size, 0))
    for worlds in ROUNDS:
        more = (
            means[:, None] + rng.normal(size=worlds) + 0.5 * rng.normal(size=(means.size, worlds))
        )
        values = np.concatenate([values, more], axis=1)
        trials.heard({n: Standing(values[int(n)], float(PAYLOADS[int(n)])) for n in trials.left})
    return trials


@pytest.mark.parametrize("tolerance", [0.0, 0.1])
@pytest.mark.parametrize("case", CASES)
def test_nothing_is_better_by_more_than_is_said(case: str, tolerance: float) -> None:
    """In all purses of a race together; so many mistakes have a chance below one in 10^6."""
    rng, means = np.random.default_rng(3), CASES[case]
    races = effort(everyday=60, thorough=400)
    wrong = 0
    for _ in range(races):
        won = raced(rng, means, tolerance).won()
        assert [one.most for one in won] == sorted(PURSES)
        wrong += any(_beyond(one, means) for one in won)
    part = ERROR / 2
    assert wrong <= part * races + 5 * math.sqrt(races * part * (1 - part))


def _beyond(one: Won[str], means: np.ndarray) -> bool:
    """Whether something that fits a purse is better than its winner by more than was said."""
    best = means[one.most >= PAYLOADS].min()
    assert PAYLOADS[int(one.winner)] <= one.most
    return bool(means[int(one.winner)] - best > max(one.at_most, 0.0))


def test_looking_often_makes_no_mistakes_more_likely() -> None:
    """Two that are nearly alike, after each doubling of the worlds: without its part, each look
    would add to what can go wrong.
    """
    rng, looks, wrong = np.random.default_rng(5), [2**n for n in range(2, 10)], 0
    races = effort(everyday=300, thorough=1000)
    student = student_of_trials(2, len(looks), 1)
    for _ in range(races):
        values = rng.normal(size=(2, looks[-1])) + np.array([[0.0], [1e-3]])
        trials = Trials("ab", [1.0], 0.0, student)
        for worlds in looks:
            now = {"a": Standing(values[0, :worlds], 1.0), "b": Standing(values[1, :worlds], 1.0)}
            trials.heard({name: now[name] for name in trials.left})
        (one,) = trials.won()
        wrong += one.winner == "b" and one.at_most < 1e-3
    part = ERROR / 2
    assert wrong <= part * races + 5 * math.sqrt(races * part * (1 - part))


def test_what_may_not_keep_to_the_budget_wins_nothing_and_is_not_dropped_for_that() -> None:
    """Its bytes are too much by chance alone: more worlds may show that it fits."""
    trials = Trials(["fits", "perhaps", "never"], [1.0], 0.0, student_of_trials(3, 2, 1))
    noise = np.random.default_rng(1).normal(size=(3, 8))

    def standings(doubt: float) -> dict[str, Standing]:
        return {
            "fits": Standing(noise[0], 0.5, doubt=doubt),
            "perhaps": Standing(noise[1] - 20, 0.95, doubt=doubt),
            "never": Standing(noise[2] - 40, 1.5, doubt=doubt),
        }

    trials.heard(standings(0.1))
    assert [one.winner for one in trials.won()] == ["fits"]
    assert trials.won()[0].at_most > 15  # what may fit counts
    assert trials.left == ["fits", "perhaps"]
    trials.heard({name: standings(0.01)[name] for name in trials.left})
    assert [one.winner for one in trials.won()] == ["perhaps"]


def test_the_cheapest_that_are_below_an_error_are_judged() -> None:
    """The race seeks the best for so many bytes; an error may be reached for less than that."""
    spread = np.linspace(-0.5, 0.5, 8)
    means = {"best": (-9.0, 4.0), "enough": (-5.0, 3.0), "short": (0.0, 1.0), "bare": (-3.1, 2.0)}
    means["alike"] = (-4.9, 3.0)  # as cheap as another, and no better
    trials = Trials(means, [4.0], 0.0, student_of_trials(5, 1, 1), target=-3.0)
    trials.heard({name: Standing(mean + spread, cost) for name, (mean, cost) in means.items()})
    assert trials.left == ["best", "enough", "bare", "alike"]  # bare may be below, and is cheaper
    found = trials.cheapest_below()
    assert [one.winner for one in found] == ["enough", "best"]
    assert all(one.at_most == math.inf and one.most == 4.0 for one in found)


def test_what_is_clear_is_found_and_said() -> None:
    """Differences of many standard errors: the best of each purse wins, and the doubt is small."""
    means = np.array([0.0, 9.0, -9.0, 0.0, -18.0, -9.0, -99.0])
    won = raced(np.random.default_rng(0), means, 0.0).won()
    assert [one.winner for one in won] == ["0", "2", "4"]
    assert all(one.at_most < 0 and one.alike == () for one in won)


def test_a_cheaper_one_within_the_tolerance_is_taken_and_the_doubt_says_so() -> None:
    means = np.array([0.0, 9.0, 9.0, 9.0, -0.3, 9.0, 9.0])
    won = raced(np.random.default_rng(0), means, 1.0).won()
    assert {one.winner for one in won} == {"0"}
    assert won[-1].at_most > 0.3


class Drawn:
    """Meetings whose values come from known means in the place of runs."""

    def __init__(self, rng: np.random.Generator, means: dict[Setup, float]) -> None:
        self._rng, self._means = rng, means

    def arms(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        return candidates

    def meet(
        self, candidates: Sequence[Candidate], runs: int, number: int, report: object
    ) -> dict[Candidate, Standing]:
        assert (number, report) == (0, ignored)
        shared = self._rng.normal(size=runs)
        return {
            one: Standing(self._means[one.setup] + shared + 0.5 * self._rng.normal(size=runs), 1.0)
            for one in candidates
        }


@pytest.mark.parametrize("cost", [-0.5, 0.0, 0.2, 1.0])
def test_two_races_together_are_wrong_as_rarely_as_is_said(cost: float) -> None:
    """A first race that is right by 0.2 dB, then bounds that cost so much in truth."""
    setup = Setup("pao-fed-u1").with_(shared=4, exchange="live")
    rng, races = np.random.default_rng(7), effort(everyday=150, thorough=800)
    winner, wrong = Candidate(setup, 1.0), 0
    for _ in range(races):
        meetings = Drawn(rng, {setup: 0.0, guarded(setup): cost})
        (one,) = guard(
            [Won(1.0, winner, 0.2, ())], [winner], meetings,  # type: ignore[arg-type]
            runs=12, number=0, tolerance=0.1, independent=True, report=ignored,
        )  # fmt: skip
        truth = cost if one.guarded else 0.0
        best = min(-0.2, cost, 0.0)  # something of the first race may be better by 0.2
        wrong += truth - best > one.at_most
        assert one.cost is not None
        assert one.guarded == (one.cost.mean <= 0.1) == (one.candidate.setup != setup)
    part = ERROR / 2
    assert wrong <= part * races + 5 * math.sqrt(races * part * (1 - part))


def test_over_the_same_devices_all_that_might_have_won_share_what_can_be_wrong() -> None:
    """The second race then has no worlds of its own: the more took part in the first, the wider."""
    setup = Setup("pao-fed-u1").with_(shared=4, exchange="live")
    many = [Candidate(setup, 1 / n) for n in range(1, 50)]
    ends = []
    for independent in (True, False):
        meetings = Drawn(np.random.default_rng(7), {setup: 0.0, guarded(setup): 0.0})
        (one,) = guard(
            [Won(1.0, many[0], 0.2, ())], many, meetings,  # type: ignore[arg-type]
            runs=12, number=0, tolerance=9.0, independent=independent, report=ignored,
        )  # fmt: skip
        assert one.cost is not None
        ends.append(one.cost.high)
    assert ends[0] < ends[1]


def test_the_chance_to_fail_is_shared_by_all_budgets() -> None:
    """Each of four budgets gets a quarter of it, as a race of its own would be given."""
    many, one = student_of_trials(9, 3, 4), student_of_race(9, 3, ERROR / 2 / 4)
    assert [many(n) for n in (2, 8, 32)] == [one(n) for n in (2, 8, 32)]
    assert many(8) > student_of_trials(9, 3, 1)(8)


def test_what_costs_a_little_too_much_in_one_world_is_tried_all_the_same() -> None:
    """Rates come from one world; those that are more than `SLACK` too dear take no part."""
    said = {"near": SLACK, "far": 1.01 * SLACK, "cheap": 0.5}
    rates = {Setup(name): rate for name, rate in said.items()}
    found = fitting([*rates], {setup: setup for setup in rates}, rates, [1.0, 0.5])
    whole = {one.setup.row for one in found if one.contacts == 1.0}
    assert whole == {"near", "cheap"}


def offer(error: float, doubt: float, spends: float) -> Offer:
    values = np.array([error - 0.1, error + 0.1])
    return Offer(candidate=Candidate(Setup("u1"), 1.0), most=9.0, spends=spends, contacts=1.0,
                 error=estimate(values), reaches=error + doubt, gain=None, at_most=0.0, alike=(),
                 guards=None, guarded=False)  # fmt: skip


def test_an_error_is_reached_by_who_is_surely_below_it() -> None:
    """The cheap offer is below -8 dB on average alone; the dear one with its whole interval."""
    cheap, dear = offer(-8.1, 0.5, 1.0), offer(-9.0, 0.5, 4.0)
    assert choice([cheap, dear], -8.0) == (dear, True)
    assert choice([cheap], -8.0) == (cheap, False)
