"""The same numbers whoever computes them, in whatever order, however often, and after any end."""

import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed import Interrupted, race
from paofed.algorithms import Algorithm
from paofed.errors import ExecutorError, FileError, InputError, TraceError
from paofed.simulate.engines import reference_engine
from paofed.simulate.engines.fast import family
from paofed.simulate.montecarlo import run
from paofed.simulate.results.result import Result
from paofed.simulate.spread import handing, identity, jobs, spreading
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from paofed.world.trace import Trace
from paofed.world.worlds import Worlds
from tests.effort import effort
from tests.methods import OWN
from tests.natures import small_scenario as scenario
from tests.simulate.results.test_merging import saved
from tests.simulate.spread.executors import Unruly
from tests.world.table.tables import fleet, hourly, table, write

WORLD = scenario(ticks=30, stream={"samples": (15, 30)})
LINEUP = ["pao-fed-u1", "online-fedsgd"]
RUNS = 7


@pytest.fixture(autouse=True)
def _small_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs each at most; nobody waits for long."""
    monkeypatch.setattr(jobs, "MOST", 2)
    monkeypatch.setattr(jobs, "SECONDS", 1e9)  # however slow this machine is


@pytest.fixture
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs of a store are computed in their order."""
    monkeypatch.setattr(spreading, "any_of", min)


def plain(**asked: Any) -> Result:
    return run(WORLD, LINEUP, runs=RUNS, workers=1, **asked)


