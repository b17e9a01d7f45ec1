"""What a result over a table has beside the algorithms: baselines, and where it came from."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray, IntArray
from paofed.simulate.results.progressive import MODELS, Places, Progressive, Tally
from paofed.simulate.results.result import Result
from paofed.simulate.stopping import Report, stoppable
from paofed.simulate.table.baselines import BASELINES, baselines
from paofed.world.realize import map_of, world_key
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from paofed.world.table.spec import Table


def progressive(
    table: Table,
    methods: Sequence[Algorithm],
    points: IntArray,
    errors: FloatArray,
    device_errors: FloatArray,
) -> Progressive:
    """How both models of every algorithm fared; errors are (R, A, 2, P) and (R, A, 2, K)."""
    readings = read(table)
    samples = Places.of(readings).counted(points)
    return Progressive(
        learners=np.array([(method.name, whose) for method in methods for whose in MODELS]),
        devices=np.array(readings.devices),
        errors=errors.reshape(len(errors), -1, errors.shape[-1]),
        samples=samples.over_time.astype(np.int64),
        device_errors=device_errors.reshape(len(errors), -1, device_errors.shape[-1]),
        device_samples=samples.by_device.astype(np.int64),
    )


def with_baselines(
    result: Result,
    judged: Progressive,
    scenario: Scenario,
    workers: int,
    report: Report,
) -> Result:
    """Judge the baselines in the world of every run, and put them beside the algorithms.

    They know nothing of contacts, so those of a world are the same in all its runs. `report` hears
    of parts of runs.
    """
    seed, places = result.provenance["seed"], Counter(world for world, _ in result.places)

    def judge(world: int) -> tuple[int, Tally]:
        def part(share: float) -> None:
            heard(places[world] * share)

        return world, baselines_of(scenario, seed, world, result.ticks, part)

    with one_thread_algebra(), ThreadPoolExecutor(workers) as pool, stoppable(report) as heard:
        known = dict(pool.map(judge, places))
    over_time, by_device = (
        np.stack(parts) for parts in zip(*(known[world] for world, _ in result.places), strict=True)
    )
    beside = replace(
        judged,
        learners=np.array([*judged.learners.tolist(), *((name, "baseline") for name in BASELINES)]),
        errors=np.concatenate([judged.errors, over_time], axis=1),
        device_errors=np.concatenate([judged.device_errors, by_device], axis=1),
    )
    return replace(result, progressive=beside)


def one_thread_algebra() -> AbstractContextManager[object]:
    """Let linear algebra use one thread while inside.

    Its own threads wait for each other by spinning: on a machine with other work to do, a second
    becomes twenty. Ours share the work by worlds and devices instead.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, "blas")
    return limits


def baselines_of(
    scenario: Scenario, seed: int, world: int, points: IntArray, report: Report
) -> Tally:
    """Judge the baselines in one world; batch fits are renewed at every point of the curve."""
    readings = read(scenario.table)
    fourier_map = map_of(scenario, world_key(seed, world), readings.inputs)
    squared = baselines(readings, fourier_map, scenario.step_size, (points + 1).tolist(), report)
    places = Places.of(readings)
    found = [places.tally(errors, points) for errors in squared.values()]
    return Tally(*(np.stack(parts) for parts in zip(*found, strict=True)))


def about(table: Table) -> Mapping[str, object]:
    """What a result must say of a table: what was found in it, and which file it was."""
    readings = read(table)
    line = readings.timeline
    with Path(table.file).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return {
        "sha256": digest.hexdigest(),
        "facts": readings.facts(),
        "inputs": list(readings.labels),
        "recipes": list(readings.recipes),
        "scale": readings.scale,
        "calendar": line.calendar,
        "begin": line.origin,
        "tick": line.tick,
        "scored": readings.scored,
    }
