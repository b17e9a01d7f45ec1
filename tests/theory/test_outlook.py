import numpy as np
import pytest

from paofed.algorithms.base import Settled
from paofed.algorithms.setup import resolve
from paofed.errors import AlgorithmError, InputError
from paofed.theory.bounds import step_sizes
from paofed.theory.fleet import FleetInTheory
from paofed.theory.foresight import Foresight
from paofed.theory.mean import growth, predict
from paofed.theory.own_runs import OwnRuns
from paofed.theory.reach import expected
from tests.natures import small_scenario
from tests.theory.fleets import fleet_of

SETTINGS = Settled(step_size=0.4, max_age=10)


def foresight(fleet: FleetInTheory, ticks: int) -> Foresight:
    """A fleet looked at for some ticks; nothing here makes runs."""
    return Foresight(fleet, SETTINGS, ticks, OwnRuns(small_scenario()))


def test_an_outlook_is_all_the_calculators_say() -> None:
    fleet, points = FleetInTheory.of(small_scenario()), np.array([49, 99, 149])
    methods = [resolve("pao-fed-u1"), resolve("online-fedsgd:step_size=0.2")]
    heard: list[float] = []
    found = foresight(fleet, 150).outlook(methods, every=50, report=heard.append)
    assert found.mu == [0.4, 0.2]
    assert found.costs == [expected(fleet.contacts, method, 24) for method in methods]
    np.testing.assert_allclose(
        found.steps.by_client, step_sizes(fleet.moments).by_client, rtol=1e-14
    )
    np.testing.assert_array_equal(found.growth, growth(fleet, methods, SETTINGS, 150))
    predicted = predict(fleet, methods, SETTINGS, points)
    np.testing.assert_array_equal(found.prediction.models, predicted.models)
    np.testing.assert_array_equal(found.prediction.mse, predicted.mse)
    assert found.warnings() == []
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)
    clients = 12
    assert heard[clients - 1] == pytest.approx(0.2)  # the matrices are taken apart
    assert heard[clients + 2] == pytest.approx(0.6)  # the recursion is done, its growth is to come


def test_growth_is_followed_for_a_thousand_ticks_at_most() -> None:
    heard: list[float] = []
    fleet = fleet_of([np.diag([1.0, 0.25])])
    ahead = foresight(fleet, 3000)
    found = ahead.outlook("online-fedsgd", every=3000, report=heard.append)
    assert len(heard) == 1 + 1 + 1000 // 20  # a matrix, a point, stretches of the growth
    assert heard[:2] == pytest.approx([0.2, 0.8])
    assert heard[-1] == pytest.approx(1.0)
    assert found.growth[0] == pytest.approx(0.9, rel=1e-3)


def test_warnings_name_the_algorithm_and_what_is_wrong() -> None:
    """Steps expand on average from 2 on, and the mean diverges from 4 on."""
    fleet = fleet_of([np.diag([0.5, 0.5])])
    methods = [resolve(f"online-fedsgd:step_size={mu}") for mu in (0.4, 1.5, 3.0, 5.0)]
    fine, expands, blows, diverges = (method.name for method in methods)
    warnings = foresight(fleet, 100).outlook(methods, every=100).warnings()
    assert [text.partition(": ")[0] for text in warnings] == [expands, blows, diverges, diverges]
    assert "single steps expand" in warnings[0]
    assert "below the bound 4.00" in warnings[1]
    assert warnings[2] == f"{diverges}: the mean diverges, by a factor of 1.5000 per tick"
    assert "not below the bound 4.00" in warnings[3]
    assert not any(text.startswith(f"{fine}:") for text in warnings)


def test_what_cannot_be_predicted_is_refused_before_the_work() -> None:
    heard: list[float] = []
    fleet = fleet_of([np.eye(2)])
    methods = [resolve("pao-fed-u1:shared=1"), resolve("online-fed:subset=2")]
    with pytest.raises(AlgorithmError, match="a fixed number of clients"):
        foresight(fleet, 10).outlook(methods, report=heard.append)
    with pytest.raises(InputError, match="the target of the trace changes"):
        foresight(fleet._replace(drifts=1), 10).outlook(methods[:1], report=heard.append)
    assert heard == []
