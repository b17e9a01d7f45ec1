"""What a device does, and a server that goes on moving: against published equations, by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.algorithms import algorithm
from paofed.algorithms.rivals.client_steps import newest_steps
from paofed.algorithms.rivals.devices.decaying import learn as learn_less
from paofed.algorithms.rivals.devices.fed_prox import Pulled, fed_prox
from paofed.algorithms.rivals.devices.fed_prox import learn as learn_pulled
from paofed.algorithms.rivals.devices.server_momentum import apply, begin, server_momentum
from paofed.core.parts import Message, Weights
from paofed.core.rules import aggregate
from paofed.core.staleness import Geometric
from paofed.simulate.engines.reference import replay
from tests.algorithms.rivals.cases import FEATURES, arrivals, models, seeds, server_stamp
from tests.natures import small_trace

# The mean of the newest


@given(seeds)
def test_the_newest_move_the_model_as_in_equation_9(seed: int) -> None:
    w, messages = models(seed, 1)[0], arrivals(seed, tick=9)
    silent = Message(0, 8, np.zeros(0, dtype=np.int64), np.zeros(0))  # says nothing, does not count
    steps, held = newest_steps(w, [*messages, silent], 9)
    np.testing.assert_allclose(w + steps, aggregate(w, messages, 9, Geometric(1.0)), rtol=1e-12)
    assert set(np.flatnonzero(held)) == {c for m in messages for c in m.coordinates}


# fed-prox


@given(seeds, st.floats(0, 5), st.floats(0.01, 1))
def test_fed_prox_descends_its_objective(seed: int, pull: float, mu: float) -> None:
    """h(w) = (y - w.z)^2 / 2 + pull / 2 |w - heard|^2: the step is -mu times its slope.

    Central differences are exact on a parabola, but for rounding.
    """
    w, heard, z = models(seed, 3)
    y = float(z.sum())

    def h(at: np.ndarray) -> float:
        return 0.5 * float(y - at @ z) ** 2 + 0.5 * pull * float((at - heard) @ (at - heard))

    slope = [(h(w + e) - h(w - e)) / 2 for e in np.eye(FEATURES)]
    state = learn_pulled(pull, Pulled(w, heard), z, y, mu, 0)
    np.testing.assert_allclose(state.w, w - mu * np.array(slope), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(state.heard, heard)


def test_whole_models_are_pulled_in_one_exchange() -> None:
    """In the paper's exchange nothing is left to pull on, and FedProx is Online-FedSGD."""
    trace = small_trace(3)
    whole = fed_prox(pull=5.0)
    assert (whole.exchange, whole.learns_while_away) == ("single", True)
    sgd = algorithm("online-fedsgd")
    same = replay(trace, replace(whole, exchange="paper"))
    np.testing.assert_allclose(same.mse, replay(trace, sgd).mse)
    unpulled = replay(trace, replace(sgd, exchange="single", learns_while_away=True))
    assert not np.allclose(replay(trace, whole).mse, unpulled.mse)


def test_windows_are_pulled_in_the_paper_s_exchange() -> None:
    u1 = algorithm("pao-fed-u1", shared=3)
    pulled = fed_prox(shared=3)
    assert replace(pulled, name=u1.name, learner=u1.learner) == u1


# decaying


@given(seeds, st.integers(0, 9999), st.floats(1, 1e4))
def test_a_step_decays_as_published(seed: int, tick: int, half: float) -> None:
    w, z, _ = models(seed, 3)
    found = learn_less(half, Weights(w), z, 1.0, 0.4, tick)
    eta = 0.4 / (1 + tick / half)
    np.testing.assert_allclose(found.w, w + eta * (1.0 - np.sum(w * z)) * z, rtol=1e-9, atol=1e-9)


# server-momentum


@given(seeds, st.floats(0, 0.95), st.floats(0.1, 2))
def test_the_server_moves_as_fed_avg_m(seed: int, beta: float, rate: float) -> None:
    """Hsu et al.: v <- beta v + delta, w <- w - rate v, delta = w - the mean of all models."""
    state = begin(FEATURES, 4)
    w, v = np.zeros(FEATURES), np.zeros(FEATURES)
    for tick in range(5):
        clients = models(seed + tick, 4)
        v = beta * v + (w - clients.mean(axis=0))
        w = w - rate * v
        messages = [Message(k, tick, np.arange(FEATURES), m) for k, m in enumerate(clients)]
        state = apply(beta, rate, state, messages, server_stamp(tick))
        np.testing.assert_allclose(state.w, w, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("shared", "row"), [(None, "online-fedsgd"), (3, "pao-fed-u1:shared=3")])
def test_without_momentum_it_is_the_paper_s_server(shared: int | None, row: str) -> None:
    trace = small_trace(5)
    still = server_momentum(shared=shared, momentum=0.0)
    plain = algorithm(row.partition(":")[0], shared=shared)
    np.testing.assert_allclose(replay(trace, still).mse, replay(trace, plain).mse, rtol=1e-9)
