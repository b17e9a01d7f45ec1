"""Run compiled methods over all ticks, and keep what the record of a run holds."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.features import FourierMap
from paofed.core.metrics import curve_ticks
from paofed.simulate.engines.fast import kernels, layout
from paofed.simulate.engines.fast.nature import drawn_nature, wrong_of
from paofed.simulate.engines.fast.records import Nature
from paofed.simulate.engines.task import Place
from paofed.simulate.results.outcome import Outcome, RunRecord
from paofed.simulate.results.places import Places, Tally
from paofed.simulate.stopping import Report, ignored
from paofed.world.realize import World, half_width_of, make_world, world_key
from paofed.world.realize_samples import realize_samples
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from paofed.world.table.spec import Table
from paofed.world.trace import SparseTrace, Targets, Trace
from paofed.world.worlds import Setting, SizedWorlds, trace_of


class Compiled(Protocol):
    """Methods over one run, ready to advance."""

    @property
    def server(self) -> FloatArray:
        """The server's models, (A, D)."""
        ...

    @property
    def shared(self) -> NDArray[Any]:
        """The server's models as clients receive them, (A, D)."""
        ...

    @property
    def errors(self) -> NDArray[Any]:
        """Errors of the devices' and the server's models on every sample, (A, 2, M)."""
        ...

    def traffic(self) -> IntArray:
        """Return the counts of traffic until now, (A, 7)."""
        ...

    def advance(self, begin: int, end: int, pool: Any = None) -> None:
        """Run the ticks from `begin` up to `end`."""
        ...


class Judge(NamedTuple):
    """The test set on which the server's models are judged."""

    fourier_map: FourierMap
    x: FloatArray
    targets: Targets


def judge_of(trace: Trace) -> Judge:
    """Return the test set of a trace."""
    return Judge(trace.fourier_map, trace.x_test, trace.test_targets)


class OverList(Protocol):
    """Makes the simulation of a list of samples; `judged` says whether errors on them are kept."""

    def __call__(self, samples: SparseTrace, *, judged: bool) -> Compiled:
        """Return the simulation."""
        ...


def over_setting(
    setting: Setting,
    place: Place,
    listed: OverList,
    drawn: Callable[[Scenario, World, Nature], Compiled],
    report: Report,
    pool: Any = None,
    watch: Callable[[FloatArray], None] | None = None,
) -> RunRecord:
    """Run compiled methods over one run, and return its record.

    Worlds of one's own, tables, and scenarios whose labels are rare or late are simulated by
    `listed`, as a list of samples; any other scenario by `drawn`, from its nature.
    """
    seed, world, run, every = (place[key] for key in ("seed", "world", "run", "every"))
    if isinstance(setting, SizedWorlds) or (
        setting.labels is not None and not isinstance(setting.stream, Table)
    ):
        trace = trace_of(setting, world, run, seed=seed)
        simulation, test = listed(trace.sparse(), judged=False), judge_of(trace)
    elif isinstance(setting.stream, Table):
        samples = realize_samples(setting, world, run, seed=seed)
        half_width = half_width_of(setting, world_key(seed, world))
        places = Places.of(read(setting.stream), half_width, samples.due_if_late)
        return follow(listed(samples, judged=True), setting.ticks, every, places, report, pool)
    else:
        made = make_world(setting, seed, world)
        wrong = wrong_of(setting, seed=seed, world=world, run=run)
        simulation = drawn(setting, made, drawn_nature(setting, made, run, wrong))
        test = Judge(made.fourier_map, made.x_test, made.test_targets)
    return record(simulation, setting.ticks, every, test, report, pool, watch)


def record(
    simulation: Compiled,
    ticks: int,
    every: int,
    test: Judge,
    report: Report = ignored,
    pool: Any = None,
    watch: Callable[[FloatArray], None] | None = None,
) -> RunRecord:
    """Run all ticks and evaluate the server's models on the way; `report` is told the progress."""
    real = simulation.shared.dtype
    z_test = layout.laid_out(test.fourier_map(test.x), real)
    y_test = layout.laid_out(test.targets.y, real)
    points = curve_ticks(ticks, every)
    seen, done = test.targets.progress(points)
    mse = np.empty((len(simulation.shared), points.size))
    traffic = []
    for point in _stops(simulation, points, report, pool):
        y_now = y_test[seen[point]]
        if done[point] < 1:
            y_now = layout.laid_out(test.targets.at(int(points[point])), real)
        kernels.evaluate(simulation.shared, z_test, y_now, mse, point)
        traffic.append(simulation.traffic())
        if watch is not None:
            watch(simulation.server)
    return _recorded(simulation, mse=mse, traffic=np.stack(traffic, axis=-1))


def follow(
    simulation: Compiled,
    ticks: int,
    every: int,
    places: Places,
    report: Report = ignored,
    pool: Any = None,
) -> RunRecord:
    """Run all ticks and judge all models on every sample before they learn from it."""
    points = curve_ticks(ticks, every)
    traffic = [simulation.traffic() for _ in _stops(simulation, points, report, pool)]
    judged = places.judged(simulation.errors, points)
    return _recorded(
        simulation,
        mse=places.per_sample(judged.over_time[:, 1], points),
        traffic=np.stack(traffic, axis=-1),
        **judged._asdict(),
    )


def outcome(simulation: Compiled, trace: Trace) -> Outcome:
    """Run the first method over a whole trace, with an error after every tick."""
    found = record(simulation, trace.ticks, 1, judge_of(trace))
    return Outcome(server_model=found.models[0], mse=found.mse[0], traffic=found.traffic[0])


def _stops(simulation: Compiled, stops: IntArray, report: Report, pool: Any) -> Iterator[int]:
    """Run up to and including each tick of `stops`, and yield the index of each."""
    begin = 0
    for index, tick in enumerate(stops.tolist()):
        simulation.advance(begin, tick + 1, pool)
        yield index
        report((tick + 1 - begin) / (int(stops[-1]) + 1))
        begin = tick + 1


def _recorded(simulation: Compiled, **curves: NDArray[Any]) -> RunRecord:
    nothing = Tally.nothing(len(simulation.server), 2)._asdict()
    return RunRecord(**{**nothing, **curves}, models=simulation.server.copy())
