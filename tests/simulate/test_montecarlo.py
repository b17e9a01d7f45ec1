"""Many runs: reproducible, in order, kept when interrupted."""

import os
import pickle
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.core.parts import Learner, Weights
from paofed.core.rules import LMS, Newest
from paofed.errors import AlgorithmError, InputError, PaofedWarning
from paofed.simulate.engines import reference_engine
from paofed.simulate.engines.fast import family as fast
from paofed.simulate.montecarlo import run
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.stopping import Interrupted
from paofed.simulate.table import coldstart
from paofed.simulate.table import comparisons as tables
from paofed.simulate.table.baselines import USUAL
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from tests.effort import some
from tests.live.brokers import PATIENCE
from tests.methods import OWN
from tests.natures import small_scenario as scenario
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

U1, SGD = algorithm("pao-fed-u1"), algorithm("online-fedsgd")


def assert_same(first: Result, second: Result) -> None:
    for name in ("ticks", "mse", "traffic", "models"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


def test_a_seed_reproduces_every_number_for_any_number_of_workers() -> None:
    first = run(scenario(), [U1, SGD], runs=5, seed=3, workers=1)
    assert_same(first, run(scenario(), [U1, SGD], runs=5, seed=3, workers=3))
    assert not np.array_equal(first.mse, run(scenario(), [U1, SGD], runs=5, seed=4).mse)


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
    mixed = run(scenario(), [OWN, U1, SGD], runs=2, precision="float64", workers=1)
    assert mixed.algorithms == ["own", "pao-fed-u1", "online-fedsgd"]
    assert mixed.provenance["engines"] == ["reference", "fast", "fast"]
    np.testing.assert_allclose(mixed.mse[:, 0], mixed.mse[:, 1], rtol=0, atol=1e-9)
    slow = run(scenario(), [U1, SGD], runs=2, engine="reference", workers=1)
    np.testing.assert_allclose(slow.mse, mixed.mse[:, 1:], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(slow.traffic, mixed.traffic[:, 1:])


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
        ({"engine": "quick"}, "unknown engine 'quick'"),
        ({"precision": "float16"}, "unknown precision 'float16'"),
        ({"seed": -1}, "seed -1 is out of range"),
        ({"methods": [algorithm("pao-fed-u1", shared=99)]}, "only 24 features"),
        ({"methods": [algorithm("pao-fed-c0", exchange="live")]}, "cannot do exchange"),
        ({"methods": 3}, "3 is no algorithm: expected a name"),
        ({"scenario": 7}, "7 is no scenario: expected a Scenario, the name of a preset"),
        ({"scenario": "setting-9"}, "unknown scenario 'setting-9': did you mean 'setting-"),
        ({"runs": "4"}, "runs is '4': expected a whole number from 1 on"),
        ({"seed": "x"}, "seed is 'x': expected a whole number"),
        ({"same_world": "no"}, "same_world is 'no': expected True or False"),
        ({"engine": 2}, "engine is 2: expected a name, as in 'fast' or 'gpu,fast'"),
        ({"report": 0.5}, "report is 0.5: expected a function"),
        ({"engine": "reference", "baselines": "alone"}, "only tables have them"),
    ],
)
def test_refuses_what_cannot_be_run(options: dict[str, object], text: str) -> None:
    arguments = {"scenario": scenario(), "methods": [U1], **options}
    with pytest.raises(InputError, match=text) as refused:
        run(**arguments)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_a_scenario_may_be_given_by_name_or_path_and_numbers_by_numpy(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(scenario().to_toml())
    known = run(scenario(), U1, runs=2, seed=3)
    for given in (path, str(path)):
        found = run(given, U1, runs=np.int64(2), seed=np.uint32(3))  # type: ignore[arg-type]
        assert_same(found, known)
        assert realize(given, seed=3).x.tobytes() == realize(scenario(), seed=3).x.tobytes()
    found.save(tmp_path / "r.npz")  # its provenance is plain
    assert realize("ideal", clients=np.array([4])).clients == 1


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_a_weight_outside_0_to_1_is_refused(engine: str) -> None:
    """It would run, and give an error of 141 dB."""
    heavy = replace(U1, name="heavy", server=Newest(lambda _: 5))
    with pytest.raises(AlgorithmError, match="5: expected a weight from 0"):
        run(scenario(), heavy, engine=engine)
    # Ages that are dropped have no weight, whatever a function says of them.
    falling = replace(U1, name="falling", server=Newest(lambda age: 1 - age), max_age=1)
    run(scenario(), [falling, U1], engine=engine)


def test_an_error_in_one_s_own_function_is_told_with_its_place() -> None:
    def broken(*_: object) -> Weights:
        raise ZeroDivisionError("nothing\nleft")

    mine = replace(OWN, learner=Learner(learn=broken))
    with pytest.raises(AlgorithmError) as error:
        run(scenario(), mine, runs=2, workers=2, engine="reference")
    assert str(error.value) == "own: its learner's learn raised ZeroDivisionError: nothing left"


def interrupted_run(*args: Any, **options: Any) -> Result:
    """What a run that is interrupted has finished."""
    with pytest.raises(Interrupted) as interrupt:
        run(*args, **options)
    assert isinstance(interrupt.value, KeyboardInterrupt)
    result = interrupt.value.result
    assert result is not None
    finished = "1 finished run" if result.runs == 1 else f"{result.runs} finished runs"
    assert str(interrupt.value) == f"interrupted, with {finished} in its `result`"
    again = pickle.loads(pickle.dumps(interrupt.value))  # noqa: S301 (our own): through a pool
    assert_same(again.result, result)
    return result


def test_an_interrupt_keeps_the_finished_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    real, started = fast.run, []

    def interrupted(*args: object, **options: object) -> object:
        started.append(options)
        if len(started) > 2:
            raise KeyboardInterrupt
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(fast, "run", interrupted)
    result = interrupted_run(scenario(), [U1], runs=5, workers=1)
    monkeypatch.undo()
    assert result.provenance["runs_finished"] == [0, 1]
    assert_same(result, run(scenario(), [U1], runs=2))


def test_an_interrupt_of_the_second_engine_keeps_what_both_have_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    interrupts(monkeypatch, reference_engine, "run_reference", after=1)
    result = interrupted_run(scenario(), [OWN, U1], runs=3, workers=1)
    assert result.provenance["runs_finished"] == [0]
    monkeypatch.undo()
    assert_same(result, run(scenario(), [OWN, U1]))


# `paofed`, saying so once eight runs' worth of work is done: two at a time, some are finished. It
# says so in one write, and then no more: threads that print at once, or a print that Ctrl-C
# interrupts, would tear lines apart.
TELLING = """
import os, signal, sys
from paofed.cli import main, run
signal.signal(signal.SIGINT, signal.default_int_handler)  # however the tests were started

class Telling(run.Progress):
    begun = False

    def __call__(self, share):
        if share * 100_000 >= 8 and not self.begun:
            self.begun = True
            os.write(2, b"begun\\n")

run.Progress = Telling
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("engine", some(["reference", "fast"], everyday=1))
def test_ctrl_c_on_the_command_line(engine: str, tmp_path: Path) -> None:
    """A real signal to a real process and its workers in the middle of many runs."""
    out = tmp_path / "kept.npz"
    (tmp_path / "s.toml").write_text(scenario().to_toml())
    command = [sys.executable, "-c", TELLING, "run", "s.toml", "--runs", "100000", "--workers", "2"]
    command += ["--algorithm", "pao-fed-u1", "--engine", engine, "--out", str(out)]
    process = subprocess.Popen(  # noqa: S603 (our own program)
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    said = next(line for line in process.stderr if "compiling" not in line)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, said + stderr
    kept = Result.load(out)
    # The workers say nothing, and are gone with it.
    assert {*stderr.splitlines()} - {"begun"} == {
        f"interrupted: kept what was finished, without {100_000 - kept.runs:,} of 100,000 runs",
    }
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
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
    found: list[list[str]] = TableResult.of(result).progressive.learners.tolist()
    return found


ALONE = [["pao-fed-u1", "device"], ["pao-fed-u1", "server"]]


def test_an_interrupt_of_the_baselines_keeps_the_algorithms(
    over_a_table: Scenario, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = TableResult.of(run(over_a_table, [U1], runs=2))
    interrupts(monkeypatch, tables, "baselines", after=1)
    kept = TableResult.of(interrupted_run(over_a_table, [U1], runs=2, cold_starts=2))
    assert_same(kept, whole)
    assert kept.provenance["runs_finished"] == [0, 1]
    assert learners(kept) == ALONE
    np.testing.assert_array_equal(kept.progressive.errors, whole.progressive.errors[:, :2])
    assert kept.cold_start is None
    kept.save(tmp_path / "r.npz")
    assert learners(Result.load(tmp_path / "r.npz")) == ALONE


def test_an_interrupt_of_the_newcomers_keeps_the_rest(
    over_a_table: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(over_a_table, [U1], runs=2)
    interrupts(monkeypatch, coldstart, "_newcomer", after=4)
    kept = TableResult.of(interrupted_run(over_a_table, [U1], runs=2, cold_starts=2))
    assert_same(kept, whole)
    assert learners(kept) == [*ALONE, *([name, "baseline"] for name in USUAL)]
    assert kept.cold_start is None


def test_an_interrupt_of_the_runs_ends_the_work(
    over_a_table: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was finished is there at once: neither baselines nor newcomers are begun."""
    interrupts(monkeypatch, fast, "run", after=2)
    monkeypatch.delattr(tables, "baselines")
    monkeypatch.delattr(coldstart, "_newcomer")
    kept = interrupted_run(over_a_table, [U1], runs=5, workers=1, cold_starts=2)
    assert kept.provenance["runs_finished"] == [0, 1]
    assert learners(kept) == ALONE
    monkeypatch.undo()
    assert_same(kept, run(over_a_table, [U1], runs=2))


@pytest.mark.parametrize("cold_starts", [0, 2])
def test_progress_over_a_table_rises_to_the_whole(over_a_table: Scenario, cold_starts: int) -> None:
    heard: list[float] = []
    asked: dict[str, Any] = {"cold_starts": cold_starts, "workers": 1}
    run(over_a_table, [U1, OWN], runs=3, report=heard.append, **asked)
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)
    assert heard[-2] < heard[-1]  # nothing is still to be done where all is said to be


