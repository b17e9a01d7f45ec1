"""The tables of one run, for its page, a terminal, CSV and JSON."""

from collections.abc import Sequence
from typing import Any

from paofed.core.tariffs import Tariff
from paofed.report.run.gains import damages, horizons, newcomers
from paofed.report.run.lives import groups
from paofed.report.shared.captions import rank
from paofed.report.shared.finals import MESSAGES, TRAFFIC
from paofed.report.shared.looks import baseline_look
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import ColdStart, Progressive
from paofed.simulate.results.result import Result
from paofed.simulate.table.baselines import BASELINES
from paofed.simulate.table.learners_alone import kind_of
from paofed.table import (
    BYTES,
    COUNT,
    ERROR,
    ERROR_IF_ANY,
    GAIN,
    NAME,
    NUMBER,
    SIGNIFICANT,
    WHOLE,
    CellForm,
    ShownColumn,
    ShownTable,
    Words,
    numeric,
)
from paofed.words import counted
from paofed.world.table.columns import column

# Whose model it is; a terminal says of a baseline by its name that it is one.
_WHOSE = CellForm(lambda whose: "" if whose == "baseline" else whose, str, is_number=False)
_MODEL = ShownColumn("model", "model", _WHOSE)
_STANDARD_ERROR = ShownColumn("db_se", "s.e.", NUMBER)
_OWN_UNIT = (
    ShownColumn("rmse", "RMSE", SIGNIFICANT, best="least"),
    ShownColumn("mae", "MAE", SIGNIFICANT, best="least"),
    ShownColumn("r2", "R2", SIGNIFICANT, best="most"),
    ShownColumn("coverage", "coverage", SIGNIFICANT),
    ShownColumn("width", "width", SIGNIFICANT),
)


def errors_and_traffic(result: Result, judged: Progressive, tariff: Tariff) -> ShownTable:
    """Return the errors of both models of every algorithm, those of baselines, and traffic."""
    lines = sorted(result.summary(tariff), key=lambda line: rank(line["device_db"]))
    errors = ("device_db", "device_standard_error", "db", "standard_error")
    sent = [column.keys[0] for column in TRAFFIC]
    rows = [[line[key] for key in ("algorithm", *errors, *sent)] for line in lines]
    for name in judged.baselines:
        final, nothing = [*judged.final(name, "baseline")], [None, None]
        pair = [*final, *nothing] if baseline_look(name).whose == "device" else [*nothing, *final]
        rows.append([Words(name), *pair, BASELINES.get(kind_of(name), "")])
    columns = (
        ShownColumn("learner", "", NAME),
        ShownColumn("device_db", "device", ERROR, "dB", best="least"),
        ShownColumn("device_db_se", "s.e.", NUMBER),
        ShownColumn("db", "server", ERROR, "dB", best="least"),
        _STANDARD_ERROR,
        *TRAFFIC,
    )
    return ShownTable(columns, rows)


def algorithms(result: Result, tariff: Tariff) -> ShownTable:
    """Return the errors and the traffic of all algorithms in their order; bytes in kB and MB."""
    models = (
        {"error": "db"} if result.progressive is None else {"device": "device_db", "server": "db"}
    )
    columns = [ShownColumn("algorithm", "algorithm", NAME)]
    for head, key in models.items():
        columns.append(ShownColumn(key, head, ERROR, "dB"))
        columns.append(ShownColumn(f"{key.removesuffix('db')}standard_error", "s.e.", NUMBER))
    columns += [
        ShownColumn("sent_up", "sent up", COUNT),
        ShownColumn("sent_down", "sent down", COUNT),
    ]
    columns += MESSAGES if tariff.adds else ()
    columns += [
        ShownColumn("wire_up", "bytes up", BYTES),
        ShownColumn("wire_down", "bytes down", BYTES),
    ]
    lines = result.summary(tariff)
    return ShownTable(columns, [[line[column.keys[0]] for column in columns] for line in lines])


def baselines(judged: Progressive) -> ShownTable:
    """Return the errors of all baselines, and what they are."""
    columns = (
        ShownColumn("learner", "baseline"),
        ShownColumn("db", "error", ERROR, "dB", best="least"),
        _STANDARD_ERROR,
        ShownColumn("about", ""),
    )
    rows = [
        [name, *judged.final(name, "baseline"), BASELINES.get(kind_of(name), "")]
        for name in judged.baselines
    ]
    return ShownTable(columns, rows)


def in_target_unit(result: Result, lives: Lives) -> ShownTable:
    """Return every learner's errors in the target's own unit."""
    rows = [[name, whose, *lives.own_unit(name, whose)] for name, whose in lives.learners.tolist()]
    target = column(result.provenance["scenario"]["stream"]["target"]).name
    title = f"in the unit of {target} (* is the best of its column, here and above)"
    return ShownTable((ShownColumn("learner", ""), _MODEL, *_OWN_UNIT), rows, title)


