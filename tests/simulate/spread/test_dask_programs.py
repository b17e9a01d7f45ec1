"""`paofed run --on dask:...` and the programs around it, some of which are killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from paofed.errors import InputError
from paofed.simulate.montecarlo import run
from paofed.simulate.spread.dask_cluster import dask_executor
from tests.effort import in_ci
from tests.live.brokers import until
from tests.live.shell import follow
from tests.natures import small_scenario
from tests.ports import free_port
from tests.simulate.spread.dask_processes import PATIENCE, ROOT, scheduler, worker

pytestmark = pytest.mark.skipif(not in_ci(), reason="several programs: CI runs them")

RUNS = 30
# Jobs of one run, so that there are many; no line of progress, however long a busy machine takes.
PAOFED = """
import signal, sys
from paofed.cli import main
from paofed.cli.shared import progress
from paofed.simulate.spread import jobs
jobs.MOST = 1
progress._ELSEWHERE = float("inf")
signal.signal(signal.SIGINT, signal.default_int_handler)  # however the tests were started
sys.exit(main())
"""
# A method whose runs do not begin while there are as many jobs as are allowed: so no program can
# end before a slow test has done to it what the test is about.
HELD = """
import time
from dataclasses import replace
from pathlib import Path
from paofed import algorithm
from paofed.core.parts import zero_weights
from paofed.core.rules import LMS

FOLDER = {folder!r}

def begin(features):
    jobs, allowed = Path(FOLDER, "jobs"), Path(FOLDER, "allowed")
    while len(list(jobs.rglob("*.npz"))) >= int(allowed.read_text()):
        time.sleep(0.01)
    return zero_weights(features)

held = replace(algorithm("pao-fed-u1"), name="held", learner=replace(LMS, init=begin))
"""


def allow(folder: Path, jobs: int) -> None:
    """Let runs begin until there are so many jobs; a few more may have begun by then."""
    (folder / "soon").write_text(str(jobs))
    (folder / "soon").replace(folder / "allowed")


@contextmanager
def started(folder: Path, *more: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a long run in a session of its own, which keeps its jobs."""
    scenario, method = folder / "small.toml", folder / "held.py"
    scenario.write_text(small_scenario().to_toml())
    method.write_text(HELD.format(folder=str(folder)))
    words = ["run", str(scenario), "--algorithm", f"{method}:held", "--engine", "reference"]
    words += ["--runs", str(RUNS), "--store", str(folder / "jobs"), *more]
    process = subprocess.Popen(  # noqa: S603 (our own program)
        [sys.executable, "-c", PAOFED, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def kept(folder: Path) -> dict[str, int]:
    """The finished jobs, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "jobs").rglob("*.npz")}


def session(leader: int) -> list[int]:
    """The processes of a session that are still there."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone meanwhile
            state = path.joinpath("stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and os.getsid(int(path.name)) == leader:
                found.append(int(path.name))
    return found


def test_a_killed_client_goes_on(tmp_path: Path) -> None:
    """A worker is killed, too; the scheduler goes on all the time."""
    out = tmp_path / "out.npz"
    allow(tmp_path, 3)
    with scheduler(tmp_path) as (address, _), worker(address, tmp_path):
        on = f"dask:{address}"
        with (
            worker(address, tmp_path, count=2) as victim,
            started(tmp_path, "--on", on) as client,
        ):
            until(lambda: len(kept(tmp_path)) >= 3, PATIENCE)
            victim.kill()
            some = len(kept(tmp_path)) + 3
            allow(tmp_path, some)
            until(lambda: len(kept(tmp_path)) >= some, PATIENCE)
            client.kill()
            assert client.wait() == -signal.SIGKILL
        before = kept(tmp_path)
        assert some <= len(before) < RUNS
        allow(tmp_path, RUNS + 1)
        with started(tmp_path, "--on", on, "--out", str(out)) as client:
            _, said = client.communicate(timeout=3 * PATIENCE)
        assert client.returncode == 0, said
    assert f"had {len(before)} of {RUNS} runs already\n" in said
    after = kept(tmp_path)
    assert {name: after[name] for name in before} == before
    assert len(after) == RUNS
    plain = run(
        tmp_path / "small.toml", f"{tmp_path / 'held.py'}:held", engine="reference", runs=RUNS
    )
    plain.save(tmp_path / "plain.npz")
    assert out.read_bytes() == (tmp_path / "plain.npz").read_bytes()


def test_ctrl_c_ends_a_local_cluster_in_good_order(tmp_path: Path) -> None:
    allow(tmp_path, 1)
    with started(tmp_path, "--on", "dask", "--workers", "2") as client:
        until(lambda: kept(tmp_path), PATIENCE)
        os.killpg(client.pid, signal.SIGINT)  # as a terminal does
        allow(tmp_path, RUNS + 1)
        _, said = client.communicate(timeout=PATIENCE)
    assert client.returncode == 130
    lines = said.splitlines()
    # The last job may be on disk and not yet in the result, which then has nothing to be kept.
    assert [line for line in lines if line.startswith("interrupted")]
    assert [line for line in lines if line.startswith("finished jobs are kept in ")]
    assert "Traceback" not in said
    until(lambda: not session(client.pid), PATIENCE)


def test_a_scheduler_that_ends_is_one_line(tmp_path: Path) -> None:
    allow(tmp_path, 1)
    with (
        scheduler(tmp_path) as (address, process),
        worker(address, tmp_path),
        started(tmp_path, "--on", f"dask:{address}") as client,
    ):
        until(lambda: kept(tmp_path), PATIENCE)
        process.kill()
        _, said = client.communicate(timeout=PATIENCE)
    assert client.returncode == 2
    assert said.count("\n") == 1, said


def refused(address: str) -> str:
    with pytest.raises(InputError) as caught, dask_executor(address):
        pass
    return str(caught.value)


def test_workers_that_cannot_compute_for_us(tmp_path: Path) -> None:
    lacking = "import sys; sys.modules['paofed'] = None"
    older = (
        "import distributed.versions as v; now = v._version_cached; "
        "v._version_cached = lambda name: '2001.1' if name == 'dask' else now(name)"
    )
    with scheduler(tmp_path) as (address, _):
        with worker(address, tmp_path, lacking):
            assert "has no paofed: install the same version there, with pip" in refused(address)
        with worker(address, tmp_path, older):
            assert " has dask 2001.1, and here it is " in refused(address)


def test_the_document_is_true(tmp_path: Path) -> None:
    """With a port of our own, and patience where a reader has some."""
    port = free_port()
    there = f"tcp://127.0.0.1:{port}"
    wait = (
        "from distributed import Client\n"
        f"with Client('{there}', timeout={PATIENCE}) as client:\n"
        f"    client.wait_for_workers(2, timeout={PATIENCE})\n"
    )
    (tmp_path / "wait.py").write_text(wait)

    def elsewhere(text: str) -> str:
        text = text.replace("8786", str(port)).replace(
            "dask scheduler", "dask scheduler --host 127.0.0.1 --dashboard-address 127.0.0.1:0"
        )
        return f"{text}\npython wait.py" if text.startswith("dask worker") else text

    follow("docs/clusters.md", tmp_path, elsewhere, programs=())
