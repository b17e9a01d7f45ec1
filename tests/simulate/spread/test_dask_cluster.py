"""Dask's workers compute what this machine computes; what cannot work is one line."""

import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import LocalCluster, get_worker
from distributed.security import Security
from distributed.versions import get_versions

from paofed.algorithms import ALGORITHMS
from paofed.algorithms.setup import resolve
from paofed.errors import InputError
from paofed.simulate.montecarlo import run
from paofed.simulate.results.result import Result
from paofed.simulate.spread import dask_cluster, handing, jobs
from paofed.simulate.spread.dask_cluster import dask_executor
from paofed.simulate.spread.identity import program
from paofed.world.scenario import Scenario
from paofed.world.streams import Synthetic
from tests.effort import effort, long, some
from tests.natures import small_scenario

SCENARIO = small_scenario()
NAMES = ["online-fedsgd", "pao-fed-u1"]
RUNS = 12
OWN = """
from dataclasses import replace
from paofed import algorithm

def halved(name="halved"):
    return replace(algorithm("pao-fed-u1"), name=name, step_size=0.2)
"""


@pytest.fixture(autouse=True)
def _small_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a small piece of work has several."""
    monkeypatch.setattr(jobs, "MOST", 2)


def kept(result: Result, path: Path) -> bytes:
    result.save(path)
    return path.read_bytes()


class At(Executor):
    """An executor at whose n-th piece of work something happens first."""

    def __init__(self, executor: Executor, number: int, happens: Callable[[], None]) -> None:
        self._executor, self._left, self._happens = executor, number, happens

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        self._left -= 1
        if self._left == 0:
            self._happens()
        return self._executor.submit(fn, *args, **options)


@pytest.fixture(scope="module")
def two_processes() -> Iterator[Executor]:
    with dask_executor(workers=2) as executor:
        yield executor


@long
@pytest.mark.parametrize("engine", some(["reference", "fast"], everyday=1))
def test_a_worker_is_killed_and_no_bit_differs(
    two_processes: Executor, engine: str, tmp_path: Path
) -> None:
    plain = run(SCENARIO, NAMES, runs=RUNS, seed=3, engine=engine)
    victim = two_processes.submit(os.getpid).result()
    executor = At(two_processes, RUNS // 4, lambda: os.kill(victim, signal.SIGKILL))
    spread = run(SCENARIO, NAMES, runs=RUNS, seed=3, engine=engine, executor=executor)
    assert kept(spread, tmp_path / "a.npz") == kept(plain, tmp_path / "b.npz")


def _folder_of_worker() -> Path:
    return Path(get_worker().local_directory)


@long
def test_workers_keep_what_they_keep_in_a_folder_of_our_own(two_processes: Executor) -> None:
    """Dask's own would be TMPDIR/dask-scratch-space, which anybody may have made before us."""
    folder = two_processes.submit(_folder_of_worker).result()
    place = next(above for above in folder.parents if above.name.startswith("paofed-"))
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_the_paper_s_rows_are_the_same_on_processes_as_on_threads(
    two_processes: Executor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()  # jobs as large as they are
    subset = ("online-fed", "pso-fed")
    rows = [f"{name}:subset=4" if name in subset else name for name in ALGORITHMS]
    setting, ticks = Scenario.load("setting-1"), effort(everyday=200, thorough=2000)
    assert isinstance(setting.stream, Synthetic)
    samples = tuple(ticks * count // setting.ticks for count in setting.stream.samples)
    stream = setting.stream.model_copy(update={"samples": samples})
    scenario = setting.model_copy(update={"ticks": ticks, "stream": stream})
    runs = effort(everyday=4, thorough=12)
    plain = run(scenario, rows, runs=runs)
    spread = run(scenario, rows, runs=runs, executor=two_processes)
    assert kept(spread, tmp_path / "a.npz") == kept(plain, tmp_path / "b.npz")


def test_workers_need_no_file_of_a_method(two_processes: Executor, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    method = resolve(f"{file}:halved")
    plain = run(SCENARIO, [method], runs=3, engine="reference")
    executor = At(two_processes, 1, file.unlink)
    spread = run(SCENARIO, [method], runs=3, engine="reference", executor=executor)
    assert not file.exists()
    assert kept(spread, tmp_path / "a.npz") == kept(plain, tmp_path / "b.npz")


def test_a_worker_with_another_program_refuses(
    two_processes: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {**program(), "numpy": "1.0"}
    monkeypatch.setattr(handing, "program", lambda: other)
    with pytest.raises(InputError, match=r"the worker on \S+ has numpy \S+ instead of 1\.0: inst"):
        run(SCENARIO, NAMES, executor=two_processes)


# What cannot work.


def refused(address: str) -> str:
    with pytest.raises(InputError) as caught, dask_executor(address):
        pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "127.0.0.1:http", "carrier://pigeon:1", "tls://127.0.0.1:1"]
)
def test_nobody_answers(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "_PATIENCE", 1.0)  # nobody ever does
    said = refused(address)
    assert said.startswith(f"no Dask scheduler answers at {address} (")
    assert said.endswith(
        "): expected an address such as tcp://host:8786, where `dask scheduler` runs"
    )


def test_something_else_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "_PATIENCE", 1.0)  # nobody ever answers
    with socket.create_server(("127.0.0.1", 0)) as silent:
        said = refused(f"tcp://127.0.0.1:{silent.getsockname()[1]}")
    assert said.startswith("no Dask scheduler answers")


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    """A scheduler in this process, to which others can talk."""
    with LocalCluster(
        n_workers=0, processes=False, protocol="tcp", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


def test_there_are_no_workers(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "_FOR_WORKERS", 0.1)
    address = cluster.scheduler_address
    assert refused(address) == (
        f"the Dask scheduler at {address} has no workers: start some, as in "
        f"`dask worker {address}`, then try again"
    )


def test_another_dask(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    here = get_versions()
    ours = {"packages": {**here["packages"], "distributed": "1999.1.0"}}
    monkeypatch.setattr(dask_cluster, "get_versions", lambda: ours)
    there = here["packages"]["distributed"]
    assert refused(cluster.scheduler_address) == (
        f"the scheduler at {cluster.scheduler_address} has distributed {there}, and here it is "
        f"1999.1.0: install the same versions on all machines"
    )


def test_a_worker_s_address_is_no_scheduler_s(cluster: LocalCluster) -> None:
    cluster.scale(1)
    cluster.wait_for_workers(1)
    (address,) = cluster.scheduler.workers
    assert "(InputError: it is a Worker)" in refused(address)


def test_with_certificates(tmp_path: Path) -> None:
    security, settings = Security.temporary(), {}
    parts = {
        "ca-file": "tls_ca_file",
        "client.cert": "tls_client_cert",
        "client.key": "tls_client_key",
    }
    for key, part in parts.items():
        file = tmp_path / key
        file.write_text(getattr(security, part))
        settings[f"distributed.comm.tls.{key}"] = str(file)
    with (
        LocalCluster(
            n_workers=1,
            processes=False,
            protocol="tls",
            security=security,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        dask.config.set(settings),
        dask_executor(cluster.scheduler_address) as executor,
    ):
        assert cluster.scheduler_address.startswith("tls://")
        assert executor.submit(os.getpid).result() == os.getpid()