def by_group(lives: Lives, name: str) -> ShownTable:
    """Return one algorithm's errors on devices, by group."""
    columns = (
        ShownColumn("group", f"{name}: group"),
        ShownColumn("devices", "devices", COUNT),
        ShownColumn("samples", "samples", COUNT),
        ShownColumn("db", "device", ERROR, "dB"),
        ShownColumn("rmse", "RMSE", SIGNIFICANT),
        ShownColumn("mae", "MAE", SIGNIFICANT),
        ShownColumn("gain", "gain", GAIN, "dB"),
        ShownColumn("over", "over"),
    )
    rows = [
        [found.name, found.over.devices, found.over.samples, found.db, found.own.rmse,
         found.own.mae, found.over.gain, found.over.rival]
        for found in groups(lives, name, "device")
    ]  # fmt: skip
    return ShownTable(columns, rows)


def recoveries(result: Result) -> ShownTable:
    """Return what every drift did to the algorithms."""
    columns = (
        ShownColumn("algorithm", "algorithm", NAME),
        ShownColumn("tick", "drift", WHOLE),
        ShownColumn("before_db", "before", ERROR_IF_ANY, "dB"),
        ShownColumn("worst_db", "worst", ERROR_IF_ANY, "dB"),
        ShownColumn("ticks", "ticks to recover", WHOLE, missing="not yet"),
    )
    rows = [[name, *drift] for name in result.algorithms for drift in result.recovery(name)]
    return ShownTable(columns, rows)


def faults_and_costs(result: Result) -> ShownTable:
    """Return what faults do to every algorithm; nothing if no runs were made without them."""
    columns = (
        ShownColumn("algorithm", "algorithm", NAME),
        _MODEL,
        ShownColumn("db", "with", ERROR, "dB"),
        _STANDARD_ERROR,
        ShownColumn("clean_db", "without", ERROR, "dB"),
        ShownColumn("clean_db_se", "s.e.", NUMBER),
        ShownColumn(("cost", "low", "high", "runs"), "cost", GAIN, "dB, 95 %"),
    )
    rows = [
        [name, whose, *wrong, *right, cost] for name, whose, wrong, right, cost in damages(result)
    ]
    return ShownTable(columns, rows)


_NEWCOMER = (ShownColumn("algorithm", "newcomer", NAME), ShownColumn("begins_with", "begins with"))
# An error of a device alone or, of one that takes part, by how much it is better.
_ERROR_OR_GAIN = numeric(
    lambda value: (ERROR_IF_ANY if isinstance(value, float) else GAIN).text(value)
)


def of_newcomers(result: Result, cold: ColdStart) -> ShownTable:
    """Return how devices fare that join late: errors and gains over each span, side by side."""
    spans = horizons(result, cold)
    columns = (
        *_NEWCOMER,
        *(ShownColumn(f"db {span}", f"first {span}", ERROR_IF_ANY, "dB") for span in spans),
        *(ShownColumn(f"gain {span}", f"gain, {span}", GAIN) for span in spans),
    )
    nothing = [None] * len(spans)
    rows: list[Sequence[Any]] = [
        [Words(name), "", *cold.pooled_db(errors).tolist(), *nothing]
        for name, errors in cold.beside.items()
    ]
    return ShownTable(columns, [*rows, *([*one[:2], *one[2], *one[3]] for one in newcomers(cold))])


def newcomers_in_short(result: Result, cold: ColdStart) -> ShownTable:
    """Return the errors of devices alone, and by how many dB those that take part are better."""
    spans = horizons(result, cold)
    columns = (*_NEWCOMER, *(ShownColumn(span, f"first {span}", _ERROR_OR_GAIN) for span in spans))
    rows: list[Sequence[Any]] = [
        [name, "", *cold.pooled_db(errors).tolist()] for name, errors in cold.beside.items()
    ]
    title = (
        f"devices that join late, {counted(len(cold.starts), 'time')} each: error alone (dB), and "
        f"by how many dB those who take part are better (95 %)"
    )
    return ShownTable(columns, [*rows, *([*one[:2], *one.gains] for one in newcomers(cold))], title)


def newcomers_by_horizon(cold: ColdStart, *, beside: bool = False) -> ShownTable:
    """Return errors and gains of newcomers, a row for each horizon; `beside`: with those alone."""
    columns = (
        *_NEWCOMER,
        ShownColumn("horizon_ticks", "horizon", WHOLE),
        ShownColumn("db", "error", ERROR_IF_ANY, "dB"),
        ShownColumn(("gain", "low", "high"), "gain", GAIN, "dB"),
        ShownColumn("starts", "starts", WHOLE),
    )
    ticks_of = cold.horizons.tolist()
    alone = cold.beside.items() if beside else ()
    rows: list[Sequence[Any]] = [
        [name, "", ticks, db, None, len(cold.starts)]
        for name, errors in alone
        for ticks, db in zip(ticks_of, cold.pooled_db(errors).tolist(), strict=True)
    ]
    rows += [
        [one.name, one.way, ticks, db, gain, gain.runs]
        for one in newcomers(cold)
        for ticks, db, gain in zip(ticks_of, one.errors, one.gains, strict=True)
    ]
    return ShownTable(columns, rows)
