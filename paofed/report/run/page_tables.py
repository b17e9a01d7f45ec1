"""The tables of a page about one run."""

import html
import math
from collections.abc import Sequence

from paofed.core.tariffs import Tariff
from paofed.report.run.damage import damages
from paofed.report.run.gains import horizons, newcomers
from paofed.report.run.groups import groups
from paofed.report.shared.baselines import baseline_look
from paofed.report.shared.captions import best_places, rank
from paofed.report.shared.finals import TRAFFIC, sent
from paofed.report.shared.markup import code, interval, number, significant, table
from paofed.report.shared.own_unit import COMPARED
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import ColdStart, Progressive
from paofed.simulate.results.result import Result
from paofed.simulate.table.baselines import BASELINES
from paofed.simulate.table.learners_alone import kind_of


def errors_and_traffic(result: Result, judged: Progressive, tariff: Tariff) -> str:
    """Return a table of the errors of both models of every algorithm, of baselines, and traffic."""
    rows, errors = [], list[tuple[float, float]]()  # errors on devices and at the server
    for line in sorted(result.summary(tariff), key=lambda line: rank(line["device_db"])):
        told = [number(line[key]) for key in ("device_db", "device_standard_error", "db",
                                              "standard_error")]  # fmt: skip
        rows.append([code(line["algorithm"]), *told, *sent(line, TRAFFIC)])
        errors.append((line["device_db"], line["db"]))
    for name in judged.baselines:
        db, error = judged.final(name, "baseline")
        final, beside = [number(db), number(error)], ["", ""]
        on_device = baseline_look(name).whose == "device"
        pair = [final, beside] if on_device else [beside, final]
        meaning = BASELINES.get(kind_of(name), "")
        rows.append([name.replace(" ", "&nbsp;"), *pair[0], *pair[1], meaning])
        errors.append((db, math.nan) if on_device else (math.nan, db))
    header = ["", "device (dB)", "s.e.", "server (dB)", "s.e.", *TRAFFIC]
    device, server = zip(*errors, strict=True)
    best = {(j, i) for i, column in ((1, device), (3, server)) for j in best_places(column)}
    return table(header, rows, range(1, len(header)), best)


def in_target_unit(lives: Lives) -> str:
    """Return a table of every learner's errors in the target's own unit."""
    learners = lives.learners.tolist()
    own = [lives.own_unit(name, whose) for name, whose in learners]
    rows = [
        [html.escape(name), whose, *map(significant, errors)]
        for (name, whose), errors in zip(learners, own, strict=True)
    ]
    best = {
        (j, 2 + i)
        for i, (key, most) in enumerate(COMPARED.items())
        for j in best_places([getattr(errors, key) for errors in own], most=most)
    }
    header = ["", "model", "RMSE", "MAE", "R²", "coverage", "width"]
    return table(header, rows, range(2, 7), best)


def by_group(lives: Lives, name: str) -> str:
    """Return a table of one algorithm's errors on devices, by group."""
    rows = [
        [
            html.escape(found.name),
            f"{found.over.devices:,}",
            f"{found.over.samples:,}",
            number(found.db),
            significant(found.own.rmse),
            significant(found.own.mae),
            interval(found.over.gain),
            html.escape(found.over.rival),
        ]
        for found in groups(lives, name, "device")
    ]
    header = ["group", "devices", "samples", "device (dB)", "RMSE", "MAE", "gain (dB)", "over"]
    return table([f"{html.escape(name)}: {header[0]}", *header[1:]], rows, range(1, 7))


def recoveries(result: Result) -> str:
    """Return a table of what every drift did."""
    rows = [
        [
            code(name),
            str(drift.tick),
            number(drift.before_db),
            number(drift.worst_db),
            "not yet" if drift.ticks is None else str(drift.ticks),
        ]
        for name in result.algorithms
        for drift in result.recovery(name)
    ]
    header = ["algorithm", "drift at tick", "before (dB)", "worst (dB)", "ticks to recover"]
    return table(header, rows, range(1, 5))


def faults_and_costs(result: Result) -> str:
    """Return a table of what faults do to every algorithm."""
    rows = [
        [
            code(name),
            whose,
            *map(number, (*wrong, *right)),
            interval(cost),
        ]
        for name, whose, wrong, right, cost in damages(result)
    ]
    errors = ["with faults (dB)", "s.e.", "without (dB)", "s.e.", "cost (dB)"]
    return table(["algorithm", "model", *errors], rows, range(2, 7))


def of_newcomers(result: Result, cold: ColdStart) -> str:
    """Return a table of devices that join late."""
    spans = horizons(result, cold)
    rows: list[Sequence[str]] = [
        [
            name,
            "",
            *(number(db) for db in cold.pooled_db(errors)),
            *("" for _ in spans),
        ]
        for name, errors in cold.beside.items()
    ]
    for found in newcomers(cold):
        errors, gains = map(number, found.errors), map(interval, found.gains)
        rows.append([code(found.name), found.way, *errors, *gains])
    header = [
        "",
        "begins with",
        *(f"first {s} (dB)" for s in spans),
        *(f"gain, {s}" for s in spans),
    ]
    return table(header, rows, range(2, 2 + 2 * len(spans)))
