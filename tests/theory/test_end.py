"""Where means end: solved for, beside means that are followed for long."""

from typing import Any

import numpy as np
import pytest

from paofed import theory
from paofed.algorithms.base import Settled
from paofed.algorithms.setup import resolve
from paofed.theory import mean
from paofed.theory.fleet import FleetInTheory
from paofed.theory.models import MeanModels, mean_models
from paofed.theory.modes import Modes
from paofed.theory.reach import Reach
from paofed.theory.second.curve import learning_curve
from paofed.theory.second.horizon import _LONG
from tests.natures import small_scenario
from tests.theory.fleets import fleet_of

SETTINGS = Settled(step_size=0.4, max_age=10)
# Two features that every client tells apart within some hundred ticks.
SEEN = fleet_of(
    [[[0.6, 0.2], [0.2, 0.5]], [[0.5, -0.1], [-0.1, 0.7]]],
    [[0.4, 0.1], [0.3, -0.2]],
    data=0.9,
    available=(0.5, 0.2),
    ages=(0, 2),
    late=(0.7, 0.3),
)


def models(fleet: FleetInTheory, text: str) -> tuple[MeanModels, Reach]:
    method = resolve(text)
    reach = Reach.of(fleet, method, SETTINGS, 1000)
    return mean_models(fleet, Modes.of(fleet.moments.R), method, reach, driven=True), reach


@pytest.mark.parametrize(
    "text",
    [
        "online-fedsgd",
        "pao-fed-u1:shared=1",
        "pao-fed-c2:shared=1",
        "pao-fed-u1:shared=1,exchange=single",
    ],
)
def test_means_that_begin_at_their_end_stay_there(text: str) -> None:
    followed, reach = models(SEEN, text)
    for n in range(2000):
        followed.tick(n)
    solved, _ = models(SEEN, text)
    mean.begin_at_end(solved, reach, ticks=1000)
    np.testing.assert_allclose(solved.w, followed.w, rtol=1e-8)
    np.testing.assert_allclose(solved.state(0), followed.state(2000), rtol=1e-7, atol=1e-12)


def refused(monkeypatch: pytest.MonkeyPatch, why: str) -> tuple[FleetInTheory, str]:
    if why == "no room":
        monkeypatch.setattr(mean, "_MOST", 1)
    if why == "no memory":
        monkeypatch.setattr("os.sysconf", lambda _: 10)  # a machine of a hundred bytes
    unseen: Any = [[[0.6, 0.0], [0.0, 0.0]]] * 2  # the second feature never shows
    target: Any = [[0.4, 0.0]] * 2
    return fleet_of(unseen, target) if why == "unseen" else SEEN, "pao-fed-u1:shared=1" + (
        ",exchange=live" if why == "live" else ""
    )


@pytest.mark.parametrize("why", ["no room", "no memory", "unseen", "live"])
def test_where_nothing_can_be_solved_means_begin_at_zero(
    why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, text = refused(monkeypatch, why)
    begun, reach = models(fleet, text)
    mean.begin_at_end(begun, reach, ticks=1000)
    assert not begun.w.any()


def test_what_takes_longer_to_solve_for_than_to_follow_is_followed() -> None:
    """A solution takes as many periods of ticks as the vector has entries."""
    begun, reach = models(SEEN, "pao-fed-u1:shared=1")
    worth = begun.state(0).size * reach.period // mean._WORTH
    mean.begin_at_end(begun, reach, ticks=worth - 1)
    assert not begun.w.any()
    mean.begin_at_end(begun, reach, ticks=worth + 1)
    assert begun.w.all()


def test_the_end_of_a_learning_curve_is_where_it_goes() -> None:
    """Followed from zero for five times as long as it takes from where the means end."""
    stream = {"memory": (0.0, 0.0), "samples": (10, 20)}
    ahead = theory.foresee(small_scenario(clients=4, features=4, ticks=20, stream=stream))
    method = resolve("pao-fed-u1:shared=2,step_size=0.2")
    found = ahead.steady_state(method, ticks=20, check="none")
    assert found.ticks.tolist() == [319]
    followed = learning_curve(
        ahead.fleet, method, ahead.settings, np.array([319, 1599]), detail=_LONG
    )
    assert found.of_mean[0] == pytest.approx(followed.of_mean[1], rel=1e-3)
    assert abs(followed.of_mean[0] / followed.of_mean[1] - 1) > 0.01
    assert found.db[0] == pytest.approx(followed.db[1], abs=0.02)
