"""The files of a run's page: what its folder may hold, and every number as a table."""

from collections.abc import Iterator

from paofed.core.tariffs import Tariff
from paofed.report.run.advice import advise
from paofed.report.run.advice_words import Behind, numbers
from paofed.report.run.gains import gain, stages
from paofed.report.run.tables import (
    GAINED,
    by_group,
    by_label_share,
    by_labels,
    errors,
    faults_and_costs,
    newcomers_by_horizon,
    recoveries,
)
from paofed.simulate.results.lives import Lives, OwnUnit
from paofed.simulate.results.progressive import MODELS, Progressive
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.results.tables import tidy
from paofed.table import ShownTable, in_files

DRAWN = ("lives", "curves", "traffic", "over-time", "by-device", "label-shares", "newcomers")
_WRITTEN = (
    "curves", "errors", "gains", "recovery", "by-device", "over-time", "lives", "by-group",
    "by-labels", "label-shares", "newcomers", "faults", "advice",
)  # fmt: skip
PAGE = (  # all files that the folder of a page may hold
    "report.html",
    "scenario.toml",
    *(f"{name}.csv" for name in _WRITTEN),
    *(f"{name}.{ending}" for name in DRAWN for ending in ("svg", "png")),
)


def every_number(result: Result, tariff: Tariff) -> Iterator[tuple[str, ShownTable]]:
    """Yield the curves, the errors, what drifts and faults did, and what was judged over a table.

    They come by the names of their files.
    """
    yield "curves", tidy(result, "curves", tariff)
    yield "errors", errors(result, tariff)
    if result.drifts:
        yield "recovery", recoveries(result)
    if isinstance(result, TableResult):
        yield from _judged(result, tariff)
    if result.clean is not None:
        yield "faults", faults_and_costs(result)


def _judged(result: TableResult, tariff: Tariff) -> Iterator[tuple[str, ShownTable]]:
    """Yield what is known over a table alone."""
    judged, lives = result.progressive, result.lives
    learners = [(name, whose) for name, whose in judged.learners.tolist()]
    gains = [
        [name, whose, baseline, gain(judged, name, whose, baseline)]
        for name in result.algorithms
        for whose in MODELS
        for baseline in judged.baselines
    ]
    yield "gains", in_files(["algorithm", "model", "over", (*GAINED, "runs")], gains)
    yield "by-device", _by_device(judged, lives)
    yield "over-time", _over_time(result, tariff)
    yield "lives", _over_lives(lives)
    yield "by-group", by_group(lives, learners)
    if result.cold_start is not None:
        yield "newcomers", newcomers_by_horizon(result.cold_start, beside=True)
    advice = advise(result, tariff)
    if advice.by_labels:
        yield "by-labels", by_labels(advice.by_labels)
    if advice.by_share:
        yield "label-shares", by_label_share(advice.by_share)
    yield "advice", in_files(Behind._fields, numbers(advice))


def _by_device(judged: Progressive, lives: Lives) -> ShownTable:
    """Return the errors of every learner on every device."""
    rows = [
        [name, whose, *values]
        for name, whose in judged.learners.tolist()
        for values in zip(
            judged.devices.tolist(),
            judged.by_device_db(name, whose).tolist(),
            judged.device_samples.tolist(),
            *lives.own_unit_by(name, whose, lives.device, len(judged.devices)),
            strict=True,
        )
    ]
    keys = ("learner", "model", "device", "db", "samples", *OwnUnit._fields)
    return in_files(keys, rows)


def _over_time(result: TableResult, tariff: Tariff) -> ShownTable:
    """Return the errors of every learner at every point of time, and the bytes until then."""
    judged, nothing = result.progressive, [[None] * len(result.ticks)] * 2
    wires = {
        name: [result.mean_sent(name, tariff)[way].tolist() for way in ("wire_up", "wire_down")]
        for name in result.algorithms
    }
    rows = [
        [name, whose, *values]
        for name, whose in judged.learners.tolist()
        for values in zip(
            result.ticks.tolist(),
            judged.curve_db(name, whose).tolist(),
            judged.samples.tolist(),
            judged.until_db(name, whose).tolist(),
            *wires.get(name, nothing),
            strict=True,
        )
    ]
    keys = ("learner", "model", "tick", "db", "samples", "db_until", "wire_up", "wire_down")
    return in_files(keys, rows)


def _over_lives(lives: Lives) -> ShownTable:
    """Return every learner at every stage, and its gain over the best way of being alone."""
    rows = []
    for name, whose in lives.learners.tolist():
        errors = (
            lives.stage_db(name, whose),
            *lives.own_unit_by(name, whose, lives.stage, lives.stages),
        )
        for first, last, (rival, devices, samples, gained) in stages(lives, name, whose):
            found = [float(part[first.bit_length() - 1]) for part in errors]
            rows.append([name, whose, first, last, devices, samples, *found, rival, gained])
    keys = ("learner", "model", "from", "to", "devices", "samples", "db", *OwnUnit._fields)
    return in_files([*keys, "over", GAINED], rows)
