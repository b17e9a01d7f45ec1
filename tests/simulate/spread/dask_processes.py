"""Dask's own programs, each a process: schedulers and workers that can be killed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from distributed import Client

from tests.live.brokers import until

ROOT = Path(__file__).parents[3]
PATIENCE = 120.0  # seconds, on a machine that has others to serve
_DASK = "from dask.__main__ import main; main()"


class Scheduler(NamedTuple):
    """A scheduler that others can talk to."""

    address: str
    process: "subprocess.Popen[bytes]"


@contextmanager
def _dask(folder: Path, first: str, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command of Dask's in a folder of its own, after a line of Python."""
    with (folder / f"{words[0]}.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 (our own program)
            [
                sys.executable,
                "-c",
                f"{first}\n{_DASK}",
                *words,
                "--dashboard-address",
                "127.0.0.1:0",
            ],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def scheduler(folder: Path) -> Iterator[Scheduler]:
    """Run a scheduler."""
    file = folder / "scheduler.json"
    words = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)]
    with _dask(folder, "", *words) as process:
        until(lambda: file.exists() and file.read_text().endswith("}"), PATIENCE)
        yield Scheduler(json.loads(file.read_text())["address"], process)


@contextmanager
def worker(
    address: str, folder: Path, first: str = "", count: int = 1
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a worker, and wait until the scheduler knows so many of them."""
    words = ["worker", address, "--no-nanny", "--nthreads", "1", "--local-directory", str(folder)]
    with _dask(folder, first, *words) as process:
        with Client(address, timeout=PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=PATIENCE)
        yield process
