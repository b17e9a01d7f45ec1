"""Measure what a run over a table of readings takes: time by stage, and memory."""

import json
import os
import resource
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from paofed.algebra import one_thread_algebra
from paofed.algorithms import LINEUP, Algorithm
from paofed.algorithms.setup import resolve
from paofed.cli.shared import worlds
from paofed.errors import InputError
from paofed.simulate.engines import USUAL, engine_of
from paofed.simulate.engines.task import Task
from paofed.simulate.montecarlo import run as simulate
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.stopping import ignored
from paofed.simulate.table import COLD_STARTS
from paofed.simulate.table.baselines import USUAL as USUAL_BASELINES
from paofed.simulate.table.coldstart import starts_of, with_cold_starts
from paofed.simulate.table.comparisons import judged_baselines
from paofed.words import table
from paofed.world.scenario import Scenario
from paofed.world.table import door

EXAMPLE = "python -m lab table air-quality"
# The size of `long_life`; a tick has that many hours.
_YEARS, _DEVICES, _READINGS, _HOURS = 50, 655, 17_000, 6


class Cost(NamedTuple):
    """Seconds of each stage of one run, and the largest memory of the process."""

    readings: int
    cells: int  # ticks times devices: places for readings, most of them empty
    reading: float
    algorithms: float
    baselines: float
    newcomers: float
    everything: float  # all stages in one call, from the file on
    peak_megabytes: float


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    worlds.add_arguments(parser)
    parser.add_argument(
        "--sparse", action="store_true",
        help="measure over a table made for it, nearly all gaps: 17,000 readings of 655 devices "
        "over 50 years",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print."""
    methods = [resolve(text) for text in LINEUP]
    with TemporaryDirectory() as folder:
        scenario = _scenario(args, Path(folder))
        found = cost(scenario, methods, os.cpu_count() or 1)
    if args.json:
        print(json.dumps(found._asdict()))
        return 0
    rows = [
        ["reading", f"{found.reading:.1f} s"],
        [f"{len(methods)} algorithms", f"{found.algorithms:.1f} s"],
        ["baselines", f"{found.baselines:.1f} s"],
        [f"every device joins late, {COLD_STARTS} times", f"{found.newcomers:.1f} s"],
        ["everything", f"{found.everything:.1f} s"],
        ["memory, at most", f"{found.peak_megabytes:.0f} MB"],
    ]
    size = f"{scenario.clients} devices, {scenario.ticks:,} ticks"
    print(table([f"{size}: {found.cells:,} cells, {found.readings:,} readings", ""], rows))
    return 0


def _scenario(args: Namespace, folder: Path) -> Scenario:
    if not args.sparse:
        scenario = worlds.world_of(args)
        worlds.tell(scenario, args)
        return scenario
    if args.scenario is not None or args.table is not None:
        raise InputError("--sparse makes a table of its own: leave SCENARIO and --table out")

    return long_life(folder)


def cost(scenario: Scenario, methods: Sequence[Algorithm], workers: int) -> Cost:
    """Measure each stage on its own, once the kernels are compiled, then all in one call."""
    result = TableResult.of(simulate(scenario, methods, workers=workers))
    readings = door.read(scenario.table)
    starts = starts_of(readings, COLD_STARTS)
    joining = result, scenario, methods, starts, workers, ignored
    task = Task(
        scenario,
        methods,
        seed=0,
        same_world=False,
        every=int(result.ticks[0]) + 1,
        precision="float32",
        runs=range(1),
        workers=workers,
    )

    def afresh() -> None:
        door.forget()
        simulate(scenario, methods, cold_starts=COLD_STARTS, workers=workers)

    door.forget()
    read = _seconds(lambda: door.read(scenario.table))
    algorithms = _seconds(lambda: list(engine_of(USUAL).run(task, ignored)))
    with one_thread_algebra():
        beside = _seconds(
            lambda: judged_baselines(scenario, 0, (0, 0), result.ticks, USUAL_BASELINES, ignored)
        )
    newcomers = _seconds(lambda: with_cold_starts(*joining))
    whole = _seconds(afresh)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    cells = scenario.ticks * scenario.clients
    return Cost(len(readings.y), cells, read, algorithms, beside, newcomers, whole, peak)


def long_life(folder: Path) -> Scenario:
    """Return a fleet that was read seldom over a long life, with the laws of Setting I.

    17,000 readings of 655 devices over 50 years, in ticks of six hours. Their file is written into
    the folder.
    """
    rng, begin = np.random.default_rng(0), np.datetime64("1970-01-01", "h")
    ticks = int(_YEARS * 365.25 * 24) // _HOURS
    cells = np.sort(rng.choice(ticks * _DEVICES, _READINGS, replace=False))
    tick, device = np.divmod(cells, _DEVICES)
    own, (a, b, noise) = rng.normal(size=_DEVICES), rng.normal(size=(3, _READINGS))
    columns = (device, begin + _HOURS * tick, a, b, own[device] + np.sin(a) + a * b + noise / 10)
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    file = folder / "long-life.csv"
    file.write_text("\n".join(["device,time,a,b,y", *lines]))
    laws = Scenario.load("setting-1").model_dump(exclude={"ticks", "clients", "kernel_width"})
    stream = {
        "kind": "table",
        "file": str(file),
        "device": "device",
        "time": "time",
        "target": "y",
        "inputs": ("a", "b"),
        "tick": f"{_HOURS}h",
    }
    return Scenario.made({**laws, "name": "long-life", "stream": stream}, "long-life")


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
