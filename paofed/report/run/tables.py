"""The tables of one run, for its page, a terminal, JSON and CSV."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from paofed.core.tariffs import PAYLOAD, Tariff
from paofed.report.run.by_labels import AtShare, Worth, percent
from paofed.report.run.gains import damages, groups, horizons, newcomers
from paofed.report.shared.looks import baseline_look, rank
from paofed.report.shared.pages import MESSAGES, TRAFFIC
from paofed.simulate.results.lives import Lives, OwnUnit
from paofed.simulate.results.progressive import (
    WITHOUT_LABELS,
    ColdStart,
    Progressive,
    Whose,
)
from paofed.simulate.results.result import Result
from paofed.simulate.results.runs import SENT_COLUMNS
from paofed.simulate.results.table_result import TableResult
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
_WITHOUT_LABELS = ShownColumn(WITHOUT_LABELS, "without labels", ERROR, "dB", best="least")
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
    rows = [
        [line[key] for key in ("algorithm", *errors)]
        + [*judged.without_labels(line["algorithm"], "device").values()]
        + [line[key] for key in sent]
        for line in lines
    ]
    for name in judged.baselines:
        final, nothing = [*judged.final(name, "baseline")], [None, None]
        pair = [*final, *nothing] if baseline_look(name).whose == "device" else [*nothing, *final]
        pair += judged.without_labels(name, "baseline").values()
        rows.append([Words(name), *pair, BASELINES.get(kind_of(name), "")])
    columns = (
        ShownColumn("learner", "", NAME),
        ShownColumn("device_db", "device", ERROR, "dB", best="least"),
        ShownColumn("device_db_se", "s.e.", NUMBER),
        ShownColumn("db", "server", ERROR, "dB", best="least"),
        _STANDARD_ERROR,
        *([] if judged.with_labels is None else [_WITHOUT_LABELS]),
        *TRAFFIC,
    )
    return ShownTable(columns, rows)


def algorithms(result: Result, tariff: Tariff) -> ShownTable:
    """Return the errors and the traffic of all algorithms in their order; bytes in kB and MB."""
    both = "device" in result.judged_models
    models = {"device": "device_db", "server": "db"} if both else {"error": "db"}
    columns = [ShownColumn("algorithm", "algorithm", NAME)]
    for head, key in models.items():
        columns.append(ShownColumn(key, head, ERROR, "dB"))
        columns.append(ShownColumn(f"{key.removesuffix('db')}standard_error", "s.e.", NUMBER))
    lines = result.summary(tariff)
    columns += [_WITHOUT_LABELS] if WITHOUT_LABELS in lines[0] else []
    columns += [
        ShownColumn("sent_up", "sent up", COUNT),
        ShownColumn("sent_down", "sent down", COUNT),
    ]
    columns += MESSAGES if tariff.adds else ()
    columns += [
        ShownColumn("wire_up", "bytes up", BYTES),
        ShownColumn("wire_down", "bytes down", BYTES),
    ]
    return ShownTable(columns, [[line[column.keys[0]] for column in columns] for line in lines])


def baselines(judged: Progressive) -> ShownTable:
    """Return the errors of all baselines, and what they are."""
    columns = (
        ShownColumn("learner", "baseline"),
        ShownColumn("db", "error", ERROR, "dB", best="least"),
        _STANDARD_ERROR,
        *([] if judged.with_labels is None else [_WITHOUT_LABELS]),
        ShownColumn("about", ""),
    )
    rows = [
        [
            name,
            *judged.final(name, "baseline"),
            *judged.without_labels(name, "baseline").values(),
            BASELINES.get(kind_of(name), ""),
        ]
        for name in judged.baselines
    ]
    return ShownTable(columns, rows)


def errors(result: Result, tariff: Tariff = PAYLOAD) -> ShownTable:
    """Return every learner's errors and traffic; people see those in the target's own unit."""
    learners: list[tuple[str, Whose]] = [
        (name, whose) for name in result.algorithms for whose in result.judged_models
    ]
    learners += [(name, "baseline") for name in result.baselines]
    sent = {
        name: [*(float(n[-1]) for n in result.mean_sent(name, tariff).values()), tariff.name]
        for name in result.algorithms
    }
    unknown, nothing = [None] * len(_OWN_UNIT), [None] * (len(SENT_COLUMNS) + 1)
    rows = [
        [name, whose, result.runs, *result.final(name, whose),
         *(result.own_unit(name, whose) or unknown),
         *(nothing if whose == "baseline" else sent[name])]
        for name, whose in learners
    ]  # fmt: skip
    columns = (
        ShownColumn("learner", ""),
        _MODEL,
        *map(ShownColumn, ("runs", "db", "db_se")),
        *_OWN_UNIT,
        *map(ShownColumn, (*SENT_COLUMNS, "tariff")),
    )
    return ShownTable(columns, rows)


def in_target_unit(result: TableResult) -> ShownTable:
    """Return every learner's errors with the target's own unit above them."""
    target = column(result.provenance["scenario"]["stream"]["target"]).name
    title = f"in the unit of {target} (* is the best of its column, here and above)"
    return replace(errors(result), title=title)


GAINED = ("gain", "low", "high")
_WORTH = (
    ShownColumn("algorithm", "algorithm", NAME),
    ShownColumn("whom", "devices"),
    ShownColumn("devices", "how many", COUNT),
    ShownColumn("db", "device", ERROR, "dB"),
    ShownColumn(GAINED, "gain", GAIN, "dB"),
    ShownColumn("over", "over alone"),
    ShownColumn("over_db", "its error", ERROR_IF_ANY, "dB"),
    ShownColumn(("pooled_gain", "pooled_low", "pooled_high"), "gain", GAIN, "dB"),
    ShownColumn("pooled", "over pooled"),
    ShownColumn("pooled_db", "its error", ERROR_IF_ANY, "dB"),
)


def by_labels(found: Sequence[Worth]) -> ShownTable:
    """Return what contacts are worth to devices with labels and to devices without."""
    title = (
        "what contacts are worth by labels: gains of the models on the devices over the best way "
        "of being alone, and over the better batch fit (95 % over devices)"
    )
    return ShownTable(_WORTH, [_worth(worth) for worth in found], title)


_SHARE = ShownColumn("share", "labels on", numeric(percent))


def by_label_share(found: Sequence[AtShare]) -> ShownTable:
    """Return the same for every share of labels that was tried."""
    title = "by the share of samples that have labels: errors and gains as above"
    return ShownTable((_SHARE, *_WORTH), [[share, *_worth(worth)] for share, worth in found], title)


def _worth(worth: Worth) -> list[Any]:
    alone, pooled = worth.alone, worth.pooled
    gains = alone.gain, alone.name, alone.db, pooled.gain, pooled.name, pooled.db
    return [worth.name, worth.whom, worth.devices, worth.db, *gains]


def by_group(lives: Lives, learners: Iterable[tuple[str, Whose]]) -> ShownTable:
    """Return the errors of learners by group of devices; people see those of one."""
    columns = (
        *map(ShownColumn, ("learner", "model")),
        ShownColumn("group", "group"),
        ShownColumn("devices", "devices", COUNT),
        ShownColumn("samples", "samples", COUNT),
        ShownColumn("db", "device", ERROR, "dB"),
        ShownColumn("rmse", "RMSE", SIGNIFICANT),
        ShownColumn("mae", "MAE", SIGNIFICANT),
        *map(ShownColumn, OwnUnit._fields[2:]),
        ShownColumn("over", "over"),
        ShownColumn(GAINED, "gain", GAIN, "dB"),
    )
    rows = [
        [name, whose, group, devices, samples, db, *own, rival, gained]
        for name, whose in learners
        for group, db, own, (rival, devices, samples, gained) in groups(lives, name, whose)
    ]
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
_ERROR_ORGAINED = numeric(
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
    columns = (*_NEWCOMER, *(ShownColumn(span, f"first {span}", _ERROR_ORGAINED) for span in spans))
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
        ShownColumn(GAINED, "gain", GAIN, "dB"),
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
