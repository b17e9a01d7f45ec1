"""Time per client update and algorithm: reference, vectorised NumPy, compiled engine, plain C."""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import NamedTuple

from lab.benchmarks import vectorised
from paofed.algorithms import Algorithm
from paofed.algorithms.setup import resolve
from paofed.simulate.engines import reference
from paofed.simulate.engines.fast import family as fast
from paofed.simulate.montecarlo import run
from paofed.world.realize import realize
from paofed.world.scenario import Scenario

LINEUP = (
    "online-fedsgd",
    "pao-fed-c0",
    "pao-fed-u0",
    "pao-fed-c1",
    "pao-fed-u1",
    "pao-fed-c2",
    "pao-fed-u2",
    "pao-fed-u1:shared=32",
)
FLAGS = ("-O3", "-march=native", "-ffast-math")
ROUNDS = 7  # rounds of all quick ways, in turns, so that a noisy neighbour disturbs them all alike
_C_ROUNDS = 1250  # as many updates as a run of Setting I has


class Timing(NamedTuple):
    """The time of one way to do the work."""

    what: str
    nanoseconds: float  # of wall time per client update and algorithm, median of the rounds
    note: str


def side_by_side(say: Callable[[str], None]) -> list[Timing]:
    """Measure all ways in one run, on Setting I with 8 algorithms, a point every 10 ticks."""
    setting = Scenario.load("setting-1")
    methods = [resolve(text) for text in LINEUP]
    updates = sum(setting.synthetic.samples_of(setting.clients)) * len(methods)
    cores = os.cpu_count() or 1
    with _inner_loop(say) as inner:
        ways: dict[str, Callable[[], float]] = {
            "fast, 1 thread": lambda: _runs(setting, methods, 1) / updates,
            f"fast, {cores} threads": lambda: _runs(setting, methods, cores) / (cores * updates),
        }
        if inner is not None:
            ways["inner loop in C, 1 thread"] = lambda: 1e-9 * _c(inner)
        say("compiling or loading the kernels")
        _runs(setting, methods, 1)
        seconds: dict[str, list[float]] = {what: [] for what in ways}
        for number in range(ROUNDS):
            say(f"round {number + 1} of {ROUNDS}")
            for what, measure in ways.items():
                seconds[what].append(measure())
    notes = {"inner loop in C, 1 thread": f"cc {' '.join(FLAGS)}: map, dot, update only"}
    say("vectorised NumPy and the reference, on fewer ticks")
    slow = [_vectorised(setting, methods), _reference(setting, methods)]
    quick = [
        Timing(what, 1e9 * statistics.median(s), notes.get(what, "whole simulation"))
        for what, s in seconds.items()
    ]
    return [*slow, *quick]


def _runs(setting: Scenario, methods: list[Algorithm], threads: int) -> float:
    begin = time.perf_counter()
    run(setting, methods, runs=threads, workers=threads)
    return time.perf_counter() - begin


def _vectorised(setting: Scenario, methods: list[Algorithm]) -> Timing:
    short = _shortened(setting, 500)
    begin = time.perf_counter()
    trace = realize(short)
    for method in methods:
        vectorised.replay(trace, method, short.step_size, short.max_age, every=10)
    seconds = time.perf_counter() - begin
    return Timing(
        "vectorised NumPy",
        1e9 * seconds / (trace.has_data.sum() * len(methods)),
        "whole simulation",
    )


def _reference(setting: Scenario, methods: list[Algorithm]) -> Timing:
    short = _shortened(setting, 100)
    begin = time.perf_counter()
    trace = realize(short)
    for method in methods:
        reference.replay(trace, method)
    seconds = time.perf_counter() - begin
    return Timing(
        "reference",
        1e9 * seconds / (trace.has_data.sum() * len(methods)),
        "whole simulation, one client at a time",
    )


def _shortened(setting: Scenario, ticks: int) -> Scenario:
    """Return the scenario with the same rates over fewer ticks."""
    samples = tuple(s * ticks // setting.ticks for s in setting.synthetic.samples)
    stream = setting.synthetic.model_copy(update={"samples": samples})
    return setting.model_copy(update={"ticks": ticks, "stream": stream})


class _inner_loop:  # noqa: N801 (used like a function)
    """Compiles the inner loop in C on the spot; yields None where there is no compiler."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._folder = tempfile.TemporaryDirectory()

    def __enter__(self) -> Path | None:
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            self._say("no C compiler found: the inner loop in C is left out")
            return None
        program = Path(self._folder.name) / "inner"
        with as_file(files("lab.benchmarks") / "inner.c") as source:
            command = [compiler, *FLAGS, str(source), "-o", str(program), "-lm"]
            subprocess.run(command, check=True)  # noqa: S603 (the compiler, on our own source)
        return program

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def _c(program: Path) -> float:
    done = subprocess.run(  # noqa: S603 (compiled just now)
        [str(program), str(_C_ROUNDS)], capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[0])


class Size(NamedTuple):
    """One row of the scaling table."""

    clients: int
    features: int
    algorithms: int
    nanoseconds: float
    megabytes: float


SIZES = (
    (256, 200, 1), (1_000, 200, 1), (10_000, 200, 1), (100_000, 200, 1), (1_000_000, 200, 1),
    (256, 50, 8), (256, 200, 8), (256, 800, 8),
    (256, 200, 2), (256, 200, 4), (256, 200, 16),
)  # fmt: skip


def scaling(say: Callable[[str], None]) -> Iterator[Size]:
    """Measure time and memory over sizes, each in a process of its own, on one thread."""
    for size in SIZES:
        say("{:,} clients, {} features, {} algorithms".format(*size))
        done = subprocess.run(  # noqa: S603 (our own program)
            [sys.executable, "-m", "lab.benchmarks.speed", *map(str, size)],
            capture_output=True,
            text=True,
            check=True,
        )
        yield Size(*size, *json.loads(done.stdout))


def _measure(clients: int, features: int, algorithms: int) -> tuple[float, float]:
    """Return nanoseconds per update and algorithm, and the process's largest memory in MB."""
    setting = Scenario.load("setting-1")
    ticks = max(32, min(20_000, 20_000_000 // clients // algorithms))
    shape = _shortened(setting, ticks - ticks % 4).model_copy(
        update={"clients": clients // 16 * 16, "features": features}
    )
    base = resolve("pao-fed-u1")
    methods = [resolve(f"pao-fed-u1:max_age={10 + i}") for i in range(algorithms - 1)] + [base]

    def once(setting: Scenario) -> float:
        begin = time.perf_counter()
        fast.run(setting, methods, seed=0, world=0, run=0, every=setting.ticks,
                 precision="float32", report=lambda _: None)  # fmt: skip
        return time.perf_counter() - begin

    # Compiles the kernels before the clock starts.
    once(_shortened(setting, 4).model_copy(update={"features": features}))
    seconds = once(shape)
    updates = int(shape.synthetic.samples_of(shape.clients).sum()) * algorithms
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return 1e9 * seconds / updates, memory


if __name__ == "__main__":
    print(json.dumps(_measure(*map(int, sys.argv[1:]))))  # noqa: T201 (read by `scaling`)
