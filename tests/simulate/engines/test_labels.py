"""Labels that are rare or late: what the reference learns when, and every engine as the reference.

Both compiled forms are held against it on traces, and over tables in float64.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from paofed.algorithms import algorithm
from paofed.algorithms.base import Exchange
from paofed.core.rules import lms_step
from paofed.errors import AlgorithmError, InputError
from paofed.simulate.engines import engine_of, reference
from paofed.simulate.engines.fast import family
from paofed.simulate.engines.fast.own.simulation import run as run_own
from paofed.simulate.engines.reference_run import run_reference
from paofed.simulate.montecarlo import run
from paofed.simulate.results.outcome import RunRecord
from paofed.simulate.stopping import ignored
from paofed.world.scenario import Scenario
from tests.cases import Case, cases
from tests.effort import effort, some
from tests.natures import BEGINNINGS, small_scenario, small_trace
from tests.simulate.engines.compared import equal, in_general_form
from tests.simulate.engines.own.rules import OWN, WINDOWS
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

# With windows in the place of its uplink, which sends what moved most: where labels are rare,
# nothing may have moved.
MINE = replace(OWN, uplink=WINDOWS)
LATE = [(0.3, 0), (1.0, 20), (0.5, 200), (0.2, 9)]  # the share of labels, and the latest
LABELS: list[dict[str, Any]] = [
    {"share": 0.3},
    {"late": 5},
    {"share": 0.5, "late": 30, "devices": 0.5},
    {"late": 1000},
]


@pytest.mark.parametrize(("labelled", "latest"), LATE)
@pytest.mark.parametrize("away", [True, False])
def test_the_reference_learns_what_a_queue_would_hold(
    labelled: float, latest: int, away: bool
) -> None:
    """A device that hears nothing; one that rests while away drops the labels that come then."""
    trace = small_trace(5, ticks=60, available=0.5, labelled=labelled, latest=latest, features=7)
    trace = replace(trace, lost_down=np.ones_like(trace.available))
    method = replace(algorithm("pao-fed-u1", shared=2), learns_while_away=away)
    w = np.zeros((trace.clients, 7))
    waiting: list[tuple[int, int]] = []
    for state, info in reference.ticks(trace, method):
        n = info.tick
        for k in np.flatnonzero(trace.has_data[n]).tolist():
            waiting += [(n, k)] if trace.labelled[n, k] else []
            due = [(s, j) for s, j in waiting if j == k and s + trace.label_delay[s, k] <= n]
            waiting = [one for one in waiting if one not in due]
            for s, _ in due if away or trace.available[n, k] else []:
                w[k] = lms_step(w[k], trace.fourier_map(trace.x[s, k]), trace.y[s, k], 0.4)
        np.testing.assert_allclose(state.local, w, rtol=0, atol=1e-12)


def test_a_device_without_labels_has_contacts_and_is_judged() -> None:
    trace = small_trace(2, ticks=40, available=0.5)
    nobody = replace(trace, labelled=np.zeros_like(trace.available))
    one, other = (reference.replay(t, "pao-fed-u1") for t in (trace, nobody))
    np.testing.assert_array_equal(one.traffic, other.traffic)
    assert not other.server_model.any()


def test_learners_are_told_the_tick_at_which_they_learn() -> None:
    seen = []

    def learn(*told: Any) -> Any:
        seen.append(told[-1])
        return told[0]

    plain = algorithm("pao-fed-u1", shared=2)
    method = replace(plain, learner=replace(plain.learner, learn=learn))
    trace = small_trace(1, ticks=30, clients=2, data=1.1, latest=0)
    trace = replace(trace, label_delay=np.full(trace.delay.shape, 7))
    reference.replay(trace, method)
    there = trace.has_data[:, 0]
    come = [n + 7 + (n + 7 < 30 and not there[n + 7]) for n in np.flatnonzero(there).tolist()]
    assert sorted(seen) == sorted(2 * [n for n in come if n < 30])


@settings(max_examples=effort(everyday=14, thorough=100))
@given(
    case=cases(7, ("paper", "single", "live")),
    seed=st.integers(0, 10_000),
    inputs=st.integers(1, 9),
    lost=st.sampled_from([0.0, 0.4]),
    data=st.sampled_from([0.05, 0.8]),
    late=st.sampled_from(LATE),
    beginning=st.sampled_from(BEGINNINGS),
)
def test_both_compiled_forms_equal_the_reference_on_the_same_trace(
    case: Case,
    seed: int,
    inputs: int,
    lost: float,
    data: float,
    late: tuple[float, int],
    beginning: dict[str, bool],
) -> None:
    assume(case.shared != 7 or not beginning["linear"])  # 7 is the whole model without them alone
    trace = small_trace(
        seed, ticks=90, features=7, inputs=inputs, available=0.3, lost=lost, data=data,
        labelled=late[0], latest=late[1], **beginning,
    )  # fmt: skip
    expected = reference.replay(trace, case.product)
    equal(engine_of("fast").replay(trace, case.product), expected)
    equal(in_general_form(trace, case.product), expected)


@settings(max_examples=effort(everyday=6, thorough=40))
@given(
    seed=st.integers(0, 10_000),
    exchange=st.sampled_from(["paper", "single"]),
    subset=st.sampled_from([None, 0.5]),
    away=st.booleans(),
    late=st.sampled_from(LATE),
)
def test_a_method_of_its_own_equals_the_reference(
    seed: int, exchange: Exchange, subset: float | None, away: bool, late: tuple[float, int]
) -> None:
    trace = small_trace(
        seed, ticks=70, features=9, available=0.5, lost=0.2, labelled=late[0], latest=late[1]
    )
    method = replace(MINE, exchange=exchange, subset=subset, learns_while_away=away, step_size=0.3)
    got = engine_of("fast").replay(trace, method, seed=seed)
    equal(got, reference.replay(trace, method, seed=seed))


@pytest.mark.parametrize("learner", some(["weighed", "two-speed", "rls"], everyday=1))
def test_learners_by_name_equal_the_reference(learner: str) -> None:
    """Some labels come so late that not all forecasts are kept until then."""
    method = algorithm("pao-fed-u2", shared=3, learner=learner)
    trace = small_trace(4, ticks=250, features=9, data=0.95, labelled=0.9, latest=180)
    equal(engine_of("fast").replay(trace, method), reference.replay(trace, method))


METHODS = [
    algorithm("pao-fed-u1", shared=3),
    algorithm("online-fed", subset=2),
    algorithm("pao-fed-c2", exchange="live"),
    algorithm("pao-fed-u2", exchange="single"),
]
PLACE: dict[str, Any] = {"seed": 5, "world": 1, "run": 2, "every": 7}
TOLD: dict[str, Any] = {"precision": "float64", "report": ignored}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("table") / "t.csv", with_gaps(hourly(5, 120)))


def over(path: Path, labels: dict[str, Any] | None, **laws: Any) -> Scenario:
    often = {"kind": "bernoulli", "probabilities": (0.5,)}
    late = {"kind": "geometric", "base": 0.4}
    laws = {"availability": often, "delay": late, **laws}
    return fleet(table(path), **({} if labels is None else {"labels": labels}), **laws)


def assert_equal(got: RunRecord, expected: RunRecord) -> None:
    for name in RunRecord._fields:
        np.testing.assert_allclose(
            getattr(got, name), getattr(expected, name), rtol=1e-9, atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize("labels", some(LABELS, everyday=2))
def test_over_a_table_all_engines_agree(path: Path, labels: dict[str, Any]) -> None:
    """Also where a sensor is faulty: what comes late is what was measured then."""
    fault = {"kind": "scaled", "by": 2.0, "clients": 2, "start": 10, "end": 40}
    scenario = over(path, labels, loss={"up": 0.2, "down": 0.1}, faults=[fault])
    expected = run_reference(scenario, METHODS, **PLACE)
    assert_equal(family.run(scenario, METHODS, **PLACE, **TOLD), expected)
    mine = run_reference(scenario, [MINE], **PLACE)
    assert_equal(run_own(scenario, [MINE], **PLACE, **TOLD), mine)
    usual = run_reference(over(path, None, faults=[fault]), METHODS, **PLACE)
    assert not np.allclose(expected.cells, usual.cells)


@pytest.mark.parametrize("labels", some(LABELS, everyday=2))
def test_in_the_paper_s_world_all_engines_agree(labels: dict[str, Any]) -> None:
    drifts = {"stream": {"drifts": (40, 90), "drift_ticks": 20}}
    scenario = small_scenario(labels=labels, loss={"up": 0.2, "down": 0.1}, **drifts)
    expected = run_reference(scenario, METHODS, **PLACE)
    assert_equal(family.run(scenario, METHODS, **PLACE, **TOLD), expected)
    single = family.run(scenario, METHODS, **PLACE, precision="float32", report=ignored)
    np.testing.assert_allclose(single.mse, expected.mse, rtol=1e-3)
    np.testing.assert_array_equal(single.traffic, expected.traffic)


def test_a_law_under_which_nothing_is_rare_or_late_changes_nothing(path: Path) -> None:
    for usual, same in (
        (over(path, None), over(path, {"share": 1.0})),
        (small_scenario(), small_scenario(labels={"late": 0})),
    ):
        one, two = (run_reference(s, METHODS, **PLACE) for s in (usual, same))
        for name in RunRecord._fields:
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name), name)
    found = [family.run(over(path, law), METHODS, **PLACE, **TOLD) for law in (None, {"late": 0})]
    np.testing.assert_array_equal(found[0].cells, found[1].cells)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_no_bit(tmp_path: Path, threads: int) -> None:
    """A fleet of several blocks."""
    lines = with_gaps(hourly(4500, 16), 0.3)
    scenario = fleet(
        table(write(tmp_path / "t.csv", lines), tick="1h"), labels={"share": 0.5, "late": 3}
    )
    alone = family.run(scenario, METHODS, **PLACE, **TOLD)
    with family.ThreadPool(threads) as pool:
        spread = family.run(scenario, METHODS, **PLACE, **TOLD, pool=pool)
    for name in RunRecord._fields:
        np.testing.assert_array_equal(getattr(spread, name), getattr(alone, name), name)


def test_the_gpu_engine_says_that_it_knows_no_labels() -> None:
    gpu = engine_of("gpu")
    why = gpu.refuses_setting(small_scenario(labels={"late": 3}))
    assert why is not None
    assert "labels" in why
    assert gpu.refuses_setting(small_scenario()) is None
    found = run(small_scenario(labels={"late": 3}), "pao-fed-u1", engine="gpu,fast")
    assert found.provenance["engines"] == ["fast"]
    with pytest.raises((AlgorithmError, InputError)):
        run(small_scenario(labels={"late": 3}), "pao-fed-u1", engine="gpu")
