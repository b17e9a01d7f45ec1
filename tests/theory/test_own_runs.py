"""Predictions outside of what theory assumes: refused, or told with how far off they are."""

from typing import Any

import numpy as np
import pytest

from paofed import realize, theory
from paofed.errors import InputError
from paofed.theory.gap import Gap
from paofed.theory.own_runs import turning
from paofed.world.scenario import Scenario
from tests.effort import long
from tests.natures import small_scenario, small_trace

EASY = small_scenario(features=8, ticks=60, stream={"samples": (20, 40, 60), "memory": (0.0, 0.0)})
HARD = "pao-fed-u1:shared=4,step_size=1.6"


def fleet(clients: int, features: int, ticks: int, *shares: float, **laws: Any) -> Scenario:
    """A fleet whose inputs are independent in time; the groups have samples at shares of ticks."""
    setting = Scenario.load("setting-1")
    samples = tuple(int(share * ticks) for share in shares or (0.5, 1.0))
    stream = setting.synthetic.model_copy(update={"samples": samples, "memory": (0.0, 0.0)})
    made = {"clients": clients, "features": features, "ticks": ticks, "kernel_width": 1.5}
    plain = setting.model_copy(update=made | {"stream": stream}).model_dump()
    return Scenario.model_validate(plain | laws)


def contacts(*chances: float, base: float) -> dict[str, Any]:
    return {
        "availability": {"kind": "bernoulli", "probabilities": chances},
        "delay": {"kind": "geometric", "base": base},
    }


SMALL = fleet(4, 16, 100, **contacts(0.4, 0.05, base=0.5))


def test_a_curve_beyond_the_largest_stable_step_is_refused() -> None:
    ahead = theory.foresee(SMALL)
    limit = ahead.stable_step(HARD).step
    with pytest.raises(
        InputError,
        match=rf"^pao-fed-u1:step_size=2.2 has no learning curve with step size 2.2: from "
        rf"{limit:.3g} on it is not stable in the mean square; take a smaller step size$",
    ):
        ahead.learning_curve("pao-fed-u1:step_size=2.2", check="tell")
    with pytest.raises(InputError, match="is not stable in the mean square"):
        ahead.steady_state("pao-fed-u1:step_size=2.2")


def test_a_curve_that_holds_is_told_with_its_gap() -> None:
    ahead = theory.foresee(EASY, seed=3, world=1)
    curve = ahead.learning_curve("pao-fed-u1:shared=2", every=20)
    assert curve.gap is not None
    assert abs(curve.gap.db) < 0.5
    assert 0 < curve.gap.error < 0.5
    assert curve.gap.runs >= 16
    assert f"({curve.gap} dB from runs)" in repr(curve)
    unchecked = ahead.learning_curve("pao-fed-u1:shared=2", every=20, check="none")
    assert unchecked.gap is None
    assert "how far off is not known" in repr(unchecked)
    np.testing.assert_array_equal(unchecked.mse, curve.mse)


def test_a_curve_that_is_far_off_is_refused() -> None:
    """Its runs end about 3 dB higher, six standard errors of 16 runs: hardly ever overlooked."""
    ahead = theory.foresee(SMALL)
    why = (
        r"the predicted learning curve is refused: at tick \d+ it is -\d\.\d\d ± \d\.\d\d dB from "
        r"\d+ runs, more than 0\.5; take a smaller step size, .*; check='tell' returns it"
    )
    with pytest.raises(InputError, match=why):
        ahead.learning_curve(HARD)
    told = ahead.learning_curve(HARD, check="tell")
    assert told.gap is not None
    assert told.gap.refused
    with pytest.raises(InputError, match="unknown check 'tel': did you mean 'tell'"):
        ahead.learning_curve(HARD, check="tel")  # type: ignore[arg-type]


def test_runs_are_long_enough_and_as_dense_in_samples() -> None:
    """Looking 2.5 times as far takes runs of three times the ticks, with as many samples each."""
    curve = theory.foresee(EASY).learning_curve("pao-fed-u1:shared=2", ticks=150, every=50)
    assert curve.ticks.tolist() == [49, 99, 149]
    assert curve.gap is not None
    assert curve.gap.tick in (99, 149)


def test_a_trace_is_turned_in_time_client_by_client() -> None:
    trace = small_trace(5, ticks=40)
    turned = turning(trace, 100)(0, 7)
    assert turned.ticks == 100
    for k in range(trace.clients):
        again = [
            begin
            for begin in range(40)
            if np.array_equal(turned.delay[:40, k], np.roll(trace.delay[:, k], -begin))
        ]
        assert again
        np.testing.assert_array_equal(turned.has_data[:60, k], turned.has_data[40:, k])
    assert not np.array_equal(turned.delay, turning(trace, 100)(0, 8).delay)


