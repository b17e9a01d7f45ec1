"""Theorem I: where it holds, where it is tight, and a fleet for which it does not hold."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paofed.algorithms.base import Settled
from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray
from paofed.theory.bounds import step_sizes
from paofed.theory.fleet import FleetInTheory
from paofed.theory.mean import growth
from tests.effort import effort, some
from tests.theory.fleets import fleet_of

TWO_FEATURES = np.array([[[0.641, 0.48], [0.48, 0.361]], [[0.851, -0.357], [-0.357, 0.151]]])
ALIKE = np.array([[[0.6, 0.2], [0.2, 0.4]]] * 2)


def growth_of(text: str, fleet: FleetInTheory, mu: float, ticks: int = 1000) -> float:
    return float(growth(fleet, [resolve(text)], Settled(mu, 10), ticks)[0])


def by_hand(correlations: FloatArray, mu: float, *, coordinated: bool, ahead: int) -> float:
    """Growth per tick of two always available clients that share one of two features, no delay.

    The matrix of (w, w_1, w_2) over two ticks, after which the windows begin again.
    """
    identity, period = np.eye(2), np.eye(6)
    for n in range(2):
        server, *local = (np.hstack([identity * (i == j) for j in range(3)]) for i in range(3))
        change = np.zeros((2, 6))
        rows = []
        for k in range(2):
            down = (n + (0 if coordinated else k)) % 2
            merged = local[k].copy()
            merged[down] = server[down]
            rows.append((identity - mu * correlations[k]) @ merged)
            up = (down + ahead) % 2
            change[up] += (rows[k][up] - server[up]) / 2
        period = np.vstack([server + change, *rows]) @ period
    return float(np.abs(np.linalg.eigvals(period)).max() ** 0.5)


@pytest.mark.parametrize(
    ("text", "share", "expected"),
    some(
        [
            ("pao-fed-c0:shared=1", 0.5, 0.96),
            ("pao-fed-c0:shared=1", 0.8, 1.02),
            ("pao-fed-c0:shared=1", 0.98, 1.09),
            ("pao-fed-u0:shared=1", 0.5, 0.95),
            ("pao-fed-u0:shared=1", 0.8, 1.03),
            ("pao-fed-u0:shared=1", 0.98, 1.13),
            ("online-fedsgd", 0.5, 0.75),
            ("online-fedsgd", 0.8, 0.60),
            ("online-fedsgd", 0.98, 0.51),
        ],
        everyday=3,
    ),
)
def test_a_fleet_that_diverges_below_the_bound(text: str, share: float, expected: float) -> None:
    fleet = fleet_of(TWO_FEATURES)
    steps = step_sizes(fleet.moments)
    mu = share * steps.bound
    found = growth_of(text, fleet, mu, ticks=2000)
    assert round(found, 2) == expected
    if text.startswith("pao-fed"):
        checked = by_hand(TWO_FEATURES, mu, coordinated="-c" in text, ahead=0)
    else:
        mean = np.eye(2) - mu * TWO_FEATURES.mean(axis=0)
        checked = float(np.abs(np.linalg.eigvals(mean)).max())
    assert found == pytest.approx(checked, rel=2e-3)
    assert steps.guaranteed is None


def test_a_step_size_of_at_most_one_is_no_help_in_general() -> None:
    fleet = fleet_of(2 * TWO_FEATURES)
    assert step_sizes(fleet.moments).bound == pytest.approx(1.0, abs=2e-3)
    assert growth_of("pao-fed-c0:shared=1", fleet, 0.8) > 1.01


@pytest.mark.parametrize(
    "text", some(["pao-fed-u1:shared=1", "pao-fed-c1:shared=1", "online-fedsgd"], everyday=1)
)
def test_the_bound_is_tight_for_clients_alike_that_are_always_there(text: str) -> None:
    fleet = fleet_of(ALIKE)
    bound = step_sizes(fleet.moments).bound
    below, above = (growth_of(text, fleet, x * bound, ticks=3000) for x in (0.998, 1.002))
    assert below < 1 < above
    if text.startswith("pao-fed"):
        for x, found in ((0.998, below), (1.002, above)):
            checked = by_hand(ALIKE, x * bound, coordinated="-c" in text, ahead=1)
            assert found == pytest.approx(checked, abs=2e-4)
        at_bound = by_hand(ALIKE, bound, coordinated="-c" in text, ahead=1)
        assert at_bound == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("text", ["pao-fed-c0:shared=1", "pao-fed-u0:shared=1"])
def test_the_bound_is_loose_for_windows_that_are_sent_back(text: str) -> None:
    fleet = fleet_of(ALIKE)
    assert growth_of(text, fleet, 1.05 * step_sizes(fleet.moments).bound) < 1


@st.composite
def contacts(draw: st.DrawFn, clients: int) -> dict[str, Any]:
    """Any presence that is not too rare, and delays of which some are 0."""
    there = st.floats(0.3, 1.0)
    data = draw(st.lists(st.one_of(st.just(1.0), there), min_size=clients, max_size=clients))
    late = draw(st.lists(there, min_size=clients, max_size=clients))
    ages = (0, draw(st.integers(1, 3)), 5)
    tail = draw(st.floats(0.0, 1.0))
    return {
        "data": data,
        "available": [d * draw(there) for d in data],
        "ages": ages,
        "late": [[p, (1 - p) * tail, (1 - p) * (1 - tail)] for p in late],
    }


@st.composite
def positive_fleets(draw: st.DrawFn) -> FleetInTheory:
    clients, features = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    root = rng.normal(size=(clients, features, features))
    R = root @ np.swapaxes(root, 1, 2)  # noqa: N806 (the paper's symbol)
    R += 0.1 * np.linalg.norm(R, 2, axis=(1, 2))[:, None, None] * np.eye(features)  # noqa: N806
    return fleet_of(R, **draw(contacts(clients)))


@settings(max_examples=effort(everyday=8, thorough=50))
@given(
    positive_fleets(),
    st.floats(0.05, 0.97),
    st.sampled_from(["paper", "single", "live"]),
    st.sampled_from(["class", "coverage"]),
    st.sampled_from([0.0, 0.2, 1.0]),
)
def test_full_sharing_converges_below_the_bound(
    fleet: FleetInTheory, share: float, exchange: str, divisor: str, base: float
) -> None:
    text = f"online-fedsgd:exchange={exchange},divisor={divisor},staleness={base}"
    assert growth_of(text, fleet, share * step_sizes(fleet.moments).bound, ticks=200) < 1


@st.composite
def dominant_fleets(draw: st.DrawFn) -> FleetInTheory:
    """Every diagonal entry is above the sum of the others of its row."""
    clients, features = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    R = rng.uniform(-1, 1, size=(clients, features, features))  # noqa: N806 (the paper's symbol)
    R += np.swapaxes(R, 1, 2)  # noqa: N806
    for client in R:
        np.fill_diagonal(client, 0.0)
        np.fill_diagonal(client, np.abs(client).sum(axis=1) / rng.uniform(0.2, 0.8) + 0.1)
    return fleet_of(R, **draw(contacts(clients)))


@settings(max_examples=effort(everyday=6, thorough=30))
@given(
    dominant_fleets(),
    st.floats(0.3, 0.97),
    st.sampled_from(["c0", "u0", "c1", "u1", "c2", "u2"]),
    st.sampled_from(["paper", "single", "live"]),
    st.sampled_from(["class", "coverage"]),
    st.integers(1, 2),
)
def test_a_guaranteed_step_size_converges_whatever_is_shared(
    fleet: FleetInTheory, share: float, version: str, exchange: str, divisor: str, shared: int
) -> None:
    guaranteed = step_sizes(fleet.moments).guaranteed
    assert guaranteed is not None
    if version[1] == "0" and shared < fleet.z_test.shape[1]:
        exchange = "paper"  # they cannot do another
    text = f"pao-fed-{version}:shared={shared},exchange={exchange},divisor={divisor}"
    assert growth_of(text, fleet, share * guaranteed, ticks=400) < 1


@settings(max_examples=effort(everyday=4, thorough=10))
@given(dominant_fleets(), st.sampled_from(["online-fed", "pso-fed"]), st.floats(0.3, 0.9))
def test_a_guaranteed_step_size_converges_whoever_is_picked(
    fleet: FleetInTheory, name: str, subset: float
) -> None:
    guaranteed = step_sizes(fleet.moments).guaranteed
    assert guaranteed is not None
    own = ",shared=1" if name == "pso-fed" else ""
    assert growth_of(f"{name}:subset={subset}{own}", fleet, 0.9 * guaranteed, ticks=400) < 1
