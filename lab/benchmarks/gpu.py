"""The GPU engine beside JAX and the processor, and beside what the card could do at best."""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numba import cuda

from lab.benchmarks.speed import LINEUP
from paofed.algorithms.setup import resolve
from paofed.report.shared.figures import legend_beside, literal
from paofed.report.shared.looks import styles
from paofed.report.shared.style import Drawing, styled
from paofed.simulate.engines import engine_of
from paofed.simulate.engines.gpu.card import free_memory, the_card, zeros
from paofed.simulate.engines.gpu.layout import DrawnRuns
from paofed.simulate.engines.gpu.simulation import STRETCH_BYTES
from paofed.simulate.engines.task import Task
from paofed.simulate.stopping import ignored
from paofed.words import counted
from paofed.world.scenario import Scenario

ROUNDS = 3
_CELL_BYTES = 24  # bytes for what happens to a client at a tick, in float32
_LISTED_BYTES = 28  # bytes of the same in the list of a tick
GPU_ENGINE = "gpu engine"
_ALONE = "pao-fed-u1"  # the algorithm that JAX and the large fleet run
_LANES = 128  # float32 units of a multiprocessor
# Operations of a sample for each feature: the products of the map, a cosine counted as eight, to
# predict, and to learn.
_EACH_FEATURE = 2 * 4 + 8 + 2 + 2
_COPIED, _COPIES = 4 << 30, 8  # bytes of a copy, and how many copies are timed


class CardFigures(NamedTuple):
    """The size and speed of the card."""

    name: str
    multiprocessors: int
    gigahertz: float
    bandwidth: float  # bytes a second, measured by a copy within the card: read and written
    flops: float  # float32 operations a second, from the figures above


class Way(NamedTuple):
    """The time of one way to run Setting I."""

    what: str
    milliseconds: float  # of wall time per algorithm and run, median of the rounds
    note: str


class LargeFleet(NamedTuple):
    """Time and memory of one large fleet."""

    clients: int
    milliseconds: float  # per tick
    limit: float  # milliseconds per tick at best: all that learns is read and written once
    gigabytes: float  # of the card's memory


def figures() -> CardFigures:
    """Measure the card."""
    card = the_card()
    here, there = zeros((_COPIED,), np.uint8), zeros((_COPIED,), np.uint8)
    seconds = []
    for _ in range(ROUNDS + 1):
        cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(_COPIES):
            there.copy_to_device(here)
        cuda.synchronize()
        seconds.append((time.perf_counter() - begin) / _COPIES)
    clock = cuda.get_current_device().CLOCK_RATE / 1e6
    flops = 2 * _LANES * card.multiprocessors * clock * 1e9
    bandwidth = 2 * _COPIED / statistics.median(seconds[1:])
    return CardFigures(card.name, card.multiprocessors, clock, bandwidth, flops)


def least_milliseconds(card: CardFigures) -> float:
    """Return the least time of one algorithm and run of Setting I, if only arithmetic took time."""
    return 1e3 * _operations(Scenario.load("setting-1")) / card.flops


def _operations(setting: Scenario) -> float:
    """Count the operations of one algorithm and run."""
    samples = int(setting.synthetic.samples_of(setting.clients).sum())
    return float(samples * setting.features * _EACH_FEATURE)


def on_the_roofline(
    ways: Sequence[Way], fleets: Sequence[LargeFleet], bandwidth: float
) -> list[tuple[str, float, float]]:
    """Return programs with their operations for each byte of memory, and operations a second.

    These are the whole runs of the GPU engine, for which only what happens comes from the card's
    memory, and the largest of the large fleets, which reads and writes models.
    """
    setting = Scenario.load("setting-1")
    operations = _operations(setting)
    happens = _LISTED_BYTES * setting.clients * setting.ticks
    found = [
        ("whole runs", operations / happens, 1e3 * operations / way.milliseconds)
        for way in ways
        if way.what == GPU_ENGINE
    ]
    if fleets:
        largest = max(fleets, key=lambda fleet: fleet.clients)
        intensity = _EACH_FEATURE / 8  # a number of a model is read and written in float32
        share = largest.limit / largest.milliseconds
        name = f"a fleet of {largest.clients:,} clients"
        found.append((name, intensity, share * bandwidth * intensity))
    return found


def side_by_side(runs: int, say: Callable[[str], None]) -> list[Way]:
    """Run Setting I on the card, on the processor and, where it is installed, in JAX."""
    setting = Scenario.load("setting-1")
    say(f"{counted(runs, 'run')} of {len(LINEUP)} algorithms on the card")
    on_card = [_engine(setting, "gpu", LINEUP, runs) for _ in range(ROUNDS + 1)][1:]
    found = [
        Way(
            GPU_ENGINE, 1e3 * statistics.median(on_card) / (runs * len(LINEUP)),
            f"{counted(runs, 'run')} x {len(LINEUP)} algorithms",
        )
    ]  # fmt: skip
    cores = os.cpu_count() or 1
    say(f"the fast engine on {cores} cores")
    on_cpu = [_engine(setting, "fast", LINEUP, cores) for _ in range(2)][-1]
    found.append(
        Way(
            "fast engine",
            1e3 * on_cpu / (cores * len(LINEUP)),
            f"a run on each of {cores} cores",
        )
    )
    if find_spec("jax") is None:
        say("JAX is not installed: its scan is left out")
        return found
    say(f"{counted(runs, 'run')} of {_ALONE}, {len(LINEUP)} times, in JAX")
    note = f"{counted(runs, 'run')} x {len(LINEUP)} times {_ALONE}"
    return [*found, Way("JAX scan", _jax(setting, runs), note)]


