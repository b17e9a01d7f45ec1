"""What a run over a table of readings takes: time by stage, and memory."""

import resource
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from paofed.algorithms import Algorithm
from paofed.simulate import fast
from paofed.simulate.montecarlo import run
from paofed.simulate.result import curve_ticks
from paofed.simulate.tables import baselines_of, one_thread_algebra
from paofed.world.scenario import Scenario
from paofed.world.table import readings

COLD_STARTS = 12


class Cost(NamedTuple):
    """Seconds of each stage of one run, and the most memory that the process ever had."""

    reading: float
    algorithms: float
    baselines: float
    newcomers: float
    everything: float  # in one call, from the file on
    peak_megabytes: float


def cost(scenario: Scenario, methods: Sequence[Algorithm]) -> Cost:
    """Take each stage on its own, once the kernels are compiled, then everything in one call."""
    every = max(10, scenario.ticks // 200)

    def algorithms() -> None:
        fast.run(scenario, methods, seed=0, world=0, run=0, every=every, precision="float32",
                 report=lambda _: None)  # fmt: skip

    def everything() -> None:
        readings.forget()
        run(scenario, methods, cold_starts=COLD_STARTS)

    algorithms()
    readings.forget()
    read = _seconds(lambda: scenario.table.read())
    alone = _seconds(algorithms)
    with one_thread_algebra():
        beside = _seconds(lambda: baselines_of(scenario, 0, 0, curve_ticks(scenario.ticks, every)))
    whole = _seconds(everything)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return Cost(read, alone, beside, whole - read - alone - beside, whole, peak)


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
