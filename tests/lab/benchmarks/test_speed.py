"""The benchmark measures what it says; how fast that is, is not a test's business."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from lab.benchmarks import speed, vectorised
from paofed.algorithms import algorithm
from paofed.errors import AlgorithmError, TraceError
from paofed.simulate.engines import reference
from tests.natures import small_trace
from tests.system import needs


@pytest.mark.parametrize("name", [t for t in speed.LINEUP if "shared" not in t])
def test_the_vectorised_baseline_computes_the_same(name: str) -> None:
    trace = small_trace(3, features=9, ticks=60)
    expected = reference.replay(trace, name, max_age=4)
    model, curve = vectorised.replay(trace, algorithm(name), 0.4, 4, every=10)
    np.testing.assert_allclose(model, expected.server_model, atol=1e-5)
    np.testing.assert_allclose(curve, expected.mse[9::10], rtol=1e-4)


def test_the_vectorised_baseline_meets_a_changing_target() -> None:
    trace = small_trace(3, features=9, ticks=60)
    trace = replace(trace, drifts=np.array([30]), y_test_drifted=trace.y_test[None] + 1)
    expected = reference.replay(trace, "pao-fed-u1", max_age=4).mse
    _, curve = vectorised.replay(trace, algorithm("pao-fed-u1"), 0.4, 4)
    np.testing.assert_allclose(curve, expected, rtol=1e-4)


def test_the_vectorised_baseline_refuses_what_it_does_not_know() -> None:
    with pytest.raises(AlgorithmError, match="baseline"):
        vectorised.replay(small_trace(0), algorithm("pao-fed-u1", exchange="live"), 0.4, 4)
    with pytest.raises(TraceError, match="messages are lost in this trace"):
        vectorised.replay(small_trace(0, lost=0.5), algorithm("pao-fed-u1"), 0.4, 4)


def test_the_inner_loop_compiles_and_runs() -> None:
    needs("gcc")
    with speed._inner_loop(lambda _: None) as program:
        assert program is not None
        assert 0 < speed._c(program) < 1e5


def test_no_compiler_is_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    said: list[str] = []
    with speed._inner_loop(said.append) as program:
        assert program is None
    assert said == ["no C compiler found: the inner loop in C is left out"]


def test_a_size_is_measured() -> None:
    nanoseconds, megabytes = speed._measure(16, 5, 1)
    assert nanoseconds > 0
    assert megabytes > 10
