"""Methods of one's own, compiled, against the reference; and the paper's rows in both forms."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from paofed.algorithms import Algorithm, algorithm
from paofed.algorithms.base import Exchange
from paofed.core.parts import Learner, Weights
from paofed.core.rules import LMS
from paofed.errors import InputError
from paofed.simulate.engines import engine_of, reference
from paofed.simulate.engines.fast.own import samples
from paofed.simulate.montecarlo import run
from paofed.simulate.results.table_result import TableResult
from paofed.world.trace import Trace
from tests.cases import Case, cases
from tests.effort import effort, long, some
from tests.natures import BEGINNINGS, small_scenario, small_trace
from tests.simulate.engines.compared import equal, in_general_form
from tests.simulate.engines.own.rules import OWN

FAST = engine_of("fast")


@settings(max_examples=effort(everyday=10, thorough=60))
@given(
    case=cases(7, ("paper", "single", "live")),
    seed=st.integers(0, 10_000),
    lost=st.sampled_from([0.0, 0.4]),
    beginning=st.sampled_from(BEGINNINGS),
)
def test_both_forms_of_the_paper_s_rows_agree(
    case: Case, seed: int, lost: float, beginning: dict[str, bool]
) -> None:
    assume(case.shared != 7 or not beginning["linear"])  # 7 is the whole model without them alone
    trace = small_trace(seed, ticks=90, features=7, available=0.3, lost=lost, **beginning)
    equal(in_general_form(trace, case.product), FAST.replay(trace, case.product))


@settings(max_examples=effort(everyday=6, thorough=40))
@given(
    seed=st.integers(0, 10_000),
    exchange=st.sampled_from(["paper", "single"]),
    subset=st.sampled_from([None, 0.5, 2]),
    max_age=st.integers(0, 8),
    away=st.booleans(),
    lost=st.sampled_from([0.0, 0.4]),
    # Without linear terms: an input beyond its range moves its parameter exactly as the constant
    # moves, and the method, which sends what moved most, would take either.
    beginning=st.sampled_from([begin for begin in BEGINNINGS if not begin["linear"]]),
)
def test_a_method_of_its_own_equals_the_reference(
    seed: int,
    exchange: Exchange,
    subset: float | None,
    max_age: int,
    away: bool,
    lost: float,
    beginning: dict[str, bool],
) -> None:
    trace = small_trace(seed, ticks=70, features=9, available=0.5, lost=lost, **beginning)
    method = replace(OWN, exchange=exchange, subset=subset, max_age=max_age, step_size=0.3)
    method = replace(method, learns_while_away=away)
    got = FAST.replay(trace, method, seed=seed)
    expected = reference.replay(trace, method, seed=seed)
    assert expected.traffic[:, -1].all()
    equal(got, expected)


def test_an_answer_that_is_lost_is_heard_by_nobody_in_either_form() -> None:
    """The server answers when a message arrives, ticks after nature lost that answer."""
    method = algorithm("pao-fed-u1", shared=2, exchange="live")
    trace = small_trace(3, ticks=90, features=7, available=0.6, lost=0.4)
    found = in_general_form(trace, method)
    equal(found, reference.replay(trace, method))
    heard = replace(trace, lost_down=np.zeros_like(trace.available))
    assert np.abs(in_general_form(heard, method).server_model - found.server_model).max() > 1e-3


def with_a_broken_client(seed: int, lost: float = 0.0) -> Trace:
    trace = small_trace(seed, ticks=150, clients=6, features=9, available=0.5, lost=lost)
    y = trace.y.copy()
    y[50:100, 2] *= 1000
    return replace(trace, y=y)


@settings(max_examples=effort(everyday=6, thorough=40))
@given(
    case=cases(9, ("paper", "single", "live")),
    seed=st.integers(0, 10_000),
    clip=st.sampled_from([0.5, 2.0, 6.0]),
    aside=st.booleans(),
    lost=st.sampled_from([0.0, 0.4]),
)
def test_bounded_influence_equals_the_reference(
    case: Case, seed: int, clip: float, aside: bool, lost: float
) -> None:
    trace, method = (
        with_a_broken_client(seed, lost),
        algorithm(case.product, clip=clip, aside=aside),
    )
    equal(FAST.replay(trace, method), reference.replay(trace, method))


@pytest.mark.parametrize("learner", some(["two-speed", "rls", "weighed"], everyday=1))
def test_learners_by_name_equal_the_reference(learner: str) -> None:
    method = algorithm("pao-fed-u2", shared=3, learner=learner, bound=6)
    for seed in range(2):
        trace = with_a_broken_client(seed)
        equal(FAST.replay(trace, method), reference.replay(trace, method))


def half_way(state: Any, part: Any) -> Any:
    """Twice is not the same as once."""
    w = state.w.copy()
    w[part.coordinates] = (w[part.coordinates] + part.values) / 2
    return Weights(w)


@long  # two kernels; every day, test_both_forms_of_the_paper_s_rows_agree has live answers
@pytest.mark.parametrize("learner", [replace(LMS, merge=half_way), OWN.learner])
@pytest.mark.parametrize("newcomers", [False, True])
def test_an_uplink_of_its_own_is_answered_later_and_once_in_a_tick(
    learner: Learner, newcomers: bool
) -> None:
    """However many messages of a client arrive then, and whatever its learner makes of it."""
    downlink = algorithm("pao-fed-u1", shared=3).downlink
    live = replace(OWN, downlink=downlink, learner=learner, exchange="live")
    for seed in range(3):
        trace = small_trace(seed, ticks=70, features=9, lost=0.3, newcomers=newcomers)
        equal(FAST.replay(trace, live, seed=1), reference.replay(trace, live, seed=1))


@pytest.mark.parametrize(
    ("name", "value"), [("_IN_CACHE", 1), ("_IN_CACHE", 45), ("_MOST_TICKS", 3)]
)
def test_how_much_of_a_trace_is_taken_at_a_time_changes_no_bit(
    name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = small_trace(2, ticks=70, features=9, data=0.4)
    whole = FAST.replay(trace, OWN)
    monkeypatch.setattr(samples, name, value)
    parts = FAST.replay(trace, OWN)
    np.testing.assert_array_equal(parts.mse, whole.mse)
    np.testing.assert_array_equal(parts.traffic, whole.traffic)


@pytest.mark.parametrize("same_world", some([False, True], everyday=1))
def test_runs_of_a_scenario(same_world: bool) -> None:
    scenario = small_scenario(
        ticks=80,  # more than a stretch of the kernels
        stream={"samples": (20, 40, 80)},
        loss={"up": 0.2, "down": 0.1},
        delay={"kind": "stepped", "base": 0.5, "step": 3},
    )
    methods: list[str | Algorithm] = ["pao-fed-u1", OWN, replace(OWN, name="picked", subset=3)]
    runs = effort(everyday=2, thorough=3)
    common: dict[str, Any] = {"runs": runs, "seed": 4, "same_world": same_world, "workers": 1}
    got = run(scenario, methods, **common, precision="float64")
    expected = run(scenario, methods, **common, engine="reference")
    assert got.provenance["engines"] == ["fast"] * 3
    np.testing.assert_array_equal(got.traffic, expected.traffic)
    np.testing.assert_allclose(got.mse, expected.mse, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(got.models, expected.models, rtol=0, atol=1e-9)
    own = got.run_curves("own")
    assert not np.allclose(own[0], own[1])  # random numbers differ from run to run


def test_threads_and_company_change_nothing() -> None:
    scenario = small_scenario()
    alone = run(scenario, OWN, runs=4, seed=2, workers=1)
    together = run(scenario, ["pao-fed-c2", OWN, "online-fedsgd"], runs=4, seed=2, workers=3)
    np.testing.assert_array_equal(alone.run_curves("own"), together.run_curves("own"))


def test_over_a_table_it_is_judged_before_it_learns(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    lines = ["device,time,a,b"]
    for tick in range(120):
        for device in range(4):
            if rng.random() < 0.7:
                a = rng.normal()
                lines.append(f"d{device},{tick},{a:.3f},{np.sin(a) + 0.1 * rng.normal():.3f}")
    (tmp_path / "t.csv").write_text("\n".join(lines))
    (tmp_path / "t.toml").write_text(
        """
        name = "table"
        features = 9
        step_size = 0.3
        max_age = 6
        [stream]
        kind = "table"
        file = "t.csv"
        device = "device"
        time = "time"
        target = "b"
        inputs = ["a"]
        [availability]
        kind = "bernoulli"
        probabilities = [0.6]
        [delay]
        kind = "geometric"
        base = 0.4
        """
    )
    compiled = run(tmp_path / "t.toml", OWN, seed=3, every=7, precision="float64")
    slow = run(tmp_path / "t.toml", OWN, seed=3, every=7, engine="reference")
    got, expected = TableResult.of(compiled), TableResult.of(slow)
    np.testing.assert_allclose(got.mse, expected.mse, rtol=1e-9)
    np.testing.assert_allclose(got.progressive.errors, expected.progressive.errors, rtol=1e-9)
    np.testing.assert_allclose(
        got.progressive.device_errors, expected.progressive.device_errors, rtol=1e-9
    )
    np.testing.assert_array_equal(got.traffic, expected.traffic)


def test_states_that_do_not_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FAST.refuses(OWN) is None
    monkeypatch.setattr("os.sysconf", lambda _: 10)  # a machine of a hundred bytes
    with pytest.raises(InputError, match="a state of Pair for each of 4 clients"):
        FAST.replay(small_trace(0, features=9), OWN)