def computing(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Notes the places of the runs that the compiled engine computes in this process."""
    found: list[tuple[int, int]] = []
    compute = family.run

    def noting(*args: Any, **place: Any) -> Any:
        found.append((place["world"], place["run"]))
        return compute(*args, **place)

    monkeypatch.setattr(family, "run", noting)
    return found


def test_a_pool_of_threads_gives_the_same_bytes() -> None:
    with ThreadPoolExecutor(3) as pool:
        assert saved(plain(executor=pool, same_world=True)) == saved(plain(same_world=True))


def test_a_pool_of_new_processes_gives_the_same_bytes(tmp_path: Path) -> None:
    """With an algorithm from a file, which no process could import, and the reference engine."""
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from dataclasses import replace\n"
        "from paofed import algorithm\n"
        "mine = replace(algorithm('pao-fed-u1'), name='mine', step_size=0.3)\n"
    )
    asked: dict[str, Any] = {"runs": 3, "engine": "reference"}
    lineup: list[str | Algorithm] = [f"{mine}:mine", OWN]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = run(WORLD, lineup, executor=pool, **asked)
    assert saved(found) == saved(run(WORLD, lineup, workers=1, **asked))


@pytest.mark.parametrize("seed", range(effort(everyday=2, thorough=20)))
def test_an_executor_may_reorder_repeat_delay_and_fail(seed: int, tmp_path: Path) -> None:
    heard: list[float] = []
    executor = Unruly(seed)
    try:
        found = plain(executor=executor, store=tmp_path, report=heard.append)
    finally:
        executor.shutdown()
    assert saved(found) == saved(plain())
    assert {*executor.did} > {"nothing"}
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)
    assert saved(plain(executor=Refusing(), store=tmp_path)) == saved(found)


class Refusing(Executor):
    """Takes nothing."""

    def submit(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("cannot schedule new futures")


def test_an_executor_that_fails_for_good_is_one_line(tmp_path: Path) -> None:
    told = r"the executor failed 4 times at runs \d to \d .RuntimeError: cannot schedule new"
    with pytest.raises(ExecutorError, match=told):
        plain(executor=Refusing(), store=tmp_path)
    assert list(tmp_path.glob("*/*")) == []


@pytest.mark.usefixtures("in_order")
def test_an_error_of_a_worker_is_that_of_the_run_and_finished_jobs_are_kept(
    tmp_path: Path,
) -> None:
    def trace(world: int, _: int) -> Trace:
        if world == 5:
            raise ValueError("no such world")
        return realize(WORLD, world, 0, seed=3)

    worlds = Worlds("mine", trace)
    with ThreadPoolExecutor(1) as pool, pytest.raises(TraceError, match=r"mine, world 5.*no such"):
        run(worlds, LINEUP, runs=RUNS, executor=pool, store=tmp_path)
    assert run(worlds, LINEUP, runs=4, executor=Refusing(), store=tmp_path).runs == 4


def test_a_worker_with_another_program_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(1) as pool:
        here = identity.program()
        monkeypatch.setattr(
            "paofed.simulate.spread.handing.program", lambda: {**here, "numpy": "1"}
        )
        told = rf"the worker on .+ has numpy {np.__version__} instead of 1: install there"
        with pytest.raises(InputError, match=told):
            plain(executor=pool)


def test_a_worker_that_lacks_a_module_is_told() -> None:
    """A script imports a module beside it by name; a process that has not seen it cannot."""
    work = b"cnowhere_to_be_found\nname\n."  # a pickle of that name
    found = pickle.loads(handing.delivered(identity.program(), {}, work, range(1)))  # noqa: S301
    assert isinstance(found, InputError)
    assert "cannot read what it is to compute (ModuleNotFoundError: No module" in str(found)


def test_what_is_in_the_store_is_not_computed_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = computing(monkeypatch)
    first = run(WORLD, LINEUP, runs=4, workers=1, store=tmp_path)
    assert len(found) == 4
    more = plain(store=str(tmp_path))
    assert sorted(found[4:]) == [(4, 0), (5, 0), (6, 0)]
    assert saved(more) == saved(plain())
    np.testing.assert_array_equal(more.mse[:4], first.mse)


@pytest.mark.usefixtures("in_order")
def test_an_interrupt_keeps_finished_jobs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found, compute = computing(monkeypatch), family.run

    def interrupted(*args: Any, **place: Any) -> Any:
        if place["world"] == 5:
            raise KeyboardInterrupt
        return compute(*args, **place)

    monkeypatch.setattr(family, "run", interrupted)
    with pytest.raises(Interrupted) as interrupt:
        plain(store=tmp_path)
    assert interrupt.value.result is not None
    assert interrupt.value.result.runs >= 4
    monkeypatch.setattr(family, "run", compute)
    found.clear()
    again = saved(plain(store=tmp_path))
    assert {5} <= {world for world, _ in found} <= {4, 5, 6}
    assert again == saved(plain())


def test_faults_tables_and_several_engines_go_through_jobs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write(tmp_path / "t.csv", hourly(3, 40))
    liar = {"kind": "liar", "clients": 1, "push": 0.5}
    cases: list[tuple[Scenario, list[str | Algorithm]]] = [
        (scenario(ticks=12, stream={"samples": (6, 12)}, faults=[liar]), [OWN, "pao-fed-u1"]),
        (fleet(table(tmp_path / "t.csv")), ["pao-fed-u1:learner=rls"]),
    ]
    for world, lineup in cases:
        asked: dict[str, Any] = {"runs": 3, "workers": 1, "engine": "reference"}
        expected, store = run(world, lineup, **asked), tmp_path / world.name
        assert saved(run(world, lineup, store=store, **asked)) == saved(expected)
        with monkeypatch.context() as patch:
            patch.setattr(reference_engine, "run_reference", None)
            assert saved(run(world, lineup, store=store, **asked)) == saved(expected)


def test_a_table_that_changes_is_another_one(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", hourly(3, 40))
    world, store = fleet(table(path)), tmp_path / "store"
    asked: dict[str, Any] = {"workers": 1, "engine": "reference", "baselines": "none"}
    run(world, "pao-fed-u1", store=store, **asked)
    write(path, hourly(3, 40, seed=1))
    assert saved(run(world, "pao-fed-u1", store=store, **asked)) == saved(
        run(world, "pao-fed-u1", **asked)
    )
    assert len(list(store.rglob("*.npz"))) == 2


@pytest.mark.usefixtures("in_order")
def test_a_damaged_job_is_computed_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    expected = plain(store=tmp_path)
    paths = sorted(tmp_path.rglob("*.npz"))
    whole = paths[0].read_bytes()
    paths[0].write_bytes(whole[: len(whole) // 2])
    paths[1].write_bytes(paths[2].read_bytes())
    assert saved(plain(store=tmp_path)) == saved(expected)
    assert len(caplog.messages) == 2
    assert all(text.endswith("it is computed again") for text in caplog.messages)
    assert paths[0].read_bytes() == whole


def test_a_job_of_another_seed_is_not_taken_for_this_one_s(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    of_seed = {}
    for seed in (4, 5):
        before = {*tmp_path.rglob("*.npz")}
        run(WORLD, LINEUP, seed=seed, workers=1, store=tmp_path)
        (of_seed[seed],) = {*tmp_path.rglob("*.npz")} - before
    of_seed[4].write_bytes(of_seed[5].read_bytes())
    found = run(WORLD, LINEUP, seed=4, workers=1, store=tmp_path)
    assert saved(found) == saved(run(WORLD, LINEUP, seed=4, workers=1))
    (told,) = caplog.messages
    assert told.startswith(
        f"{of_seed[4]} is not this piece of the work: it holds the key of another"
    )
    assert told.endswith("; it is computed again")


def test_a_number_that_was_edited_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever writes the archive anew also writes the checksums of zip anew."""
    expected = plain(store=tmp_path)
    path, *_ = sorted(tmp_path.rglob("*.npz"))
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["mse"][0, 0, 0] *= 2
    np.savez_compressed(path, **arrays)
    assert saved(plain(store=tmp_path)) == saved(expected)
    (told,) = caplog.messages
    assert told.startswith(f"{path} is damaged or was edited: its checksum is not that of its cont")
    assert told.endswith("; it is computed again")
    caplog.clear()
    assert saved(plain(executor=Refusing(), store=tmp_path)) == saved(expected)
    assert caplog.messages == []


@pytest.mark.usefixtures("in_order")
def test_jobs_that_were_cut_otherwise_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another machine is faster, and makes larger jobs; a damaged one leaves a gap."""
    monkeypatch.setattr(jobs, "MOST", 4)
    expected = plain(store=tmp_path)
    assert max(len(jobs_in(path)) for path in tmp_path.rglob("*.npz")) > 2
    monkeypatch.setattr(jobs, "MOST", 1)
    path = max(tmp_path.rglob("*.npz"), key=lambda path: len(jobs_in(path)))
    path.write_bytes(b"")
    found = computing(monkeypatch)
    assert saved(plain(store=tmp_path)) == saved(expected)
    assert {world for world, _ in found} == {*jobs_in(path)}
    assert saved(plain(executor=Refusing(), store=tmp_path)) == saved(expected)


def jobs_in(path: Path) -> range:
    first, last = map(int, path.stem.split("-"))
    return range(first, last + 1)


class Noting(ThreadPoolExecutor):
    """Notes how many runs each job has."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.sizes = [*getattr(self, "sizes", []), len(args[-1])]
        return super().submit(fn, *args, **kwargs)


@pytest.mark.parametrize(("seconds", "alone"), [(1e-9, True), (1e9, False)])
def test_what_a_run_takes_decides_how_many_make_a_job(
    seconds: float, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every run takes longer than a nanosecond, and less than 30 years."""
    monkeypatch.setattr(jobs, "SECONDS", seconds)
    monkeypatch.setattr(jobs, "MOST", 100)
    most = 2 * (os.cpu_count() or 1)  # jobs that are out before the first is back
    with Noting(1) as pool:
        run(WORLD, LINEUP, runs=most + 40, executor=pool)
    assert pool.sizes[:most] == [1] * most
    assert (pool.sizes[most:] == [1] * 40) is alone
    assert alone or pool.sizes[most:] == [40]


def test_a_full_disk_is_told_once_and_loses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Files may not grow beyond a few bytes: too little for jobs."""
    expected = plain()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        found = plain(store=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert saved(found) == saved(expected)
    (told,) = caplog.messages
    assert told.startswith(f"{tmp_path} cannot be written (File too large): the work goes on")
    assert list(tmp_path.glob("*/*")) == []


def test_no_folder_and_no_executor_are_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot be made a directory"):
        plain(store=tmp_path / "file")
    with pytest.raises(InputError, match="store is 3: expected the path of a folder"):
        plain(store=3)
    with pytest.raises(InputError, match="executor is 'dask': expected one as concurrent"):
        plain(executor="dask")


def test_two_clients_share_the_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Both have everything in the end; what both began at once was computed twice."""
    found, results = computing(monkeypatch), list[Result]()

    def client() -> None:
        results.append(run(WORLD, LINEUP, runs=40, workers=1, store=tmp_path))

    clients = [threading.Thread(target=client) for _ in range(2)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    assert {world for world, _ in found} == {*range(40)}
    assert len(found) < 80
    assert saved(results[0]) == saved(results[1]) == saved(run(WORLD, LINEUP, runs=40))


# A client that ends for good in the middle of its work, as a machine without power does.
DYING = """
import os, signal, sys, time
from pathlib import Path
from paofed import run
from paofed.simulate.engines.fast import family
from paofed.simulate.spread import spreading, jobs
from tests.simulate.spread.test_spreading import LINEUP, RUNS, WORLD

compute = family.run

def dying(*args, **place):
    if place["world"] == 5:
        while len(list(Path(sys.argv[1]).rglob("*.npz"))) < 2:  # another thread writes them
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    return compute(*args, **place)

jobs.MOST, jobs.SECONDS, family.run, spreading.any_of = 2, 1e9, dying, min
run(WORLD, LINEUP, runs=RUNS, workers=1, store=sys.argv[1])
"""


def test_a_client_that_was_killed_goes_on_where_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = Path(__file__).parents[3]
    dead = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-c", DYING, str(tmp_path)], check=False, cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert dead.returncode == -signal.SIGKILL
    kept = {world for path in tmp_path.rglob("*.npz") for world in jobs_in(path)}
    assert {0, 1} <= kept < {*range(RUNS)}
    found = computing(monkeypatch)
    assert saved(plain(store=tmp_path)) == saved(plain())
    missing = [(world, 0) for world in range(RUNS) if world not in kept]
    assert sorted(found[: len(missing)]) == missing


def test_a_race_takes_an_executor_and_a_store(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"rounds": 1, "seed": 1}
    with ThreadPoolExecutor(1) as pool:
        first = race(WORLD, LINEUP, executor=pool, store=tmp_path, **asked)
    again = race(WORLD, LINEUP, executor=Refusing(), store=tmp_path, **asked)
    assert first == again == race(WORLD, LINEUP, workers=1, **asked)
