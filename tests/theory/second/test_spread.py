"""The spread of theory at large against the exact recursion, one approximation at a time.

Everything is deterministic, so ratios are held where they were measured: a change of them is a
change of the theory, and docs/theory.md has these numbers in dB.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from paofed.algorithms.base import Settled
from paofed.algorithms.setup import resolve
from paofed.core.arrays import IntArray
from paofed.errors import InputError
from paofed.theory.fleet import FleetInTheory
from paofed.theory.sample_points import SamplePoints
from paofed.theory.second.curve import learning_curve
from paofed.theory.second.groups import FINEST, Detail
from paofed.theory.second.stability import stable_step
from tests.effort import some
from tests.natures import small_scenario
from tests.theory.second.laws import SETTINGS, TwoTheories, contacts_of, theories

WHOLE = "online-fedsgd"
C0, U0, C1, U1 = (f"pao-fed-{version}:shared=1" for version in ("c0", "u0", "c1", "u1"))
HELD = 0.002  # to which ratios are held


@cache
def fleet(name: str) -> TwoTheories:
    if name == "unlike":  # in what they see and in how often they are there
        return theories(contacts_of(3, there=(0.1, 0.05, 0.02)))
    if name == "half the data":
        return theories(contacts_of(3, data=0.5, there=(0.1, 0.05, 0.02)))
    if name in ("alike", "equally there"):
        return theories(contacts_of(3), alike=name == "alike")
    late = {"not late": (1.0,), "late": (0.0, 0.0, 1.0), "differently late": (0.5, 0.0, 0.5)}
    return theories(contacts_of(2, late=late[name]))


class Case(NamedTuple):
    """The ratio of the spread to the exact one after ticks 9 and 49."""

    clients: str
    text: str
    ratios: tuple[float, float]
    detail: Detail = FINEST

    def __str__(self) -> str:
        changed = [
            name for name in Detail._fields if getattr(self.detail, name) != getattr(FINEST, name)
        ]
        return ", ".join([self.clients, self.text, *changed])


STRIDE, ONE_CLASS = FINEST._replace(stride=5), FINEST._replace(groups=1)
ONE_GROUP, SELDOM = FINEST._replace(groups=1, classes=3), FINEST._replace(seldom=5)
EXACT = 1.0, 1.0
CASES = [
    # Nothing left out.
    Case("unlike", WHOLE, EXACT),
    Case("half the data", WHOLE, EXACT),
    Case("late", WHOLE, EXACT),
    Case("alike", WHOLE, EXACT, ONE_CLASS),
    # Messages that are differently late.
    Case("differently late", WHOLE, (0.9911, 1.0079)),
    # A sender has merged and learned, the typical member perhaps.
    Case("unlike", C1, (0.9882, 0.9773)),
    Case("half the data", C1, (0.9796, 0.9986)),
    Case("unlike", f"{C1},exchange=single", (0.9892, 0.9518)),
    # A window just received: one step from a model that has learned already.
    Case("unlike", C0, (0.9509, 0.9740)),
    # Covariances of late messages are kept.
    Case("not late", C1, (0.9887, 0.9762)),
    Case("late", C1, (0.9899, 0.9814)),
    Case("differently late", C1, (0.9765, 0.9977)),
    Case("differently late", "pao-fed-c1:shared=2", (1.0147, 0.9324)),  # two ages, one window
    # Windows drawn anew; late messages moving the server when they are sent.
    Case("unlike", U1, (0.8225, 0.8396)),
    Case("unlike", U0, (0.7413, 0.7647)),
    Case("late", U1, (1.0721, 0.8924)),
    # One group, one class of clients that are unlike.
    Case("alike", C1, (0.9870, 0.9645)),
    Case("alike", C1, (0.9870, 0.9645), ONE_CLASS),
    Case("unlike", WHOLE, (0.9778, 0.9874), ONE_GROUP),
    Case("unlike", C1, (0.9638, 0.9595), ONE_GROUP),
    Case("equally there", C1, (0.9872, 0.9806)),
    Case("equally there", WHOLE, (1.0041, 1.0037), ONE_CLASS),
    Case("equally there", C1, (1.0078, 0.8725), ONE_CLASS),
    # Five ticks at once.
    Case("unlike", WHOLE, (1.0213, 1.0003), STRIDE),
    Case("unlike", C1, (0.9548, 0.9691), STRIDE),
    Case("unlike", U1, (0.6207, 0.8163), STRIDE),
    # Noise worked out more seldom; single precision.
    Case("unlike", C1, (0.9882, 0.9769), SELDOM),
    Case("unlike", C1, (0.9882, 0.9773), FINEST._replace(precision=np.float32)),
]


@pytest.mark.parametrize("case", some(CASES, everyday=4), ids=str)
def test_each_approximation_costs_what_it_did(case: Case) -> None:
    found = fleet(case.clients).ratio(case.text, case.detail)
    accuracy = 1e-9 if case.ratios == EXACT else HELD
    np.testing.assert_allclose(found, case.ratios, rtol=0, atol=accuracy)


@cache
def paper_s() -> FleetInTheory:
    """A small fleet in the paper's world."""
    scenario = small_scenario(clients=6, features=8, stream={"memory": (0.0, 0.0)})
    return FleetInTheory.of(scenario)


