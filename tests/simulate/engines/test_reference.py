"""The reference engine against the literal paper, tick by tick."""

from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paofed.algorithms import algorithm
from paofed.algorithms.base import Exchange
from paofed.core.arrays import FloatArray
from paofed.errors import AlgorithmError, InputError, TraceError
from paofed.simulate.engines.reference import replay, ticks
from paofed.world.trace import Trace
from tests.cases import NAMES, Case, cases
from tests.effort import effort, some
from tests.natures import small_trace
from tests.oracle import extended, literal


def nature(trace: Trace) -> literal.Nature:
    return {name: getattr(trace, name) for name in asdict(trace)}


def between(*models: FloatArray) -> bool:
    """Whether a number is so near the middle of two of float32 that the last bits decide.

    The mean of two numbers of float32 often is, and two programs sum in different orders.
    """
    w = np.concatenate([model.ravel() for model in models])
    step = np.spacing(np.abs(w).astype(np.float32)).astype(np.float64)
    apart = np.abs(np.abs(w - w.astype(np.float32)) - step / 2)
    return bool(((apart < 1e-15) & (step > 1e-12)).any())  # smaller steps are within what we allow


def assert_same_history(trace: Trace, case: Case, *, wire32: bool = False) -> None:
    """Compare every model of every tick; a difference is located at the first tick that has it."""
    expected = literal.run(nature(trace), case.oracle, wire32=wire32)
    wire = np.float32 if wire32 else np.float64
    up = down = 0
    for state, info in ticks(trace, case.product, wire=wire):
        n = info.tick
        if wire32 and between(expected.server[n], expected.clients[n + 1]):
            return  # from here on each of the two may have rounded otherwise
        np.testing.assert_allclose(
            state.server, expected.server[n + 1], rtol=0, atol=1e-12, err_msg=f"server, tick {n}"
        )
        np.testing.assert_allclose(
            state.local, expected.clients[n + 1], rtol=0, atol=1e-12, err_msg=f"clients, tick {n}"
        )
        up += info.traffic.coordinates_up
        down += info.traffic.coordinates_down
    assert (up, down) == (expected.sent_up, expected.sent_down)
    outcome = replay(trace, case.product, wire=wire)
    np.testing.assert_allclose(outcome.mse, expected.mse, rtol=1e-12, atol=1e-12)
    assert (outcome.sent_up, outcome.sent_down) == (up, down)
    assert outcome.sent[-1] == up + down
    assert (np.diff(outcome.sent) >= 0).all()
    np.testing.assert_array_equal(outcome.server_model, state.server)


@settings(max_examples=effort(everyday=20, thorough=80))
@given(case=cases(7, ("paper", "single", "live")), seed=st.integers(0, 10_000))
def test_equals_the_literal_paper(case: Case, seed: int) -> None:
    assert_same_history(small_trace(seed, features=7), case)


@settings(max_examples=effort(everyday=10, thorough=60))
@given(case=cases(7, ("paper", "single", "live")), seed=st.integers(0, 10_000))
def test_equals_the_literal_paper_over_a_float32_wire(case: Case, seed: int) -> None:
    assert_same_history(small_trace(seed, features=7), case, wire32=True)


@settings(max_examples=effort(everyday=15, thorough=80))
@given(
    case=cases(7, ("paper", "single", "live")),
    seed=st.integers(0, 10_000),
    lost=st.sampled_from([0.1, 0.5, 1.0]),
)
def test_equals_the_literal_paper_where_messages_are_lost(
    case: Case, seed: int, lost: float
) -> None:
    assert_same_history(small_trace(seed, features=7, lost=lost), case)


@pytest.mark.parametrize(
    ("name", "exchange", "subset"),
    some(product(NAMES, ["paper", "single", "live"], [0.4, 2]), everyday=11),
)
def test_every_row_in_every_exchange(name: str, exchange: Exchange, subset: float) -> None:
    if exchange != "paper" and name in ("pao-fed-c0", "pao-fed-u0"):
        with pytest.raises(AlgorithmError, match="cannot do exchange"):
            replay(small_trace(1), algorithm(name, exchange=exchange))
        return
    case = Case(name, 3, subset, None, None, "class", exchange, 0.4, 4)
    assert_same_history(small_trace(1), case)


