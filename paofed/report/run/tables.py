"""The tables of one run, for its page, a terminal and JSON, and every number of its page as CSV."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paofed.core.tariffs import Tariff
from paofed.files import write_table
from paofed.report.run.advice import advise
from paofed.report.run.advice_words import Behind, numbers
from paofed.report.run.by_labels import AtShare, Worth, percent
from paofed.report.run.gains import OverAlone, damages, gain, groups, horizons, newcomers, stages
from paofed.report.shared.looks import baseline_look, rank
from paofed.report.shared.pages import MESSAGES, TRAFFIC
from paofed.simulate.results.lives import Lives, OwnUnit
from paofed.simulate.results.progressive import (
    MODELS,
    WITHOUT_LABELS,
    ColdStart,
    Progressive,
    Whose,
)
from paofed.simulate.results.result import SENT_COLUMNS, Result
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


def in_target_unit(result: Result, lives: Lives) -> ShownTable:
    """Return every learner's errors in the target's own unit."""
    rows = [[name, whose, *lives.own_unit(name, whose)] for name, whose in lives.learners.tolist()]
    target = column(result.provenance["scenario"]["stream"]["target"]).name
    title = f"in the unit of {target} (* is the best of its column, here and above)"
    return ShownTable((ShownColumn("learner", ""), _MODEL, *_OWN_UNIT), rows, title)


_WORTH = (
    ShownColumn("algorithm", "algorithm", NAME),
    ShownColumn("whom", "devices"),
    ShownColumn("devices", "how many", COUNT),
    ShownColumn("db", "device", ERROR, "dB"),
    ShownColumn(("gain", "low", "high"), "gain", GAIN, "dB"),
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


_WRITTEN = (
    "curves",
    "errors",
    "gains",
    "recovery",
    "by-device",
    "over-time",
    "lives",
    "by-group",
    "by-labels",
    "label-shares",
    "newcomers",
    "faults",
    "advice",
)
_GAINED = ("over", "gain", "low", "high")
DRAWN = ("lives", "curves", "traffic", "over-time", "by-device", "label-shares", "newcomers")
PAGE = (  # all files that the folder of a page may hold
    "report.html",
    "scenario.toml",
    *(f"{name}.csv" for name in _WRITTEN),
    *(f"{name}.{ending}" for name in DRAWN for ending in ("svg", "png")),
)


def write_numbers(result: Result, folder: Path, tariff: Tariff) -> None:
    """Write the curves, the errors and, if there are drifts, what they did.

    For a table, also write what was judged on it.
    """
    result.to_csv(folder / "curves.csv", tariff)
    _write_errors(result, folder, tariff)
    if result.drifts:
        recoveries(result).csv(folder / "recovery.csv")
    if isinstance(result, TableResult):
        _write_judged(result, folder, tariff)
    if result.clean is not None:
        faults_and_costs(result).csv(folder / "faults.csv")


def _write_errors(result: Result, folder: Path, tariff: Tariff) -> None:
    learners: list[tuple[str, Whose]] = [
        (name, whose) for name in result.algorithms for whose in result.judged_models
    ]
    learners += [(name, "baseline") for name in result.baselines]
    sent = {
        name: [*(float(n[-1]) for n in result.mean_sent(name, tariff).values()), tariff.name]
        for name in result.algorithms
    }
    nothing = [""] * (len(SENT_COLUMNS) + 1)
    write_table(
        folder / "errors.csv",
        ["learner", "model", "runs", "db", "db_se", *OwnUnit._fields, *SENT_COLUMNS, "tariff"],
        [
            [
                name,
                whose,
                result.runs,
                *result.final(name, whose),
                *(result.own_unit(name, whose) or [""] * len(OwnUnit._fields)),
                *(nothing if whose == "baseline" else sent[name]),
            ]
            for name, whose in learners
        ],
    )


def _write_judged(result: TableResult, folder: Path, tariff: Tariff) -> None:
    """Write what is known over a table alone."""
    judged, lives = result.progressive, result.lives
    wires = {
        name: [result.mean_sent(name, tariff)[way].tolist() for way in ("wire_up", "wire_down")]
        for name in result.algorithms
    }
    learners = [(name, whose) for name, whose in judged.learners.tolist()]
    write_table(
        folder / "gains.csv",
        ["algorithm", "model", "over", "gain", "low", "high", "runs"],
        [
            [name, whose, baseline, *gain(judged, name, whose, baseline)]
            for name in result.algorithms
            for whose in MODELS
            for baseline in judged.baselines
        ],
    )
    write_table(
        folder / "by-device.csv",
        ["learner", "model", "device", "db", "samples", *OwnUnit._fields],
        [
            [name, whose, *values]
            for name, whose in learners
            for values in zip(
                judged.devices.tolist(),
                judged.by_device_db(name, whose).tolist(),
                judged.device_samples.tolist(),
                *lives.own_unit_by(name, whose, lives.device, len(judged.devices)),
                strict=True,
            )
        ],
    )
    write_table(
        folder / "over-time.csv",
        ["learner", "model", "tick", "db", "samples", "db_until", "wire_up", "wire_down"],
        [
            [name, whose, *values]
            for name, whose in learners
            for values in zip(
                result.ticks.tolist(),
                judged.curve_db(name, whose).tolist(),
                judged.samples.tolist(),
                judged.until_db(name, whose).tolist(),
                *([[""] * len(result.ticks)] * 2 if whose == "baseline" else wires[name]),
                strict=True,
            )
        ],
    )
    _write_lives(lives, folder)
    _write_groups(lives, folder)
    if result.cold_start is not None:
        newcomers_by_horizon(result.cold_start, beside=True).csv(folder / "newcomers.csv")
    advice = advise(result, tariff)
    if advice.by_labels:
        by_labels(advice.by_labels).csv(folder / "by-labels.csv")
    if advice.by_share:
        by_label_share(advice.by_share).csv(folder / "label-shares.csv")
    write_table(folder / "advice.csv", Behind._fields, list(numbers(advice)))


def _write_lives(lives: Lives, folder: Path) -> None:
    """Write every learner at every stage, and its gain over the best way of being alone."""
    learners = [(name, whose) for name, whose in lives.learners.tolist()]
    rows = []
    for name, whose in learners:
        errors = (
            lives.stage_db(name, whose),
            *lives.own_unit_by(name, whose, lives.stage, lives.stages),
        )
        for stage in stages(lives, name, whose):
            here = stage.first.bit_length() - 1
            told = [name, whose, stage.first, stage.last, *stage.over[1:3]]
            rows.append([*told, *(float(part[here]) for part in errors), *_gained(stage.over)])
    header = ["learner", "model", "from", "to", "devices", "samples", "db", *OwnUnit._fields]
    write_table(folder / "lives.csv", [*header, *_GAINED], rows)


def _gained(over: OverAlone) -> tuple[str | float, ...]:
    """Return the gain over the best way of being alone, and the name of that way."""
    return over.rival, *over.gain[:3]


def _write_groups(lives: Lives, folder: Path) -> None:
    header = ["learner", "model", "group", "devices", "samples", "db", *OwnUnit._fields]
    write_table(
        folder / "by-group.csv",
        [*header, *_GAINED],
        [
            [name, whose, found.name, *found.over[1:3], found.db, *found.own, *_gained(found.over)]
            for name, whose in lives.learners.tolist()
            for found in groups(lives, name, whose)
        ],
    )
