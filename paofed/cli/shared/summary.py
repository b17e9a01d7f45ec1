"""A Result in words and tables, for a terminal."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from paofed.cli.shared.outputs import plain
from paofed.core.tariffs import PAYLOAD, Tariff
from paofed.report.run.advice import Advice, advise
from paofed.report.run.advice_words import as_json as advice_json
from paofed.report.run.advice_words import fleet_command, sentences
from paofed.report.run.damage import damages, faults_of
from paofed.report.run.gains import horizons, newcomers
from paofed.report.shared.captions import best_places
from paofed.report.shared.own_unit import COMPARED
from paofed.simulate.results.estimates import Estimate
from paofed.simulate.results.lives import Lives, OwnUnit
from paofed.simulate.results.progressive import Progressive
from paofed.simulate.results.result import Result
from paofed.simulate.table.baselines import BASELINES
from paofed.simulate.table.learners_alone import kind_of
from paofed.words import counted, size, table
from paofed.world.table.columns import column

_ERRORS = ("before_db", "worst_db")


def as_json(result: Result, tariff: Tariff = PAYLOAD) -> Any:
    """Return the summary as JSON can hold it."""
    advice = advise(result, tariff)
    summary = result.summary(tariff)
    told = {"runs": result.runs, "tariff": asdict(tariff), "algorithms": summary}
    told |= {"advice": advice_json(advice)} if advice is not None else {}
    return plain({**told, **_beside(result), **_faults(result), **_choices(result)})


def as_table(result: Result, tariff: Tariff = PAYLOAD, saved: Path | None = None) -> str:
    """Return tables for people: errors with standard errors, traffic of a run, and advice.

    `saved` is the file of the result, if there is one.
    """
    summary = result.summary(tariff)
    scenario = result.provenance["scenario"]["name"]
    units = f"coordinates, messages and bytes by tariff {tariff.name}"
    traffic = f"traffic in {units if tariff.adds else 'coordinates and payload'}, mean of a run"
    if result.progressive is not None:
        note = f"error on samples to come, {traffic}"
        parts = _over_table(result, result.progressive, summary, tariff)
    else:
        note = f"error over the last 5 % of ticks, {traffic}"
        parts = [_algorithms(summary, {"error (dB)": "db"}, tariff)]
        parts += [_recoveries(summary)] if result.drifts else []
    if faults := faults_of(result):
        parts.append(_damages(result, faults))
    parts += [choice["sentence"] for choice in result.provenance.get("chosen", ())]
    if (advice := advise(result, tariff)) is not None:
        parts.append(_advice(advice, saved))
    return "\n\n".join([f"{scenario}, {counted(result.runs, 'run')} ({note})", *parts])


def _advice(advice: Advice, saved: Path | None) -> str:
    """Say what to do and, where taking part may pay and a file was saved, the command for it."""
    command = fleet_command(advice, saved)
    fleet = [f"The fleet: {command}"] if command else []
    return "\n".join(["what to do", "", *sentences(advice), *fleet])


def _choices(result: Result) -> dict[str, Any]:
    """Return what was chosen before the run, if anything was."""
    chosen = list(result.provenance.get("chosen", ()))
    return {"chosen": chosen} if chosen else {}


def _algorithms(summary: list[dict[str, Any]], errors: Mapping[str, str], tariff: Tariff) -> str:
    """Return one row per algorithm: errors, by heading and key, with standard errors; traffic."""
    header = ["algorithm"]
    for heading in errors:
        header += [heading, "s.e."]
    counts = ["sent_up", "sent_down"]
    counts += ["messages_up", "messages_down"] if tariff.adds else []
    rows = []
    for line in summary:
        row = [line["algorithm"]]
        for key in errors.values():
            row += [_error(line[key]), _number(line[f"{key[:-2]}standard_error"])]
        row += [_count(line[key]) for key in counts]
        rows.append(row + [size(line[key]) for key in ("wire_up", "wire_down")])
    header += [key.replace("_", " ") for key in counts]
    return table([*header, "bytes up", "bytes down"], rows)


def _over_table(
    result: Result, judged: Progressive, summary: list[dict[str, Any]], tariff: Tariff
) -> list[str]:
    """Return tables of both models of every algorithm, the baselines, and newcomers."""
    parts = [_algorithms(summary, {"device (dB)": "device_db", "server (dB)": "db"}, tariff)]
    if judged.baselines:
        finals = [judged.final(name, "baseline") for name in judged.baselines]
        errors = _starred([_error(final.db) for final in finals], [final.db for final in finals])
        rows = [
            [name, error, _number(final.standard_error), BASELINES.get(kind_of(name), "")]
            for name, error, final in zip(judged.baselines, errors, finals, strict=True)
        ]
        parts.append(table(["baseline", "error (dB)", "s.e.", ""], rows, left=(0, 3)))
    if result.lives is not None:
        parts.append(_own_unit(result, result.lives))
    cold = result.cold_start
    if cold is not None and any(map(math.isfinite, cold.pooled_db(cold.beside["alone"]))):
        spans = horizons(result, cold)
        rows = [
            [name, "", *map(_known, cold.pooled_db(errors))] for name, errors in cold.beside.items()
        ]
        rows += [[found.name, found.way, *map(_gained, found.gains)] for found in newcomers(cold)]
        header = ["newcomer", "begins with", *(f"first {span}" for span in spans)]
        note = (
            f"devices that join late, {counted(len(cold.starts), 'time')} each: error alone (dB), "
            f"and by how many dB those who take part are better (95 %)"
        )
        parts.append(f"{note}\n\n{table(header, rows, left=(0, 1))}")
    return parts


def _own_unit(result: Result, lives: Lives) -> str:
    """Return the errors of every learner in the unit of the target."""
    learners = lives.learners.tolist()
    columns = _own_unit_columns([lives.own_unit(name, whose) for name, whose in learners])
    rows = [
        [name, "" if whose == "baseline" else whose, *cells]
        for (name, whose), *cells in zip(learners, *columns, strict=True)
    ]
    target = column(result.provenance["scenario"]["stream"]["target"]).name
    header = ["", "model", "RMSE", "MAE", "R2", "coverage", "width"]
    told = f"in the unit of {target} (* is the best of its column, here and above)"
    return f"{told}\n\n{table(header, rows, left=(0, 1))}"


def _own_unit_columns(errors: Sequence[OwnUnit]) -> Iterator[list[str]]:
    for key in OwnUnit._fields:
        values = [getattr(one, key) for one in errors]
        texts = [_significant(value) for value in values]
        yield _starred(texts, values, most=COMPARED[key]) if key in COMPARED else texts


def _starred(texts: Sequence[str], values: Sequence[float], *, most: bool = False) -> list[str]:
    """Mark the best of a column, so that the digits of all its numbers stay below each other."""
    best = best_places(values, most=most)
    blank = " " if best else ""
    return [f"{text}{'*' if i in best else blank}" for i, text in enumerate(texts)]


def _damages(result: Result, faults: list[str]) -> str:
    """Say the faults and, where it is known, what they do to every algorithm."""
    heading = f"faults: {' '.join(faults)}"
    if result.clean is None:
        return heading
    header = ["algorithm", "with (dB)", "without (dB)", "cost (dB, 95 %)"]
    rows = [
        [_model(result, name, whose), _error(wrong.db), _error(right.db), _gained(cost)]
        for name, whose, wrong, right, cost in damages(result)
    ]
    return f"{heading}\n\n{table(header, rows)}"


def _model(result: Result, name: str, whose: str) -> str:
    return name if result.progressive is None else f"{name} ({whose})"


def _faults(result: Result) -> dict[str, Any]:
    """Return the faults and what they do, for JSON."""
    faults = faults_of(result)
    found = [
        {
            "algorithm": name,
            "model": whose,
            "db": wrong.db,
            "clean_db": right.db,
            "cost": {"mean": cost.mean, "low": cost.low, "high": cost.high},
        }
        for name, whose, wrong, right, cost in damages(result)
    ]
    return {"faults": faults, "damage": found} if faults else {}


def _gained(gain: Estimate) -> str:
    if not math.isfinite(gain.mean):
        return "-" if math.isnan(gain.mean) else "diverged"
    half = (gain.high - gain.low) / 2
    mean = round(gain.mean, 2) + 0.0  # adding 0.0 turns -0.0 into 0.0
    return f"{mean:+.2f}" + (f" ± {half:.2f}" if math.isfinite(half) else "")


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"


def _significant(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "-"


def _recoveries(summary: list[dict[str, Any]]) -> str:
    """Return a table of what every drift did to the algorithms."""
    header = ["algorithm", "drift", "before (dB)", "worst (dB)", "ticks to recover"]
    rows = [
        [
            line["algorithm"],
            str(drift["tick"]),
            *(_known(drift[key]) for key in _ERRORS),
            "not yet" if drift["ticks"] is None else str(drift["ticks"]),
        ]
        for line in summary
        for drift in line["recovery"]
    ]
    return table(header, rows)


def _error(error: float) -> str:
    """Write an error in dB for people; NaN or infinity means that the algorithm diverged."""
    return f"{error:.2f}" if math.isfinite(error) or error < 0 else "diverged"


def _count(number: float) -> str:
    """Write a count; an earlier version may not have kept it."""
    return "-" if math.isnan(number) else f"{number:,.0f}"


def _known(error: float) -> str:
    """Write an error that may not be known."""
    return "-" if math.isnan(error) else _error(error)


def _beside(result: Result) -> dict[str, Any]:
    """Return what a run over a table has beside its algorithms, for JSON."""
    if result.progressive is None:
        return {}
    judged, lives, cold = result.progressive, result.lives, result.cold_start
    found = {
        name: {
            **judged.final(name, "baseline")._asdict(),
            **(lives.own_unit(name, "baseline")._asdict() if lives is not None else {}),
        }
        for name in judged.baselines
    }
    joined = (
        []
        if cold is None
        else [
            {
                "algorithm": newcomer.name,
                "begins_with": newcomer.way,
                "horizon_ticks": ticks,
                "db": db,
                "gain": {"mean": gain.mean, "low": gain.low, "high": gain.high},
                "starts": gain.runs,
            }
            for newcomer in newcomers(cold)
            for ticks, db, gain in zip(
                cold.horizons.tolist(), newcomer.errors, newcomer.gains, strict=True
            )
        ]
    )
    return {"baselines": found, "newcomers": joined}
