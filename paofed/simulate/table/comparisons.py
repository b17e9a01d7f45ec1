"""What a result over a table has beside the algorithms: baselines, and facts about the table."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paofed.algebra import one_thread_algebra
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.columns.written import written
from paofed.core.features import FourierMap, Ranges
from paofed.core.intervals import first_half_width
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.places import Places, Sums, Tally, summed
from paofed.simulate.results.progressive import MODELS, Names, Progressive
from paofed.simulate.results.result import Result
from paofed.simulate.stopping import Report, stoppable
from paofed.simulate.table.baselines import BEGIN_FITTED, MAPPED, baselines
from paofed.world.realize import table_map, world_key
from paofed.world.scenario import Scenario
from paofed.world.start import fitted
from paofed.world.table.door import read
from paofed.world.table.spec import Table

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings

_QUARTERS = (0.25, 0.5, 0.75, 1.0)


def with_errors(result: Result, table: Table, judged: Tally) -> Result:
    """Add to a result how both models of every algorithm fared; sums are (R, A, 2, ...)."""
    learners = [(name, whose) for name in result.algorithms for whose in MODELS]
    by_learner = Tally(
        *(part.reshape(result.runs, len(learners), *part.shape[3:]) for part in judged)
    )
    return _with(result, table, learners, by_learner)


def with_baselines(
    result: Result,
    scenario: Scenario,
    names: Sequence[str],
    workers: int,
    report: Report,
) -> Result:
    """Judge baselines in the world of every run, and put them beside the algorithms.

    Baselines know nothing of contacts, so the baselines of a world are the same in all its runs,
    and those without a map are the same in all worlds. `report` is told parts of runs.
    """
    seed, places = result.provenance["seed"], Counter(world for world, _ in result.places)
    mapped = [name for name in names if name in MAPPED]
    others = [name for name in names if name not in MAPPED]

    def judge(world: int) -> tuple[int, Tally]:
        def part(share: float) -> None:
            heard(places[world] * share)

        return world, judged_baselines(scenario, seed, world, result.ticks, mapped, part)

    def pause(_: float) -> None:
        heard(0.0)

    # OpenMP, with which trees grow, needs the limit set in each thread.
    made = ThreadPoolExecutor(workers, initializer=one_thread_algebra)
    with one_thread_algebra(), made as pool, stoppable(report) as heard:
        common = pool.submit(judged_baselines, scenario, seed, 0, result.ticks, others, pause)
        known = dict(pool.map(judge, places))
        same = common.result()
    order = [[*mapped, *others].index(name) for name in names]
    found = [
        [np.concatenate(parts)[order] for parts in zip(known[world], same, strict=True)]
        for world, _ in result.places
    ]
    beside = Tally(*(np.stack(parts) for parts in zip(*found, strict=True)))
    return _with(result, scenario.table, [(name, "baseline") for name in names], beside)


def with_apart(result: Result, table: Table, names: Sequence[str], judged: Tally) -> Result:
    """Put devices that learn apart beside the others.

    Sums are (R, A, 2, ...); the devices' model is the first of the two.
    """
    devices = Tally(*(part[:, :, 0] for part in judged))
    return _with(result, table, [(name, "baseline") for name in names], devices)


def _with(result: Result, table: Table, learners: Sequence[tuple[str, str]], sums: Tally) -> Result:
    """Add learners, with sums (R, L, ...), after those that the result has."""
    readings, judged, lives = read(table), result.progressive, result.lives
    places = Places.of(readings)
    cells, devices = places.cells, len(readings.devices)
    if judged is not None and lives is not None:
        learners = [*map(tuple, judged.learners.tolist()), *learners]
        sums = Tally(
            np.concatenate([judged.errors, sums.over_time], axis=1),
            np.concatenate([lives.sums, sums.cells], axis=1),
        )
    names = np.array(learners)
    squared = Sums(*np.moveaxis(sums.cells, 2, 0)).squared
    return replace(
        result,
        progressive=Progressive(
            learners=names,
            devices=np.array(readings.devices),
            errors=sums.over_time,
            samples=places.counted(result.ticks),
            device_errors=summed(squared, cells.device, devices),
            device_samples=summed(cells.samples, cells.device, devices).astype(np.int64),
        ),
        lives=Lives(learners=names, sums=sums.cells, group=_groups(readings), **cells._asdict()),
    )


def _groups(readings: "Readings") -> Names:
    """Return the group of every device: the table's, or by how many readings the device has.

    Without groups in the table there are four, each with about as many devices.
    """
    if readings.groups:
        return np.array(readings.groups)
    heard = np.bincount(readings.device, minlength=len(readings.devices))
    bounds = np.unique(np.quantile(heard, _QUARTERS, method="inverted_cdf"))
    which = np.searchsorted(bounds, heard)
    texts = [
        f"{heard[which == g].min():,} to {heard[which == g].max():,} readings"
        for g in range(bounds.size)
    ]
    return np.array(texts)[which]


def judged_baselines(
    scenario: Scenario,
    seed: int,
    world: int,
    points: IntArray,
    names: Sequence[str],
    report: Report,
) -> Tally:
    """Judge baselines in one world; batch fits are renewed at every point of the curve."""
    readings = read(scenario.table)
    fourier_map = table_map(scenario, world_key(seed, world))
    refits = (points + 1).tolist()
    found = baselines(readings, fourier_map, scenario.step_size, refits, report, names)
    return Places.of(readings, _half_widths(readings, fourier_map, names)).judged(
        np.array(list(found.values())).reshape(len(names), len(readings.y)), points
    )


def _half_widths(readings: "Readings", fourier_map: FourierMap, names: Sequence[str]) -> FloatArray:
    """Return half the width of each baseline's first interval, by what it knows before tick 0."""
    return np.array(
        [
            fitted(readings, fourier_map).half_width
            if name in BEGIN_FITTED
            else first_half_width(readings.y_past)
            for name in names
        ]
    )


def about(table: Table) -> Mapping[str, object]:
    """Return what a result says of a table: what was found in it, and which file it was."""
    readings = read(table)
    line, past = readings.timeline, np.column_stack([readings.x_past, readings.y_past])
    with Path(table.file).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return {
        "sha256": digest.hexdigest(),
        "facts": readings.facts(),
        "inputs": list(readings.labels),
        "recipes": list(readings.recipes),
        "columns": [written(record) for record in readings.columns],
        "ranges": np.transpose([*Ranges.of(past)]).tolist(),
        "scale": readings.scale,
        "calendar": line.calendar,
        "begin": line.origin,
        "tick": line.tick,
        "scored": readings.scored,
    }
