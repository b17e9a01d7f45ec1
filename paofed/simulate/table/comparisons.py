"""What a result over a table has beside the algorithms: baselines, and facts about the table."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from paofed.algebra import one_thread_algebra
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.columns.written import written
from paofed.core.due import due_of
from paofed.core.features import FourierMap, Ranges
from paofed.core.intervals import first_half_width
from paofed.errors import InputError
from paofed.files import file_digest
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.places import Places, Sums, Tally, summed
from paofed.simulate.results.progressive import MODELS, Names, Progressive
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.stopping import Report, stoppable
from paofed.simulate.table.baselines import BEGIN_FITTED, MAPPED, baselines, work_of
from paofed.world.realize import Purpose, run_key, table_map, world_key
from paofed.world.realize_samples import labels_of_readings
from paofed.world.scenario import Scenario, settled_labels
from paofed.world.start import fitted
from paofed.world.table.door import read
from paofed.world.table.spec import Table

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings

_QUARTERS = (0.25, 0.5, 0.75, 1.0)


def over_table(scenario: Scenario, judged: Tally, **of_runs: Any) -> TableResult:
    """Return the result of runs over a table, whose sums are (R, A, 2, ...).

    `of_runs` are all fields of a result that it has whatever it is over.
    """
    table = scenario.table
    names = [described["name"] for described in of_runs["provenance"]["algorithms"]]
    learners = [(name, whose) for name in names for whose in MODELS]
    sums = Tally(*(part.reshape(len(part), len(learners), *part.shape[3:]) for part in judged))
    result = TableResult(**of_runs, **_judged(table, of_runs["ticks"], learners, sums))
    law = settled_labels(scenario)
    if law is None or law.everybody:
        return result
    seed = result.provenance["seed"]
    keys = [run_key(world_key(seed, world), run) for world, run in result.places]
    holders = np.array([law.holders(key, Purpose.LABEL) for key in keys])
    judged_with = replace(result.progressive, with_labels=holders.reshape(-1, law.clients))
    return replace(result, progressive=judged_with)


def require_times(names: Sequence[str], table: Table) -> None:
    """Refuse baselines that go by the time of day where times are plain numbers."""
    if "seasonal naive" in names and not read(table).timeline.calendar:
        raise InputError(
            f"the baseline seasonal naive needs times of a calendar, but the time of {table.file} "
            f"is a plain number: give its `time_format`, or leave the baseline out"
        )


def with_baselines(
    result: TableResult,
    scenario: Scenario,
    names: Sequence[str],
    workers: int,
    report: Report,
) -> TableResult:
    """Judge baselines in the world of every run, and put them beside the algorithms.

    Baselines know nothing of contacts, so the baselines of a world are the same in all its runs,
    and those without a map are the same in all worlds; but where labels are drawn, every run has
    its own. `report` is told parts of runs.
    """
    seed, drawn = result.provenance["seed"], scenario.labels is not None
    of_runs = [place if drawn else (place[0], 0) for place in result.places]
    mapped = [name for name in names if drawn or name in MAPPED]
    others = [name for name in names if name not in mapped]
    places = list(dict.fromkeys(of_runs))
    runs_a_work = len(of_runs) / (len(places) * work_of(mapped) + work_of(others))

    def judge(place: tuple[int, int], own: Sequence[str]) -> Tally:
        def part(share: float) -> None:
            heard(runs_a_work * work_of(own) * share)

        return judged_baselines(scenario, seed, place, result.ticks, own, part)

    # OpenMP, with which trees grow, needs the limit set in each thread.
    made = ThreadPoolExecutor(workers, initializer=one_thread_algebra)
    with one_thread_algebra(), made as pool, stoppable(report) as heard:
        common = pool.submit(judge, (0, 0), others)
        known = dict(zip(places, pool.map(judge, places, repeat(mapped)), strict=True))
        same = common.result()
    order = [[*mapped, *others].index(name) for name in names]
    found = [
        [np.concatenate(parts)[order] for parts in zip(known[place], same, strict=True)]
        for place in of_runs
    ]
    beside = Tally(*(np.stack(parts) for parts in zip(*found, strict=True)))
    return _with(result, scenario.table, [(name, "baseline") for name in names], beside)


def with_apart(
    result: TableResult, table: Table, names: Sequence[str], judged: Tally
) -> TableResult:
    """Put devices that learn apart beside the others.

    Sums are (R, A, 2, ...); the devices' model is the first of the two.
    """
    devices = Tally(*(part[:, :, 0] for part in judged))
    return _with(result, table, [(name, "baseline") for name in names], devices)


def _with(
    result: TableResult, table: Table, learners: Sequence[tuple[str, str]], sums: Tally
) -> TableResult:
    """Add learners, with sums (R, L, ...), after those that the result has."""
    judged, lives = result.progressive, result.lives
    learners = [*map(tuple, judged.learners.tolist()), *learners]
    sums = Tally(
        np.concatenate([judged.errors, sums.over_time], axis=1),
        np.concatenate([lives.sums, sums.cells], axis=1),
    )
    found = _judged(table, result.ticks, learners, sums)
    found["progressive"] = replace(found["progressive"], with_labels=judged.with_labels)
    return replace(result, **found)


def _judged(
    table: Table, ticks: IntArray, learners: Sequence[tuple[str, str]], sums: Tally
) -> "_Judged":
    """Return how learners fared over time, by device and over the lives of devices."""
    readings = read(table)
    places = Places.of(readings)
    cells, devices = places.cells, len(readings.devices)
    names = np.array(learners)
    squared = Sums(*np.moveaxis(sums.cells, 2, 0)).squared
    return {
        "progressive": Progressive(
            learners=names,
            devices=np.array(readings.devices),
            errors=sums.over_time,
            samples=places.counted(ticks),
            device_errors=summed(squared, cells.device, devices),
            device_samples=summed(cells.samples, cells.device, devices).astype(np.int64),
        ),
        "lives": Lives(learners=names, sums=sums.cells, group=_groups(readings), **cells._asdict()),
    }


class _Judged(TypedDict):
    """Fields of a result over a table."""

    progressive: Progressive
    lives: Lives


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
    place: tuple[int, int],
    points: IntArray,
    names: Sequence[str],
    report: Report,
) -> Tally:
    """Judge baselines in one (world, run); batch fits are renewed at every point of the curve."""
    readings = read(scenario.table)
    fourier_map = table_map(scenario, world_key(seed, place[0]))
    refits, labels = (points + 1).tolist(), labels_of_readings(scenario, *place, seed=seed)
    found = baselines(readings, fourier_map, scenario.step_size, refits, report, names, labels)
    due = None if labels is None else due_of(readings.tick, readings.device, labels)
    return Places.of(readings, _half_widths(readings, fourier_map, names), due).judged(
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
    return {
        "sha256": file_digest(Path(table.file)),
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
