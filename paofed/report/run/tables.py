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
from paofed.simulate.table.apart import kind_of
from paofed.simulate.table.baselines import BASELINES
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
    Column,
    Form,
    Table,
    Words,
    numeric,
)
from paofed.words import counted
from paofed.world.table.columns import column

# Whose model it is; a terminal says of a baseline by its name that it is one.
_WHOSE = Form(lambda whose: "" if whose == "baseline" else whose, str, is_number=False)
_MODEL = Column("model", "model", _WHOSE)
_STANDARD_ERROR = Column("db_se", "s.e.", NUMBER)
_OWN_UNIT = (
    Column("rmse", "RMSE", SIGNIFICANT, best="least"),
    Column("mae", "MAE", SIGNIFICANT, best="least"),
    Column("r2", "R2", SIGNIFICANT, best="most"),
    Column("coverage", "coverage", SIGNIFICANT),
    Column("width", "width", SIGNIFICANT),
)


def errors_and_traffic(result: Result, judged: Progressive, tariff: Tariff) -> Table:
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
        Column("learner", "", NAME),
        Column("device_db", "device", ERROR, "dB", best="least"),
        Column("device_db_se", "s.e.", NUMBER),
        Column("db", "server", ERROR, "dB", best="least"),
        _STANDARD_ERROR,
        *TRAFFIC,
    )
    return Table(columns, rows)


def algorithms(result: Result, tariff: Tariff) -> Table:
    """Return the errors and the traffic of all algorithms in their order; bytes in kB and MB."""
    models = (
        {"error": "db"} if result.progressive is None else {"device": "device_db", "server": "db"}
    )
    columns = [Column("algorithm", "algorithm", NAME)]
    for head, key in models.items():
        columns.append(Column(key, head, ERROR, "dB"))
        columns.append(Column(f"{key.removesuffix('db')}standard_error", "s.e.", NUMBER))
    columns += [Column("sent_up", "sent up", COUNT), Column("sent_down", "sent down", COUNT)]
    columns += MESSAGES if tariff.adds else ()
    columns += [Column("wire_up", "bytes up", BYTES), Column("wire_down", "bytes down", BYTES)]
    lines = result.summary(tariff)
    return Table(columns, [[line[column.keys[0]] for column in columns] for line in lines])


def baselines(judged: Progressive) -> Table:
    """Return the errors of all baselines, and what they are."""
    columns = (
        Column("learner", "baseline"),
        Column("db", "error", ERROR, "dB", best="least"),
        _STANDARD_ERROR,
        Column("about", ""),
    )
    rows = [
        [name, *judged.final(name, "baseline"), BASELINES.get(kind_of(name), "")]
        for name in judged.baselines
    ]
    return Table(columns, rows)


def in_target_unit(result: Result, lives: Lives) -> Table:
    """Return every learner's errors in the target's own unit."""
    rows = [[name, whose, *lives.own_unit(name, whose)] for name, whose in lives.learners.tolist()]
    target = column(result.provenance["scenario"]["stream"]["target"]).name
    title = f"in the unit of {target} (* is the best of its column, here and above)"
    return Table((Column("learner", ""), _MODEL, *_OWN_UNIT), rows, title)


def by_group(lives: Lives, name: str) -> Table:
    """Return one algorithm's errors on devices, by group."""
    columns = (
        Column("group", f"{name}: group"),
        Column("devices", "devices", COUNT),
        Column("samples", "samples", COUNT),
        Column("db", "device", ERROR, "dB"),
        Column("rmse", "RMSE", SIGNIFICANT),
        Column("mae", "MAE", SIGNIFICANT),
        Column("gain", "gain", GAIN, "dB"),
        Column("over", "over"),
    )
    rows = [
        [found.name, found.over.devices, found.over.samples, found.db, found.own.rmse,
         found.own.mae, found.over.gain, found.over.rival]
        for found in groups(lives, name, "device")
    ]  # fmt: skip
    return Table(columns, rows)


def recoveries(result: Result) -> Table:
    """Return what every drift did to the algorithms."""
    columns = (
        Column("algorithm", "algorithm", NAME),
        Column("tick", "drift", WHOLE),
        Column("before_db", "before", ERROR_IF_ANY, "dB"),
        Column("worst_db", "worst", ERROR_IF_ANY, "dB"),
        Column("ticks", "ticks to recover", WHOLE, missing="not yet"),
    )
    rows = [[name, *drift] for name in result.algorithms for drift in result.recovery(name)]
    return Table(columns, rows)


def faults_and_costs(result: Result) -> Table:
    """Return what faults do to every algorithm; nothing if no runs were made without them."""
    columns = (
        Column("algorithm", "algorithm", NAME),
        _MODEL,
        Column("db", "with", ERROR, "dB"),
        _STANDARD_ERROR,
        Column("clean_db", "without", ERROR, "dB"),
        Column("clean_db_se", "s.e.", NUMBER),
        Column(("cost", "low", "high", "runs"), "cost", GAIN, "dB, 95 %"),
    )
    rows = [
        [name, whose, *wrong, *right, cost] for name, whose, wrong, right, cost in damages(result)
    ]
    return Table(columns, rows)


_NEWCOMER = (Column("algorithm", "newcomer", NAME), Column("begins_with", "begins with"))
# An error of a device alone or, of one that takes part, by how much it is better.
_ERROR_OR_GAIN = numeric(
    lambda value: (ERROR_IF_ANY if isinstance(value, float) else GAIN).text(value)
)


def of_newcomers(result: Result, cold: ColdStart) -> Table:
    """Return how devices fare that join late: errors and gains over each span, side by side."""
    spans = horizons(result, cold)
    columns = (
        *_NEWCOMER,
        *(Column(f"db {span}", f"first {span}", ERROR_IF_ANY, "dB") for span in spans),
        *(Column(f"gain {span}", f"gain, {span}", GAIN) for span in spans),
    )
    nothing = [None] * len(spans)
    rows: list[Sequence[Any]] = [
        [Words(name), "", *cold.pooled_db(errors).tolist(), *nothing]
        for name, errors in cold.beside.items()
    ]
    return Table(columns, [*rows, *([*one[:2], *one[2], *one[3]] for one in newcomers(cold))])


def newcomers_in_short(result: Result, cold: ColdStart) -> Table:
    """Return the errors of devices alone, and by how many dB those that take part are better."""
    spans = horizons(result, cold)
    columns = (*_NEWCOMER, *(Column(span, f"first {span}", _ERROR_OR_GAIN) for span in spans))
    rows: list[Sequence[Any]] = [
        [name, "", *cold.pooled_db(errors).tolist()] for name, errors in cold.beside.items()
    ]
    title = (
        f"devices that join late, {counted(len(cold.starts), 'time')} each: error alone (dB), and "
        f"by how many dB those who take part are better (95 %)"
    )
    return Table(columns, [*rows, *([*one[:2], *one.gains] for one in newcomers(cold))], title)


def newcomers_by_horizon(cold: ColdStart, *, beside: bool = False) -> Table:
    """Return errors and gains of newcomers, a row for each horizon; `beside`: with those alone."""
    columns = (
        *_NEWCOMER,
        Column("horizon_ticks", "horizon", WHOLE),
        Column("db", "error", ERROR_IF_ANY, "dB"),
        Column(("gain", "low", "high"), "gain", GAIN, "dB"),
        Column("starts", "starts", WHOLE),
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
    return Table(columns, rows)
