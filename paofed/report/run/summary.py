"""A Result in words and tables, for a terminal."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from paofed.core.tariffs import PAYLOAD, Tariff
from paofed.report.run.advice import Advice, advise
from paofed.report.run.advice_words import as_json as advice_json
from paofed.report.run.advice_words import fleet_command, sentences
from paofed.report.run.gains import faults_of
from paofed.report.run.tables import (
    algorithms,
    baselines,
    faults_and_costs,
    in_target_unit,
    newcomers_by_horizon,
    newcomers_in_short,
    recoveries,
)
from paofed.simulate.results.progressive import Progressive
from paofed.simulate.results.result import Result
from paofed.table import known
from paofed.words import counted


def as_json(result: Result, tariff: Tariff = PAYLOAD) -> Any:
    """Return the summary as JSON can hold it."""
    advice = advise(result, tariff)
    summary = result.summary(tariff)
    told = {"runs": result.runs, "tariff": asdict(tariff), "algorithms": summary}
    told |= {"advice": advice_json(advice)} if advice is not None else {}
    return known({**told, **_beside(result), **_faults(result), **_choices(result)})


def as_table(result: Result, tariff: Tariff = PAYLOAD, saved: Path | None = None) -> str:
    """Return tables for people: errors with standard errors, traffic of a run, and advice.

    `saved` is the file of the result, if there is one.
    """
    scenario = result.provenance["scenario"]["name"]
    units = f"coordinates, messages and bytes by tariff {tariff.name}"
    traffic = f"traffic in {units if tariff.adds else 'coordinates and payload'}, mean of a run"
    if result.progressive is not None:
        note = f"error on samples to come, {traffic}"
        parts = _over_table(result, result.progressive, tariff)
    else:
        note = f"error over the last 5 % of ticks, {traffic}"
        parts = [algorithms(result, tariff).text()]
        parts += [recoveries(result).text()] if result.drifts else []
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


def _over_table(result: Result, judged: Progressive, tariff: Tariff) -> list[str]:
    """Return tables of both models of every algorithm, the baselines, and newcomers."""
    parts = [algorithms(result, tariff)]
    parts += [baselines(judged)] if judged.baselines else []
    parts += [in_target_unit(result, result.lives)] if result.lives is not None else []
    cold = result.cold_start
    if cold is not None and any(map(math.isfinite, cold.pooled_db(cold.beside["alone"]))):
        parts.append(newcomers_in_short(result, cold))
    return [part.text() for part in parts]


def _damages(result: Result, faults: list[str]) -> str:
    """Say the faults and, where it is known, what they do to every algorithm."""
    heading = f"faults: {' '.join(faults)}"
    if result.clean is None:
        return heading
    alone = ("model",) if result.progressive is None else ()  # the server's
    shown = faults_and_costs(result).without("db_se", "clean_db_se", *alone)
    return f"{heading}\n\n{shown.text()}"


def _faults(result: Result) -> dict[str, Any]:
    """Return the faults and what they do, for JSON."""
    faults = faults_of(result)
    found = faults_and_costs(result).without("db_se", "clean_db_se")
    return {"faults": faults, "damage": found.json()} if faults else {}


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
    joined = [] if cold is None else newcomers_by_horizon(cold).json()
    return {"baselines": found, "newcomers": joined}