def test_a_trace_tells_how_far_off_its_prediction_is() -> None:
    ahead = theory.foresee(realize(EASY))
    curve = ahead.learning_curve("pao-fed-u1:shared=2", every=30, check="tell")
    assert curve.gap is not None
    assert curve.gap.error > 0


def test_runs_over_a_trace_that_do_not_fit_memory_are_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ahead = theory.foresee(realize(EASY))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("os.sysconf", lambda _: 10)  # a machine of a hundred bytes
    why = "^2 runs at a time over the trace, each {} ticks long, needs .*: take fewer ticks, or "
    with pytest.raises(InputError, match=why.format("60")):
        ahead.learning_curve("pao-fed-u1:shared=2")
    with pytest.raises(InputError, match=why.format("960")):
        ahead.steady_state("pao-fed-u1:shared=2")


def test_runs_are_part_of_the_progress() -> None:
    heard: list[float] = []
    theory.foresee(EASY).learning_curve("pao-fed-u1:shared=2", check="tell", report=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert len({share for share in heard if 0.5 < share < 1.0}) > 10


def test_what_a_step_loses_is_told_in_pairs() -> None:
    """Runs differ by far more than their step sizes make: pairs show the difference alone."""
    rng = np.random.default_rng(1)
    luck = rng.uniform(0.1, 10.0, size=200)
    others = np.array([0.5 * luck, 3 * luck])
    lost = Gap.lost(99, luck, others)
    assert lost.db == pytest.approx(10 * np.log10(2))
    assert lost.error == pytest.approx(0.0, abs=1e-12)
    assert lost.refused
    assert Gap.lost(99, 0.4 * luck, others).db == 0.0
    diverged = np.array([[np.nan] * 200, [np.inf] * 200])
    assert Gap.lost(99, luck, diverged).db == 0.0


@pytest.mark.parametrize(
    ("db", "error", "clear", "refused"),
    [(0.2, 0.1, True, False), (-0.45, 0.1, False, False), (-0.6, 0.1, False, True),
     (1.0, 0.1, True, True), (np.nan, np.nan, True, True), (0.3, np.nan, True, False)],
)  # fmt: skip
def test_more_runs_are_made_where_they_may_tell(
    db: float, error: float, clear: bool, refused: bool
) -> None:
    gap = Gap(db, 99, error, 16)
    assert (gap.clear, gap.refused) == (clear, refused)
    if refused:
        assert ("more would tell" in gap.refusal("it")) != clear


LARGER = fleet(32, 48, 800, **contacts(0.4, 0.05, base=0.5))


@long
def test_steps_near_the_largest_stable_one() -> None:
    """Curves of 800 ticks with step 1.85 are 1 dB and more too low, those with step 0.4 hold."""
    ahead = theory.foresee(LARGER)
    assert ahead.stable_step("pao-fed-u1:shared=6").step == pytest.approx(1.95, abs=0.01)
    with pytest.raises(InputError, match=r"with step size 2\.2: from 1\.95 on"):
        ahead.learning_curve("pao-fed-u1:shared=6,step_size=2.2")
    with pytest.raises(InputError, match=r"it is -\d\.\d\d ± .* dB from \d+ runs"):
        ahead.learning_curve("pao-fed-u1:shared=6,step_size=1.85")
    curve = ahead.learning_curve("pao-fed-u1:shared=6,step_size=0.4")
    assert curve.gap is not None
    assert not curve.gap.refused


@long
def test_rare_contacts() -> None:
    rare = fleet(32, 48, 800, **contacts(0.03, 0.01, base=0.9))
    with pytest.raises(InputError, match="the predicted learning curve is refused"):
        theory.foresee(rare).learning_curve("pao-fed-u1:shared=2,step_size=1.4")


@long
def test_a_best_step_that_is_not() -> None:
    """Four clients: theory takes a step of about 1, where runs end 1 dB above those of half."""
    few = fleet(4, 24, 800, 1.0, **contacts(0.4, 0.05, base=0.5), kernel_width=2.0)
    ahead = theory.foresee(few)
    with pytest.raises(InputError, match=r"its best step \d\.\d\d is refused: at tick 799 it is -"):
        ahead.best_step("pao-fed-u1:shared=6")
    told = ahead.best_step("pao-fed-u1:shared=6", check="tell")
    assert told.lost is not None
    assert told.lost.db > 0.5


@long
def test_a_best_step_that_holds() -> None:
    best = theory.foresee(LARGER.model_copy(update={"kernel_width": 1.0})).best_step(
        "online-fedsgd"
    )
    assert best.refusal() is None
    assert best.lost is not None
    assert best.curve.gap is not None
