"""What a run over a table of readings takes: time by stage, and memory."""

import resource
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from paofed.algorithms import Algorithm
from paofed.simulate.montecarlo import run
from paofed.simulate.stopping import ignored
from paofed.simulate.table.beside import baselines_of, one_thread_algebra
from paofed.simulate.table.coldstart import USUAL_COUNT, starts_of, with_cold_starts
from paofed.world.scenario import Scenario
from paofed.world.table import readings


class Cost(NamedTuple):
    """Seconds of each stage of one run, and the most memory that the process ever had."""

    reading: float
    algorithms: float
    baselines: float
    newcomers: float
    everything: float  # in one call, from the file on
    peak_megabytes: float


def cost(scenario: Scenario, methods: Sequence[Algorithm], workers: int) -> Cost:
    """Take each stage on its own, once the kernels are compiled, then everything in one call."""
    result = run(scenario, methods, workers=workers)
    starts = starts_of(scenario.table.read(), USUAL_COUNT)
    joining = result, scenario, methods, starts, workers, ignored

    def afresh(cold_starts: int) -> None:
        readings.forget()
        run(scenario, methods, cold_starts=cold_starts, workers=workers)

    readings.forget()
    read = _seconds(lambda: scenario.table.read())
    with one_thread_algebra():
        beside = _seconds(lambda: baselines_of(scenario, 0, 0, result.ticks, ignored))
    newcomers = _seconds(lambda: with_cold_starts(*joining))
    algorithms = _seconds(lambda: afresh(0)) - read - beside
    whole = _seconds(lambda: afresh(USUAL_COUNT))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return Cost(read, algorithms, beside, newcomers, whole, peak)


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