def _task(setting: Scenario, methods: tuple[str, ...], every: int, runs: int) -> Task:
    return Task(
        setting,
        [resolve(text) for text in methods],
        seed=0,
        same_world=False,
        every=every,
        precision="float32",
        runs=range(runs),
        workers=os.cpu_count() or 1,
    )


def _engine(setting: Scenario, name: str, methods: tuple[str, ...], runs: int) -> float:
    task = _task(setting, methods, 10, runs)
    begin = time.perf_counter()
    for _ in engine_of(name).run(task, ignored):
        pass
    return time.perf_counter() - begin


def _jax(setting: Scenario, runs: int) -> float:
    # Leaves memory of the card to the GPU engine.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    from lab.benchmarks.jax_scan import prepared

    places: Any = [{"seed": 0, "world": index, "run": 0, "every": 10} for index in range(runs)]
    drawn = DrawnRuns(setting, places, "float32")
    fleet = drawn.fleet(np.arange(9, setting.ticks, 10))
    stretch = drawn.stretch(0, setting.ticks, lottery=False)
    once = prepared(
        stretch.sample.copy_to_host(), stretch.event.copy_to_host(),
        fleet.frequencies.copy_to_host(), fleet.phases.copy_to_host(),
        copies=len(LINEUP), shared=4, mu=setting.step_size, max_age=setting.max_age,
    )  # fmt: skip
    seconds = []
    for _ in range(ROUNDS + 1):
        begin = time.perf_counter()
        once()
        seconds.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(seconds[1:]) / (runs * len(LINEUP))


def large_fleet(clients: int, card: CardFigures) -> LargeFleet:
    """Measure a large fleet with the rates of Setting I, over a few stretches of ticks."""
    setting = Scenario.load("setting-1")
    ticks = max(24, 16 * (STRETCH_BYTES // (_CELL_BYTES * clients) + 1) // 4)
    ticks -= ticks % 4
    samples = tuple(s * ticks // setting.ticks for s in setting.synthetic.samples)
    stream = setting.synthetic.model_copy(update={"samples": samples})
    large = setting.model_copy(update={"clients": clients, "ticks": ticks, "stream": stream})
    task = _task(large, (_ALONE,), ticks, 1)
    free, held = free_memory(), []
    ended: list[tuple[float, float]] = []

    def heard(share: float) -> None:
        cuda.synchronize()
        ended.append((share, time.perf_counter()))
        held.append(free - free_memory())

    for _ in engine_of("gpu").run(task, heard):
        pass
    # Without the first stretch, in which kernels are compiled.
    each = [(now - before) / (share * ticks) for (_, before), (share, now) in pairwise(ended)]
    learned = sum(samples) / len(samples) / ticks * clients
    limit = 1e3 * 2 * 4 * setting.features * learned / card.bandwidth
    return LargeFleet(clients, 1e3 * statistics.median(each), limit, max(held) / 1e9)


class Placed(NamedTuple):
    """A program on a roofline."""

    what: str
    intensity: float  # operations for each byte that comes from the card's memory or goes to it
    flops: float  # operations a second


@styled
def roofline(name: str, flops: float, bandwidth: float, programs: Sequence[Placed]) -> Figure:
    """Draw programs below the roof of a card with so many operations and bytes a second.

    The roof rises as long as memory limits a program, and is flat where arithmetic does.
    """
    figure = Drawing(figsize=(9.0, 4.0))
    axes = figure.add_subplot()
    knee = flops / bandwidth
    at = [knee, *(program.intensity for program in programs)]
    x = np.geomspace(min(at) / 4, max(at) * 4, 200)
    roof = np.minimum(flops, bandwidth * x) / 1e12
    handles = axes.plot(x, roof, color="black", label="the card at best: 100 %")
    looks = styles([program.what for program in programs])
    for program in programs:
        best, colour = min(flops, bandwidth * program.intensity), looks[program.what].colour
        label = f"{program.what}: {100 * program.flops / best:.0f} %"
        place = [program.intensity], [program.flops / 1e12]
        handles += axes.plot(*place, ls="none", marker="o", ms=8, color=colour, label=label)
        axes.vlines(program.intensity, program.flops / 1e12, best / 1e12, color=colour, lw=1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("operations for each byte of the card's memory")
    axes.set_ylabel("TFLOP/s")
    axes.set_title(literal(name))
    legend_beside(axes, handles)
    return figure
