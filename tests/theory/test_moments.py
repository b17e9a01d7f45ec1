"""R_k and r_k against draws, against plain quadrature, and estimated from a trace."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap
from paofed.errors import InputError, TraceError
from paofed.theory.fleet import FleetInTheory
from paofed.theory.moments import closed_form, estimated
from paofed.world.realize import World, make_world, realize
from paofed.world.scenario import Scenario
from paofed.world.streams import ClientLaws, target
from tests.effort import some
from tests.natures import small_scenario

WIDTHS = (0.5, 1.0, 3.0)


def laws_of(mean: list[float], spread: list[float]) -> ClientLaws:
    """Without memory the stationary mean is the centre itself."""
    nothing = np.zeros(len(mean))
    return ClientLaws(nothing, np.array(mean), np.array(spread), nothing)


def world_of(width: float, **changes: float) -> World:
    scenario = small_scenario(clients=60, kernel_width=width, stream={"centre": (-0.5, 0.5)})
    return make_world(scenario.model_copy(update=changes), 1, 0)


@pytest.mark.parametrize("width", some(WIDTHS, everyday=1))
def test_closed_forms_agree_with_draws(width: float) -> None:
    """3 x 600 comparisons at 6 standard errors: false-alarm rate below 4e-6."""
    made = world_of(width)
    moments = closed_form(made.fourier_map, made.laws)
    mean, spread = made.laws.stationary_mean, made.laws.spread
    assert np.abs(mean).max() > 0.5
    rng = np.random.default_rng(2)
    for k in (spread.argmin(), spread.argmax(), np.abs(mean).argmax()):
        x = mean[k] + spread[k] * rng.standard_normal((100_000, 4))
        z, y = made.fourier_map(x), target(x)
        with_target = z * y[:, None]
        error = with_target.std(axis=0) / np.sqrt(len(x))
        assert (np.abs(with_target.mean(axis=0) - moments.r[k]) < 6 * error).all()
        products = z.T @ z / len(x)
        error = np.sqrt(((z**2).T @ z**2 / len(x) - products**2) / len(x))
        assert (np.abs(products - moments.R[k]) < 6 * error).all()
    assert moments[2:] == (0.0, 0.0)


@pytest.mark.parametrize("width", some(WIDTHS, everyday=2))
@pytest.mark.parametrize(
    ("mean", "spread"), some([(0.3, 0.1), (0.4, 0.45), (-0.9, 0.8), (0.0, 1.1)], everyday=2)
)
def test_r_agrees_with_quadrature_on_a_plain_grid(width: float, mean: float, spread: float) -> None:
    """The target is a function of (x1, x4) plus one of (x2, x3), so two grids in a plane do."""
    rng = np.random.default_rng(3)
    fourier_map = FourierMap(rng.normal(size=(4, 10)) / width, rng.uniform(0, 2 * np.pi, 10))
    x = mean + spread * np.linspace(-8, 8, 501)
    weight = np.exp(-(((x - mean) / spread) ** 2) / 2)
    weight /= weight.sum()
    a1, a2, a3, a4 = (np.exp(1j * np.outer(a, x)) * weight for a in fourier_map.frequencies)
    first, second = np.zeros((x.size, x.size, 4)), np.zeros((x.size, x.size, 4))
    first[..., 0], first[..., 3] = np.meshgrid(x, x, indexing="ij")
    second[..., 1], second[..., 2] = np.meshgrid(x, x, indexing="ij")
    both = ((a1 @ target(first)) * a4).sum(axis=1) * a2.sum(axis=1) * a3.sum(axis=1)
    both += ((a2 @ target(second)) * a3).sum(axis=1) * a1.sum(axis=1) * a4.sum(axis=1)
    expected = np.sqrt(2 / 10) * (np.exp(1j * fourier_map.phases) * both).real
    found = closed_form(fourier_map, laws_of([mean], [spread])).r[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-6)  # the grid's error


@pytest.mark.parametrize("width", some(WIDTHS, everyday=1))
def test_correlations_are_symmetric_and_positive_with_a_trace_near_one(width: float) -> None:
    """|z|^2 is 1 plus D cosines over D, which random phases make small: 0.3 is 6 deviations."""
    made = world_of(width, clients=12, features=200)
    found = closed_form(made.fourier_map, made.laws).R
    np.testing.assert_allclose(found, np.swapaxes(found, 1, 2), rtol=0, atol=1e-15)
    assert np.linalg.eigvalsh(found).min() > -1e-12
    np.testing.assert_allclose(np.trace(found, axis1=1, axis2=2), 1.0, atol=0.3)


def test_a_client_s_moments_do_not_depend_on_who_else_is_there() -> None:
    fourier_map = world_of(1.0).fourier_map
    alone = closed_form(fourier_map, laws_of([0.4], [0.3]))
    beside = closed_form(fourier_map, laws_of([0.4, -0.9], [0.3, 1.2]))
    np.testing.assert_allclose(beside.R[0], alone.R[0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(beside.r[0], alone.r[0], rtol=0, atol=1e-13)
    # Not even those of a client whose inputs hardly vary.
    alone = closed_form(fourier_map, laws_of([0.4], [0.005]))
    beside = closed_form(fourier_map, laws_of([0.4, 0.0], [0.005, 1.2]))
    np.testing.assert_allclose(beside.r[0], alone.r[0], rtol=0, atol=1e-6)


def test_inputs_that_never_vary() -> None:
    fourier_map = world_of(1.0).fourier_map
    moments = closed_form(fourier_map, laws_of([0.4], [0.0]))
    z, y = fourier_map(np.full(4, 0.4)), target(np.full(4, 0.4))
    np.testing.assert_allclose(moments.R[0], np.outer(z, z), rtol=0, atol=1e-12)
    np.testing.assert_allclose(moments.r[0], y * z, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("width", "mean"),
    some([(1.0, 0.0), (1.0, 0.4), (0.5, 0.4), (0.1, 0.0), (0.1, 0.4)], everyday=2),
)
def test_there_is_no_edge_between_inputs_that_vary_and_those_that_hardly_do(
    width: float, mean: float
) -> None:
    """Two ways to integrate meet at a spread of 0.1."""
    fourier_map = world_of(width).fourier_map
    below, above = (closed_form(fourier_map, laws_of([mean], [s])).r for s in (0.09999, 0.10001))
    np.testing.assert_allclose(below, above, rtol=0, atol=1e-3 * np.sqrt(2 / 24))


def without_memory(ticks: int) -> Scenario:
    """A sample at every tick, independent of the one before."""
    return small_scenario(ticks=ticks, stream={"samples": (ticks,), "memory": (0.0, 0.0)})


def rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def test_estimates_from_a_trace_are_as_good_as_they_say() -> None:
    """Over 40 seeds the ratios had means of 0.99 to 1.00 and deviations of at most 0.05: a bound
    at five of them is a false alarm in fewer than one of 100,000 seeds.
    """
    for ticks in (1000, 4000):
        scenario = without_memory(ticks)
        exact = FleetInTheory.of(scenario, seed=5).moments
        found = estimated(realize(scenario, seed=5))
        assert rms(found.R - exact.R) / found.R_error == pytest.approx(1.0, abs=0.25)
        assert rms(found.r - exact.r) / found.r_error == pytest.approx(1.0, abs=0.25)


def test_an_estimate_is_the_plain_mean_over_the_samples_of_a_client() -> None:
    trace = realize(small_scenario(ticks=150), seed=8)  # sample counts that ten does not divide
    found = estimated(trace)
    for k in range(trace.clients):
        seen = trace.has_data[:, k]
        z, y = trace.fourier_map(trace.x[seen, k]), trace.y[seen, k]
        np.testing.assert_allclose(found.R[k], z.T @ z / seen.sum(), rtol=0, atol=1e-14)
        np.testing.assert_allclose(found.r[k], y @ z / seen.sum(), rtol=0, atol=1e-14)


def test_the_stated_error_is_that_of_the_mean_of_ten_batches() -> None:
    """Which spread it is, of ten or of nine, is 5 %: less than chance leaves open elsewhere."""
    trace = realize(small_scenario(ticks=150), seed=8)
    found = estimated(trace)
    squares: dict[str, list[FloatArray]] = {"R": [], "r": []}
    for k in range(trace.clients):
        z, y = trace.fourier_map(trace.x[:, k]), trace.y[:, k]
        batches = np.array_split(np.flatnonzero(trace.has_data[:, k]), 10)
        of_inputs = [z[batch].T @ z[batch] / batch.size for batch in batches]
        with_target = [y[batch] @ z[batch] / batch.size for batch in batches]
        for name, means in (("R", np.array(of_inputs)), ("r", np.array(with_target))):
            spread = ((means - means.mean(axis=0)) ** 2).sum(axis=0) / (10 - 1)
            squares[name].append(spread / 10)
    assert found.R_error == pytest.approx(math.sqrt(np.mean(squares["R"])), rel=1e-12)
    assert found.r_error == pytest.approx(math.sqrt(np.mean(squares["r"])), rel=1e-12)


def test_a_client_with_too_few_samples_is_refused_by_number() -> None:
    trace = realize(small_scenario(ticks=150), seed=8)
    has_data = trace.has_data.copy()
    has_data[np.flatnonzero(has_data[:, 3])[10:], 3] = False
    enough = replace(trace, has_data=has_data, available=trace.available & has_data)
    assert estimated(enough).R.shape == (12, 24, 24)
    has_data[np.flatnonzero(has_data[:, 3])[9:], 3] = False
    short = replace(trace, has_data=has_data, available=trace.available & has_data)
    with pytest.raises(TraceError, match=r"^client 3 has 9 samples: .* at least 10$"):
        estimated(short)


@pytest.mark.parametrize(
    ("turns", "spread"),
    some(
        [((300.0, 0.2), 1.1), ((0.2, 900.0), 0.45), ((0.2, 280.0), 0.05), ((280.0, 0.2), 0.05)],
        everyday=2,
    ),
)
def test_fast_waves_of_a_narrow_kernel_cancel(turns: tuple[float, float], spread: float) -> None:
    """Over so many turns the mean of wave times target is all but 0: its kinks leave 1 / a^3."""
    (a1, a4), still = turns, 0.1
    fourier_map = FourierMap(np.array([[a1], [still], [still], [a4]]), np.zeros(1))
    (r,) = closed_form(fourier_map, laws_of([0.5], [spread])).r
    assert abs(r[0]) < 1e-5


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel_width": 1e-6},
        {"stream": {"centre": (1e5, 1e6)}},
        {"stream": {"memory": (1 - 1e-15, 1 - 1e-15)}},
        {"stream": {"variance": (0.02, 1e12)}},
    ],
    ids=str,
)
def test_integrals_that_would_never_end_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"too much for the integrals of theory .* kernel_width"):
        FleetInTheory.of(small_scenario(**changes))


def test_memory_for_the_integrals_is_asked_for_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def none(needed: float, what: str, advice: str) -> None:
        asked.append(needed)
        raise InputError(f"{what}: {advice}")

    monkeypatch.setattr("paofed.theory.moments.require_memory", none)
    with pytest.raises(InputError, match=r"theory with inputs up to .* spreads from .* and waves"):
        FleetInTheory.of(small_scenario(stream={"centre": (1e3, 1e3)}))
    assert asked[0] > 1e9
