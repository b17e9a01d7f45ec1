"""Points that stand for what clients see: of the paper's stream, and of a trace."""

from dataclasses import replace

import numpy as np
import pytest

from paofed.errors import TraceError
from paofed.theory.moments import closed_form, estimated
from paofed.theory.sample_points import points_in, points_of
from paofed.world.realize import make_world
from tests.natures import small_scenario, small_trace


def test_points_of_the_stream_have_the_moments_of_its_laws() -> None:
    """In four worlds entries of R, up to 0.08, missed by 0.003, and of r, up to 0.25, by 0.012."""
    made = make_world(small_scenario(clients=6, features=20), 1, 0)
    known = closed_form(made.fourier_map, made.laws)
    points = points_of(made.fourier_map, made.laws)(np.arange(6), 1024)
    np.testing.assert_allclose(points.weights.sum(axis=1), 1.0)
    np.testing.assert_array_equal(points.noise, made.laws.noise**2)
    second = np.einsum("kp,kpi,kpj->kij", points.weights, points.z, points.z)
    with_target = np.einsum("kp,kpi,kp->ki", points.weights, points.z, points.y)
    np.testing.assert_allclose(second, known.R, rtol=0, atol=0.004)
    np.testing.assert_allclose(with_target, known.r, rtol=0, atol=0.015)


def test_points_of_some_clients_are_theirs_among_all() -> None:
    made = make_world(small_scenario(clients=6), 1, 0)
    source = points_of(made.fourier_map, made.laws)
    every, some = source(np.arange(6), 8), source(np.array([4, 1]), 9)
    for values, chosen in zip(every, some, strict=True):
        np.testing.assert_array_equal(chosen, values[[4, 1]])
    assert (np.abs(every.z[0] - every.z[1]).max(axis=1) > 1e-3).all()


def test_points_in_a_trace_are_samples_that_clients_saw() -> None:
    trace = small_trace(3, ticks=60)
    counts = trace.has_data.sum(axis=0)
    few = int(counts.argmin())
    points = points_in(trace)(np.arange(trace.clients), 1000)
    assert points.y.shape == (trace.clients, counts.min())
    assert not points.noise.any()
    known = estimated(trace)  # of the client with the fewest, all samples are taken
    second = np.einsum("p,pi,pj->ij", points.weights[few], points.z[few], points.z[few])
    np.testing.assert_allclose(second, known.R[few], rtol=0, atol=1e-12)
    for k in range(trace.clients):
        assert set(points.y[k]) <= set(trace.y[trace.has_data[:, k], k])
    fewer = points_in(trace)(np.array([few]), 7)
    seen = trace.y[trace.has_data[:, few], few]
    np.testing.assert_array_equal(fewer.y[0], seen[np.arange(7) * seen.size // 7])


def test_a_client_of_a_trace_without_samples_is_refused() -> None:
    trace = small_trace(3)
    silent = np.zeros(trace.clients, dtype=bool)
    silent[1] = True
    quiet = replace(trace, has_data=trace.has_data & ~silent, available=trace.available & ~silent)
    with pytest.raises(TraceError, match="client 1 of the trace has no samples"):
        points_in(quiet)(np.arange(trace.clients), 4)
