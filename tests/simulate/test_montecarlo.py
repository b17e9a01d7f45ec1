"""Many runs: reproducible, in order, kept when interrupted."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paofed.algorithms import Algorithm, algorithm
from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.errors import InputError
from paofed.simulate import coldstart, fast, tables
from paofed.simulate.baselines import BASELINES
from paofed.simulate.montecarlo import run
from paofed.simulate.result import Result
from paofed.world.scenario import Scenario
from tests.natures import small_scenario as scenario
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

U1, SGD = algorithm("pao-fed-u1"), algorithm("online-fedsgd")
# Outside the family: a function of one's own, not even a picklable one.
OWN = replace(U1, name="own", learn=lambda w, z, y, mu: w + mu * (y - w @ z) * z)


def assert_same(first: Result, second: Result) -> None:
    for name in ("ticks", "mse", "sent", "sent_up", "sent_down", "models"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


def test_a_seed_reproduces_every_number_for_any_number_of_workers() -> None:
    first = run(scenario(), [U1, SGD], runs=5, seed=3, workers=1)
    for workers in (2, 4):
        assert_same(first, run(scenario(), [U1, SGD], runs=5, seed=3, workers=workers))
    assert not np.array_equal(first.mse, run(scenario(), [U1, SGD], runs=5, seed=4).mse)


def test_runs_can_be_split_in_any_way() -> None:
    many, few = (run(scenario(), [U1], runs=runs, seed=3) for runs in (5, 2))
    np.testing.assert_array_equal(many.mse[:2], few.mse)


def test_every_run_has_its_own_world_unless_told_otherwise() -> None:
    result = run(scenario(), [U1], runs=3)
    assert len({curve.tobytes() for curve in result.mse}) == 3
    same = run(scenario(), [U1], runs=3, same_world=True)
    assert len({curve.tobytes() for curve in same.mse}) == 3
    # Zero models have the same error only where the test set is the same.
    idle = scenario(availability={"kind": "bernoulli", "probabilities": (0.0,)})
    kept = run(idle, [U1], runs=3, same_world=True).mse
    assert (kept == kept[0]).all()
    assert not (run(idle, [U1], runs=3).mse == kept[0]).all()


def test_engines_agree_and_mix_in_the_order_asked_for() -> None:
    mixed = run(scenario(), [OWN, U1, SGD], runs=2, precision="float64")
    assert mixed.algorithms == ["own", "pao-fed-u1", "online-fedsgd"]
    assert mixed.provenance["engines"] == ["reference", "fast", "fast"]
    np.testing.assert_allclose(mixed.mse[:, 0], mixed.mse[:, 1], rtol=0, atol=1e-9)
    slow = run(scenario(), [U1, SGD], runs=2, engine="reference")
    np.testing.assert_allclose(slow.mse, mixed.mse[:, 1:], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(slow.sent_up, mixed.sent_up[:, 1:])


def test_progress_rises_to_the_whole() -> None:
    heard: list[float] = []
    run(scenario(), [U1, OWN], runs=3, report=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)


def test_provenance_says_how_to_do_it_again() -> None:
    about = run(scenario(), [U1], runs=2, seed=9).provenance
    assert about["scenario"]["clients"] == 12
    assert (about["seed"], about["same_world"], about["runs_requested"]) == (9, False, 2)
    assert about["algorithms"][0]["uplink"]["width"] == 4
    assert set(about["versions"]) >= {"paofed", "numpy", "numba", "python"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"methods": []}, "no algorithm was given"),
        ({"methods": [U1, U1]}, "pao-fed-u1 is given twice"),
        ({"runs": 0}, "runs is 0"),
        ({"every": 0}, "every is 0"),
        ({"engine": "quick"}, "unknown engine 'quick'"),
        ({"precision": "float16"}, "unknown precision 'float16'"),
        ({"workers": 0}, "workers is 0"),
        ({"seed": -1}, "seed -1 is out of range"),
        ({"methods": [algorithm("pao-fed-u1", shared=99)]}, "only 24 features"),
        ({"methods": [algorithm("pao-fed-c0", exchange="live")]}, "cannot do exchange"),
    ],
)
def test_refuses_what_cannot_be_run(options: dict[str, object], text: str) -> None:
    arguments = {"methods": [U1], **options}
    with pytest.raises(InputError, match=text):
        run(scenario(), **arguments)  # type: ignore[arg-type]


def test_an_error_in_one_s_own_function_is_not_swallowed() -> None:
    def broken(*_: object) -> FloatArray:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(scenario(), [replace(OWN, learn=broken)], runs=2)


def test_an_interrupt_keeps_the_finished_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    real, started = fast.run, []

    def interrupted(*args: object, **options: object) -> object:
        started.append(options)
        if len(started) > 2:
            raise KeyboardInterrupt
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(fast, "run", interrupted)
    result = run(scenario(), [U1], runs=5, workers=1)
    monkeypatch.undo()
    assert result.provenance["runs_finished"] == [0, 1]
    assert_same(result, run(scenario(), [U1], runs=2))


def test_nothing_finished_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(fast, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(scenario(), [U1], runs=2, workers=1)


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_ctrl_c_on_the_command_line(engine: str, tmp_path: Path) -> None:
    """A real signal to a real process in the middle of many runs."""
    out = tmp_path / "kept.npz"
    world = scenario(ticks=400, stream={"samples": (400, 400, 400)})
    (tmp_path / "s.toml").write_text(world.to_toml())
    command = [sys.executable, "-m", "paofed", "run", "s.toml", "--runs", "100000"]
    command += ["--algorithm", "pao-fed-u1", "--engine", engine, "--out", str(out)]
    for seconds in (6, 40):  # a busy machine may not have begun after the first
        process = subprocess.Popen(  # noqa: S603 (our own program)
            command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 130, stderr
        if out.exists():
            break
    kept = Result.load(out)
    assert f"without {100000 - kept.runs} of 100000 runs" in stderr
    assert "Traceback" not in stderr  # nor do its workers say anything
    assert kept.runs > 0
    assert np.isfinite(kept.mse).all()


def test_the_error_jumps_where_the_target_changes_and_comes_back() -> None:
    """Paired over 40 runs, two means at 6 standard errors: false-alarm rate below 1e-6."""
    stream = {"samples": (400, 800), "drifts": (400,)}
    laws = {"availability": {"kind": "bernoulli", "probabilities": (0.5,)}, "kernel_width": 2.0}
    drifting = scenario(ticks=800, features=60, stream=stream, **laws)
    curves = run(drifting, [U1], runs=40, seed=1).run_curves(U1.name)
    jumped = decibels(curves[:, 40])
    before, after = (decibels(curves[:, end - 4 : end].mean(axis=1)) for end in (40, 80))

    def surely_above(difference: FloatArray) -> bool:
        return bool(difference.mean() > 6 * difference.std(ddof=1) / np.sqrt(40))

    assert surely_above(jumped - before - 1)
    assert surely_above((before + jumped) / 2 - after)  # more than half way back


@pytest.fixture
def over_a_table(tmp_path: Path) -> Scenario:
    return fleet(table(write(tmp_path / "t.csv", with_gaps(hourly(3, 60)))))


def interrupts(monkeypatch: pytest.MonkeyPatch, module: object, name: str, after: int = 0) -> None:
    """Let a function of a module be interrupted, after so many calls."""
    real, called = getattr(module, name), []

    def interrupted(*args: object, **options: object) -> object:
        called.append(args)
        if len(called) > after:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(module, name, interrupted)


def learners(result: Result) -> list[list[str]]:
    assert result.progressive is not None
    found: list[list[str]] = result.progressive.learners.tolist()
    return found


ALONE = [["pao-fed-u1", "device"], ["pao-fed-u1", "server"]]


@pytest.mark.parametrize("after", [0, 1])
def test_an_interrupt_of_the_baselines_keeps_the_algorithms(
    over_a_table: Scenario, monkeypatch: pytest.MonkeyPatch, after: int, tmp_path: Path
) -> None:
    whole = run(over_a_table, [U1], runs=2)
    interrupts(monkeypatch, tables, "baselines", after)
    kept = run(over_a_table, [U1], runs=2, cold_starts=2)
    assert_same(kept, whole)
    assert kept.provenance["runs_finished"] == [0, 1]
    assert learners(kept) == ALONE
    assert kept.progressive is not None
    assert whole.progressive is not None
    np.testing.assert_array_equal(kept.progressive.errors, whole.progressive.errors[:, :2])
    assert kept.cold_start is None
    kept.save(tmp_path / "r.npz")
    assert learners(Result.load(tmp_path / "r.npz")) == ALONE


@pytest.mark.parametrize("after", [0, 4])
def test_an_interrupt_of_the_newcomers_keeps_the_rest(
    over_a_table: Scenario, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    whole = run(over_a_table, [U1], runs=2)
    interrupts(monkeypatch, coldstart, "_newcomer", after)
    kept = run(over_a_table, [U1], runs=2, cold_starts=2)
    assert_same(kept, whole)
    assert learners(kept) == [*ALONE, *([name, "baseline"] for name in BASELINES)]
    assert kept.cold_start is None


def test_an_interrupt_of_the_runs_ends_the_work(
    over_a_table: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was finished is there at once: neither baselines nor newcomers are begun."""
    interrupts(monkeypatch, fast, "run", after=2)
    monkeypatch.delattr(tables, "baselines")
    monkeypatch.delattr(coldstart, "_newcomer")
    kept = run(over_a_table, [U1], runs=5, workers=1, cold_starts=2)
    assert kept.provenance["runs_finished"] == [0, 1]
    assert learners(kept) == ALONE
    monkeypatch.undo()
    assert_same(kept, run(over_a_table, [U1], runs=2))


@pytest.mark.parametrize("cold_starts", [0, 2])
@pytest.mark.parametrize("methods", [[U1], [U1, OWN]])
def test_progress_over_a_table_rises_to_the_whole(
    over_a_table: Scenario, methods: list[Algorithm], cold_starts: int
) -> None:
    heard: list[float] = []
    run(over_a_table, methods, runs=3, cold_starts=cold_starts, report=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)
    assert heard[-2] < heard[-1]  # nothing is still to be done where all is said to be