@settings(max_examples=effort(everyday=15, thorough=80))
@given(case=cases(6, ("paper",)), seed=st.integers(0, 10_000))
def test_equals_the_extended_matrices(case: Case, seed: int) -> None:
    """Eq. (12), corrected as docs/notation.md says, reproduces the engine's step."""
    trace = small_trace(seed, ticks=12, clients=3, features=6)
    expected = extended.run(nature(trace), case.oracle)
    for state, info in ticks(trace, case.product):
        np.testing.assert_allclose(state.server, expected[info.tick + 1], rtol=0, atol=1e-12)


@settings(max_examples=effort(everyday=15, thorough=40))
@given(case=cases(6, ("paper",)), seed=st.integers(0, 10_000))
def test_rows_of_the_extended_matrices_sum_to_one(case: Case, seed: int) -> None:
    """What the proof of Theorem I needs, and what "newest only" provides."""
    arrays = nature(small_trace(seed, ticks=8, clients=3, features=6))
    for tick in range(8):
        for matrix in (
            extended.a_matrix(arrays, case.oracle, tick),
            extended.b_matrix(arrays, case.oracle, tick),
        ):
            np.testing.assert_allclose(matrix.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_the_small_natures_hold_what_is_easy_to_get_wrong() -> None:
    """The properties above only mean something if these situations occur in their traces."""
    overtaking = several = late = unborn = empty = 0
    for seed in range(20):
        trace = small_trace(seed)
        arrival = np.arange(trace.ticks)[:, None] + trace.delay
        for k in range(trace.clients):
            sent = np.flatnonzero(trace.available[:, k])
            due = arrival[sent, k]
            overtaking += int((np.diff(due) < 0).any())
            several += int((due[:-1] > sent[1:]).any())
        late += int((trace.delay[trace.available] > 4).any())
        unborn += int((arrival[trace.available] >= trace.ticks).any())
        empty += int((~trace.available.any(axis=1)).any())
    assert min(overtaking, several, late, unborn, empty) >= 10


def test_by_hand() -> None:
    """Two clients, two features, one message each way, worked out on paper."""
    # cos(0) = 1 and sqrt(2/2) = 1: z = (1, 1) for every input.
    trace = Trace(
        x=np.zeros((2, 2, 1)),
        y=np.array([[1.0, 0.0], [0.0, 3.0]]),
        has_data=np.array([[True, False], [False, True]]),
        available=np.array([[True, False], [False, True]]),
        delay=np.array([[1, 0], [0, 0]]),
        lottery=np.zeros((2, 2)),
        frequencies=np.zeros((1, 2)),
        phases=np.zeros(2),
        x_test=np.zeros((1, 1)),
        y_test=np.ones(1),
    )
    # Tick 0: client 0 steps to (.5, .5) and sends coordinate 1, due at tick 1.
    # Tick 1: client 1 steps to (1.5, 1.5) and sends coordinate 0 (window 1 + 1), age 0. The server
    # moves coordinate 0 to 1.5 and coordinate 1 to .25 * .5, since age 1 weighs .25.
    method = algorithm("pao-fed-c1", shared=1, step_size=0.5, staleness=0.25)
    outcome = replay(trace, method)
    np.testing.assert_allclose(outcome.server_model, [1.5, 0.125])
    np.testing.assert_allclose(outcome.mse, [1.0, (1 - 1.625) ** 2])
    assert (outcome.sent_up, outcome.sent_down) == (2, 2)


@pytest.mark.parametrize("step_size", [0.0, -1.0, np.nan, np.inf])
def test_refuses_a_bad_default_step_size(step_size: float) -> None:
    with pytest.raises(AlgorithmError, match="step size"):
        replay(small_trace(0), "pao-fed-u1", step_size=step_size)


def test_an_exploding_model_is_a_fact_not_a_crash() -> None:
    outcome = replay(small_trace(0, ticks=400), "online-fedsgd", step_size=1e3)
    assert outcome.diverged_at is not None
    assert np.isfinite(outcome.mse[: outcome.diverged_at]).all()


@pytest.mark.parametrize("wire", [np.int8, "int32", np.complex64, bool, "nothing"])
def test_a_wire_that_would_cut_numbers_off_is_refused(wire: Any) -> None:
    with pytest.raises(InputError, match="expected a type of real numbers, such as"):
        replay(small_trace(3), "pao-fed-u1", wire=wire)


def test_what_is_no_trace_is_refused() -> None:
    with pytest.raises(TraceError, match=r"'t\.npz' is no trace: make one with realize"):
        replay("t.npz", "pao-fed-u1")  # type: ignore[arg-type]
