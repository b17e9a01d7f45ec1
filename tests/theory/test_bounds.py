import numpy as np
import pytest

from paofed.theory.bounds import NEVER_EXPANDS, StepSizes, step_sizes
from paofed.theory.fleet import FleetInTheory
from paofed.world.scenario import Scenario
from tests.natures import small_scenario
from tests.theory.fleets import fleet_of


def test_limits_of_a_fleet_by_hand() -> None:
    """Largest eigenvalues 0.5, 0.8 and 0.6; traces 1, 1.1, 0.8; row sums at most 0.8."""
    moments = fleet_of(
        [np.diag([0.5, 0.5]), np.diag([0.3, 0.8]), np.array([[0.4, 0.2], [0.2, 0.4]])]
    ).moments
    steps = step_sizes(moments)
    np.testing.assert_allclose(steps.by_client, [4.0, 2.5, 2 / 0.6], rtol=1e-14)
    assert steps.bound == pytest.approx(2.5)
    assert steps.client == 1
    assert steps.typical == pytest.approx(2 / 1.1)
    assert steps.guaranteed == pytest.approx(2.5)


@pytest.mark.parametrize("beside", [0.4, -0.4, 0.5])
def test_one_row_that_is_not_dominant_voids_the_guarantee(beside: float) -> None:
    correlation = np.array([[0.4, beside], [beside, 0.9]])
    assert step_sizes(fleet_of([np.eye(2), correlation]).moments).guaranteed is None


@pytest.mark.parametrize(
    ("mu", "warning"),
    [
        (1.0, None),
        (1.5, "step size 1.5 lets single steps expand where |z|^2 is above 1.33: stay at or below"),
        (2.0, "step size 2 is below the bound 4.00 of Theorem I, but above 2.00 steps expand on"),
        (4.0, "step size 4 is not below the bound 4.00 of Theorem I: the mean of client 7's model"),
    ],
)
def test_what_is_wrong_with_a_step_size(mu: float, warning: str | None) -> None:
    by_client = np.array([*([5.0] * 7), 4.0])
    said = StepSizes(by_client, typical=2.0, guaranteed=None).warning(mu)
    assert said is None if warning is None else (said or "").startswith(warning)


@pytest.mark.parametrize("name", ["setting-1", "setting-2"])
def test_the_paper_s_fleets(name: str) -> None:
    """|z|^2 is close to 1, and one direction has half of it; smooth features are not dominant."""
    scenario = Scenario.load(name).model_copy(update={"clients": 32})
    steps = step_sizes(FleetInTheory.of(scenario).moments)
    assert 2.5 < steps.bound < 6
    assert 1.8 < steps.typical < 2.0
    assert steps.guaranteed is None
    assert steps.warning(scenario.step_size) is None


def test_no_single_step_up_to_one_expands() -> None:
    """|z|^2 <= 2, so |1 - mu |z|^2| <= 1: for any map and any input."""
    trace_map = FleetInTheory.of(small_scenario()).z_test
    squares = (trace_map**2).sum(axis=1)
    assert squares.max() <= 2.0
    assert (np.abs(1 - NEVER_EXPANDS * squares) <= 1).all()
