"""Measure what a run over a table of readings takes: time by stage, and memory."""

import json
import math
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
_OFTEN = 0.8  # of the ticks of `many_readings` in which a device is read


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
    add = parser.add_argument
    add("--readings", type=int, metavar="N",
        help="measure over a table made for it, of so many readings, an hour apart")  # fmt: skip
    add("--devices", type=int, metavar="K", help="number of devices of that table (default: 1000)")
    add("--algorithm", nargs="+", default=[*LINEUP], metavar="NAME",
        help="run these (default: those that `paofed run` runs)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print."""
    methods = [resolve(text) for text in args.algorithm]
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
    if args.devices is not None and args.readings is None:
        raise InputError("--devices is of a table made for it: give its --readings, too")
    asked = {"--sparse": args.sparse, "--readings": args.readings is not None}
    made = [option for option, given in asked.items() if given]
    if not made:
        scenario = worlds.world_of(args)
        worlds.tell(scenario, args)
        return scenario
    if len(made) > 1 or args.scenario is not None or args.table is not None:
        raise InputError(f"{made[0]} makes a table of its own: leave every other one out")

    if args.sparse:
        return long_life(folder)
    return many_readings(folder, args.readings, 1000 if args.devices is None else args.devices)


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
    """Return a fleet that was read seldom over a long life.

    17,000 readings of 655 devices over 50 years, in ticks of six hours.
    """
    ticks = int(_YEARS * 365.25 * 24) // _HOURS
    return _made(folder, "long-life", _READINGS, _DEVICES, ticks, _HOURS)


def many_readings(folder: Path, readings: int, devices: int) -> Scenario:
    """Return a fleet that is read every hour, with a fifth of the readings missing."""
    if not 1 <= devices <= readings:
        raise InputError(
            f"--readings {readings} --devices {devices}: expected a device or more, and a reading "
            "or more of each"
        )

    ticks = math.ceil(readings / _OFTEN / devices)
    return _made(folder, "many-readings", readings, devices, ticks, 1)


def _made(folder: Path, name: str, readings: int, devices: int, ticks: int, hours: int) -> Scenario:
    """Return a fleet with the laws of Setting I; its file is written into the folder."""
    rng, begin = np.random.default_rng(0), np.datetime64("1970-01-01", "h")
    cells = np.sort(rng.choice(ticks * devices, readings, replace=False))
    tick, device = np.divmod(cells, devices)
    own, (a, b, noise) = rng.normal(size=devices), rng.normal(size=(3, readings))
    columns = (device, begin + hours * tick, a, b, own[device] + np.sin(a) + a * b + noise / 10)
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    file = folder / f"{name}.csv"
    file.write_text("\n".join(["device,time,a,b,y", *lines]))
    laws = Scenario.load("setting-1").model_dump(exclude={"ticks", "clients", "kernel_width"})
    stream = {
        "kind": "table",
        "file": str(file),
        "device": "device",
        "time": "time",
        "target": "y",
        "inputs": ("a", "b"),
        "tick": f"{hours}h",
    }
    return Scenario.made({**laws, "name": name, "stream": stream}, name)


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