@pytest.mark.parametrize("word", some(["ace", "aced", "aso-fed", "ca2fl", "fed-buff"], everyday=2))
def test_a_server_that_forgets_too_soon_is_told(word: str) -> None:
    """Ages of the scenario count, or the algorithm's own; enough memory is told by silence."""
    late = scenario().model_copy(update={"max_age": 60})
    words = f"^{word} remembers 10 past models, and messages may be 60 ticks old: .*; give memory="
    with pytest.warns(PaofedWarning, match=words):
        run(late, word, engine="reference", workers=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for enough in (f"{word}:memory=60", f"{word}:max_age=10"):
            assert resolve(enough).forgets(late.max_age) is None
        run(late, f"{word}:memory=60", engine="reference", workers=1)


def test_an_algorithm_that_another_engine_takes_is_told_before_the_work() -> None:
    class Step:
        """An object, which no compiler takes."""

        def __call__(self, *sample: Any) -> Any:
            return LMS.learn(*sample)

    mine = replace(algorithm("pao-fed-u1", shared=2), name="mine", learner=Learner(learn=Step()))
    with pytest.warns(
        PaofedWarning, match="^the reference engine takes mine: it cannot be"
    ) as told:
        result = run(scenario(), mine, workers=1)
    (reason,) = result.provenance["refused"].values()
    assert [str(one.message) for one in told] == [f"the reference engine takes mine: {reason}"]
    assert told[0].filename == __file__
