"""Every number of a run's page as CSV."""

from collections.abc import Sequence
from pathlib import Path

from paofed.core.tariffs import Tariff
from paofed.files import write_table
from paofed.report.run.advice import advise
from paofed.report.run.advice_words import Behind, numbers
from paofed.report.run.gains import gain
from paofed.report.run.lives import OverAlone, groups, stages
from paofed.report.run.tables import faults_and_costs, newcomers_by_horizon, recoveries
from paofed.simulate.results.estimates import Final
from paofed.simulate.results.lives import Lives, OwnUnit
from paofed.simulate.results.progressive import MODELS, Progressive, Whose
from paofed.simulate.results.result import SENT_COLUMNS, Result

_WRITTEN = (
    "curves",
    "errors",
    "gains",
    "recovery",
    "by-device",
    "over-time",
    "lives",
    "by-group",
    "newcomers",
    "faults",
    "advice",
)
_GAINED = ("over", "gain", "low", "high")
_DRAWN = ("lives", "curves", "traffic", "over-time", "by-device", "newcomers")
PAGE = (  # all files that the folder of a page may hold
    "report.html",
    "scenario.toml",
    *(f"{name}.csv" for name in _WRITTEN),
    *(f"{name}.{ending}" for name in _DRAWN for ending in ("svg", "png")),
)


def write_numbers(result: Result, folder: Path, tariff: Tariff) -> None:
    """Write the curves, the errors and, if there are drifts, what they did.

    For a table, also write what was judged on it.
    """
    result.to_csv(folder / "curves.csv", tariff)
    _write_errors(result, folder, tariff)
    if result.drifts:
        recoveries(result).csv(folder / "recovery.csv")
    if result.progressive is not None:
        _write_judged(result, result.progressive, folder, tariff)
    if result.lives is not None:
        _write_lives(result.lives, folder)
        _write_groups(result.lives, folder)
    if result.cold_start is not None:
        newcomers_by_horizon(result.cold_start, beside=True).csv(folder / "newcomers.csv")
    if (advice := advise(result, tariff)) is not None:
        write_table(folder / "advice.csv", Behind._fields, list(numbers(advice)))
    if result.clean is not None:
        faults_and_costs(result).csv(folder / "faults.csv")


def _write_errors(result: Result, folder: Path, tariff: Tariff) -> None:
    judged = result.progressive
    if judged is None:
        finals: list[tuple[str, Whose, Final]] = [
            (name, "server", result.final(name)) for name in result.algorithms
        ]
    else:
        finals = [(n, whose, judged.final(n, whose)) for n, whose in judged.learners.tolist()]
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
                *final,
                *_own_unit(result.lives, name, whose),
                *(nothing if whose == "baseline" else sent[name]),
            ]
            for name, whose, final in finals
        ],
    )


def _write_judged(result: Result, judged: Progressive, folder: Path, tariff: Tariff) -> None:
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
                *_own_unit_by_device(result.lives, judged, name, whose),
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


def _own_unit(lives: Lives | None, name: str, whose: Whose) -> Sequence[float | str]:
    """Return errors in the target's own unit, where they are known."""
    return [""] * len(OwnUnit._fields) if lives is None else lives.own_unit(name, whose)


def _own_unit_by_device(
    lives: Lives | None, judged: Progressive, name: str, whose: Whose
) -> Sequence[Sequence[float | str]]:
    count = len(judged.devices)
    if lives is None:
        return [[""] * count] * len(OwnUnit._fields)
    found = lives.own_unit_by(name, whose, lives.device, count)
    return [part.tolist() for part in found]


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
            told = [name, whose, stage.first, stage.last, *_who(stage.over)]
            rows.append([*told, *(float(part[here]) for part in errors), *_gained(stage.over)])
    header = ["learner", "model", "from", "to", "devices", "samples", "db", *OwnUnit._fields]
    write_table(folder / "lives.csv", [*header, *_GAINED], rows)


def _who(over: OverAlone) -> tuple[int, int]:
    return over.devices, over.samples


def _gained(over: OverAlone) -> tuple[str | float, ...]:
    """Return the gain over the best way of being alone, and the name of that way."""
    return over.rival, *over.gain[:3]


def _write_groups(lives: Lives, folder: Path) -> None:
    header = ["learner", "model", "group", "devices", "samples", "db", *OwnUnit._fields]
    write_table(
        folder / "by-group.csv",
        [*header, *_GAINED],
        [
            [name, whose, found.name, *_who(found.over), found.db, *found.own, *_gained(found.over)]
            for name, whose in lives.learners.tolist()
            for found in groups(lives, name, whose)
        ],
    )
