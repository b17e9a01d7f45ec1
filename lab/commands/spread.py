"""Measure what it costs to spread work and to keep it, and what the client holds in memory."""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from paofed.algorithms import LINEUP
from paofed.cli.shared.progress import say
from paofed.errors import whole
from paofed.simulate.montecarlo import run as simulate
from paofed.simulate.results.result import Result
from paofed.words import counted, table

EXAMPLE = "python -m lab spread --runs 200"
ROUNDS = 3  # rounds, in turns, so that a noisy neighbour disturbs them all alike
_MORE = 4  # times as many runs, to see how memory grows


class SpreadCost(NamedTuple):
    """Seconds of a plain run, and of the same with a store or an executor.

    All are medians of the rounds.
    """

    runs: int
    plain_seconds: float
    times_plain: dict[str, float]
    # By the number of runs: peak memory less the result's own arrays.
    client_megabytes: dict[int, float]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "--runs",
        type=int,
        default=40,
        metavar="R",
        help="number of runs of each way (default: %(default)s)",
    )
    add("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print."""
    found = spread_cost("setting-1", LINEUP, whole("runs", args.runs, least=1), say)
    if args.json:
        print(json.dumps(found._asdict()))
        return 0
    rows = [["plain", f"{found.plain_seconds:.1f} s"]]
    rows += [[what, f"{times:.3f} times plain"] for what, times in found.times_plain.items()]
    rows += [
        [f"client's memory beside the result, {counted(runs, 'run')}", f"{megabytes:.0f} MB"]
        for runs, megabytes in found.client_megabytes.items()
    ]
    print(table([f"{counted(found.runs, 'run')} of Setting I", ""], rows))
    return 0


def spread_cost(
    scenario: str, lineup: Sequence[str], runs: int, say: Callable[[str], None]
) -> SpreadCost:
    """Measure runs of a scenario, by its name, on all cores, in turns."""
    cores = os.cpu_count() or 1
    pool = ProcessPoolExecutor(cores, mp_context=get_context("spawn"))
    with pool, tempfile.TemporaryDirectory() as place:
        folders = (Path(place) / str(number) for number in range(2 * ROUNDS))
        say("compiling or loading the kernels, also in the processes")
        simulate(scenario, lineup, runs=cores)
        simulate(scenario, lineup, runs=runs, executor=pool)
        seconds: dict[str, list[float]] = {}
        for number in range(ROUNDS):
            say(f"round {number + 1} of {ROUNDS}")
            kept, other = next(folders), next(folders)
            ways: dict[str, dict[str, Any]] = {
                "plain": {},
                "store": {"store": kept},
                "second start": {"store": kept},
                "executor": {"executor": pool},
                "executor and store": {"executor": pool, "store": other},
            }
            for what, crew in ways.items():
                begin = time.perf_counter()
                simulate(scenario, lineup, runs=runs, **crew)
                seconds.setdefault(what, []).append(time.perf_counter() - begin)
    usual = {what: statistics.median(found) for what, found in seconds.items()}
    plain = usual.pop("plain")
    say("memory of the client")
    memory = {count: _client_megabytes(scenario, lineup, count) for count in (runs, _MORE * runs)}
    return SpreadCost(runs, plain, {what: s / plain for what, s in usual.items()}, memory)


def _client_megabytes(scenario: str, lineup: Sequence[str], runs: int) -> float:
    """Return the peak memory of a new process that uses an executor, less what it returns."""
    command = [sys.executable, "-m", "lab.commands.spread", scenario, str(runs), *lineup]
    ended = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 (our own program)
    return float(json.loads(ended.stdout))


def _bytes_of(result: Result) -> int:
    return result.mse.nbytes + result.traffic.nbytes + result.models.nbytes


if __name__ == "__main__":
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as own:
        found = simulate(sys.argv[1], sys.argv[3:], runs=int(sys.argv[2]), executor=own)
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps((peak - _bytes_of(found)) / 1e6))