@pytest.mark.parametrize(("text", "ratio"), some([(WHOLE, 1.045), (C1, 1.036)], everyday=1))
def test_a_few_points_per_client_stand_for_many(text: str, ratio: float) -> None:
    """Of six clients, so the points of a fleet are few, too."""
    few, many = (
        learning_curve(
            paper_s(), resolve(text), SETTINGS, np.array([39]), detail=FINEST._replace(points=P)
        ).of_spread[0]
        for P in (64, 1024)
    )
    assert few / many == pytest.approx(ratio, abs=0.01)


def test_the_error_is_the_sum_of_its_parts_and_noise_adds_to_the_spread() -> None:
    known, method = paper_s(), resolve(C1)
    points = np.array([9, 39])

    def without_noise(clients: IntArray, number: int) -> SamplePoints:
        seen = known.samples(clients, number)
        return seen._replace(noise=np.zeros_like(seen.noise))

    noisy, quiet = (
        learning_curve(fleet, method, SETTINGS, points)
        for fleet in (known, known._replace(samples=without_noise))
    )
    parts = noisy.test_noise + noisy.residual + noisy.of_mean + noisy.of_spread
    np.testing.assert_allclose(noisy.mse, parts)
    np.testing.assert_allclose(noisy.db, 10 * np.log10(parts))
    np.testing.assert_array_equal(noisy.of_mean, quiet.of_mean)
    assert (noisy.of_spread > quiet.of_spread).all()
    assert noisy.test_noise > 0


def test_a_step_above_the_largest_stable_one_blows_up_and_says_so_in_the_curve() -> None:
    known, method = paper_s(), resolve(WHOLE)
    limit = stable_step(known, method, SETTINGS).step
    points, detail = np.array([99, 199]), FINEST._replace(points=64)
    low, high = (
        learning_curve(known, method, Settled(share * limit, 10), points, detail=detail)
        for share in (0.5, 1.5)
    )
    assert low.of_spread[1] < 2 * low.of_spread[0]
    assert high.of_spread[1] > 100 * high.of_spread[0]


@pytest.mark.parametrize("text", some([WHOLE, C1, U1], everyday=2))
def test_clients_that_are_never_there_change_nothing_and_a_fleet_of_them_stays(text: str) -> None:
    pair, three = (contacts_of(number, there=(0.3, 0.1, 0.0)[:number]) for number in (2, 3))
    two, more = theories(pair), theories(three)
    points, method = np.array([19]), resolve(text)
    spreads = [
        learning_curve(part.large, method, SETTINGS, points, detail=FINEST).of_spread[0]
        for part in (two, more)
    ]
    assert spreads[0] == pytest.approx(spreads[1], rel=1e-9)
    nobody = theories(contacts_of(2, there=0.0)).large
    assert learning_curve(nobody, method, SETTINGS, points).of_spread.tolist() == [0.0]


def test_what_theory_does_not_know_is_refused() -> None:
    points, known = np.array([3]), paper_s()
    with pytest.raises(InputError, match="exchange 'live': with whole models theory knows"):
        learning_curve(known, resolve(f"{WHOLE}:exchange=live"), SETTINGS, points)
    with pytest.raises(InputError, match="the target of the trace changes"):
        learning_curve(known._replace(drifts=1), resolve(WHOLE), SETTINGS, points)
