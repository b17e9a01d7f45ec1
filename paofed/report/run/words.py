"""One run in words, for a terminal and its page: what was found, what to do, how to repeat it."""

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paofed.core.metrics import decibels
from paofed.core.tariffs import PAYLOAD, Tariff
from paofed.report.run.advice import Advice, advise
from paofed.report.run.advice_words import as_json as advice_json
from paofed.report.run.advice_words import fleet_command, sentences
from paofed.report.run.gains import faults_of
from paofed.report.run.tables import (
    algorithms,
    baselines,
    by_label_share,
    by_labels,
    faults_and_costs,
    in_target_unit,
    newcomers_by_horizon,
    newcomers_in_short,
    recoveries,
)
from paofed.report.shared.looks import rank
from paofed.report.shared.pages import interval, number
from paofed.simulate.engines import LAST
from paofed.simulate.engines import USUAL as USUAL_ENGINE
from paofed.simulate.results.estimates import Estimate, estimate
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.table.baselines import USUAL
from paofed.table import known
from paofed.words import counted, size, times_less
from paofed.world.scenario_text import to_toml


def as_json(result: Result, tariff: Tariff = PAYLOAD) -> Any:
    """Return the summary as JSON can hold it."""
    summary = result.summary(tariff)
    told = {"runs": result.runs, "tariff": asdict(tariff), "algorithms": summary}
    if isinstance(result, TableResult):
        advice = advise(result, tariff)
        told |= {"advice": advice_json(advice), **_beside(result)}
        told |= {"by_labels": by_labels(advice.by_labels).json()} if advice.by_labels else {}
        told |= {"label_shares": by_label_share(advice.by_share).json()} if advice.by_share else {}
    return known({**told, **_faults(result), **_choices(result)})


def as_table(result: Result, tariff: Tariff = PAYLOAD, saved: Path | None = None) -> str:
    """Return tables for people: errors with standard errors, traffic of a run, and advice.

    `saved` is the file of the result, if there is one.
    """
    scenario = result.provenance["scenario"]["name"]
    units = f"coordinates, messages and bytes by tariff {tariff.name}"
    traffic = f"traffic in {units if tariff.adds else 'coordinates and payload'}, mean of a run"
    if isinstance(result, TableResult):
        note = f"error on samples to come, {traffic}"
        advice = advise(result, tariff)
        parts = _over_table(result, advice, tariff)
    else:
        note = f"error over the last 5 % of ticks, {traffic}"
        parts = [algorithms(result, tariff).text()]
        parts += [recoveries(result).text()] if result.drifts else []
    if faults := faults_of(result):
        parts.append(_damages(result, faults))
    parts += [choice["sentence"] for choice in result.provenance.get("chosen", ())]
    if isinstance(result, TableResult):
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


def _over_table(result: TableResult, advice: Advice, tariff: Tariff) -> list[str]:
    """Return tables of both models of every algorithm, baselines, labels, and newcomers."""
    parts = [algorithms(result, tariff)]
    parts += [baselines(result.progressive)] if result.baselines else []
    parts.append(in_target_unit(result))
    parts += [by_labels(advice.by_labels)] if advice.by_labels else []
    parts += [by_label_share(advice.by_share)] if advice.by_share else []
    cold = result.cold_start
    if cold is not None and any(map(math.isfinite, cold.pooled_db(cold.beside["alone"]))):
        parts.append(newcomers_in_short(result, cold))
    return [part.text() for part in parts]


def _damages(result: Result, faults: list[str]) -> str:
    """Say the faults and, where it is known, what they do to every algorithm."""
    heading = f"faults: {' '.join(faults)}"
    if result.clean is None:
        return heading
    alone = () if "device" in result.judged_models else ("model",)  # the server's
    shown = faults_and_costs(result).without("db_se", "clean_db_se", *alone)
    return f"{heading}\n\n{shown.text()}"


def _faults(result: Result) -> dict[str, Any]:
    """Return the faults and what they do, for JSON."""
    faults = faults_of(result)
    found = faults_and_costs(result).without("db_se", "clean_db_se")
    return {"faults": faults, "damage": found.json()} if faults else {}


def _beside(result: TableResult) -> dict[str, Any]:
    """Return what a run over a table has beside its algorithms, for JSON."""
    judged, cold = result.progressive, result.cold_start
    found = {
        name: {
            **judged.final(name, "baseline")._asdict(),
            **judged.without_labels(name, "baseline"),
            **result.own_unit(name, "baseline")._asdict(),
        }
        for name in result.baselines
    }
    joined = [] if cold is None else newcomers_by_horizon(cold).json()
    return {"baselines": found, "newcomers": joined}


_NEAR = 1.0  # dB: who is no further behind the best is near enough to be named beside it


class OnFront(NamedTuple):
    """An algorithm that nothing beats for fewer bytes: its error, and what it sends in a run."""

    name: str
    db: float
    bytes: float
    behind: Estimate  # dB by which it is worse than the best, paired over runs


def front(result: Result, tariff: Tariff) -> list[OnFront]:
    """Return the algorithms with the least error for their bytes, the least error first."""
    order = sorted(result.algorithms, key=lambda name: rank(result.final(name).db))
    found, least = list[OnFront](), np.inf
    for name in order:
        sent = float(result.run_wire(name, tariff).both[:, -1].mean())
        if sent < least:
            with np.errstate(invalid="ignore"):  # both may have diverged
                worse = decibels(result.run_finals(name)) - decibels(result.run_finals(order[0]))
            found.append(OnFront(name, result.final(name).db, sent, estimate(worse)))
            least = sent
    return found


def lead_words(found: Sequence[OnFront], count: int) -> Iterator[str]:
    """Say who of `count` algorithms has the least error and, if any is near it, who sends less."""
    if found:
        yield _best(found[0], count)
    near = [one for one in found[1:] if one.behind.mean <= _NEAR]
    if near:
        yield _cheaper(near[-1], found[0])


def choices(found: Sequence[OnFront], count: int) -> Iterator[str]:
    """Yield what to choose from, where there is a choice."""
    if len(found) > 1:
        best, *others = found
        yield _best(best, count)
        yield from (_cheaper(one, best) for one in others)


def _best(one: OnFront, count: int) -> str:
    among = f" has the least error of {counted(count, 'algorithm')}," if count > 1 else " reaches"
    return f"{one.name}{among} {number(one.db)} dB, and sends {size(one.bytes)} in a run."


def _cheaper(one: OnFront, best: OnFront) -> str:
    return (
        f"{one.name} sends {times_less(best.bytes / one.bytes)} ({size(one.bytes)}) and reaches "
        f"{number(one.db)} dB, {interval(one.behind)} dB worse."
    )


_CHOICE = ("gpu", "fast")  # the card first, since the fast engine takes all that the card takes


def is_open(result: Result) -> bool:
    """Whether a function made the worlds, which no file holds."""
    return bool(result.provenance["scenario"].get("kind") == "worlds")


class Again(NamedTuple):
    """What repeats a run."""

    first: int  # the number of its first run
    function: str  # what made its worlds; empty where a scenario did
    typed: str
    versions: dict[str, str]
    processors: str
    scenario: str


def again(result: Result, tariff: Tariff = PAYLOAD) -> Again:
    """Return how to repeat a run: what to type, the versions, and the data."""
    about, scenario = result.provenance, result.provenance["scenario"]
    words = processors(result)
    return Again(
        about["first_run"],
        scenario["stream"]["function"] if is_open(result) else "",
        call(result) if is_open(result) else command(result, tariff),
        about["versions"],
        f"{words[0].upper()}{words[1:]}." if words else "",
        json.dumps(scenario, indent=1) if is_open(result) else to_toml(scenario),
    )


def processors(result: Result) -> str:
    """Say on which types of processors the runs were computed, where these are several."""
    found = result.provenance["cpus"]
    types = {one for name in found for one in name.split(" and ")}
    if len(types) < 2:
        return ""
    told = "; ".join(f"{name} ({counted(len(runs), 'run')})" for name, runs in found.items())
    return f"computed on {len(types)} types of processors, whose last digits may differ: {told}"


def call(result: Result) -> str:
    """Return the Python call that runs the same again, over worlds of one's own."""
    about, scenario = result.provenance, result.provenance["scenario"]
    worlds = _said({key: scenario[key] for key in ("step_size", "max_age", "about")})
    settings: dict[str, object] = {"runs": result.runs, "every": int(result.ticks[0]) + 1}
    settings |= {key: about[key] for key in ("seed", "same_world", "precision")}
    settings |= {"engine": engines} if (engines := _engines(result)) != USUAL_ENGINE else {}
    over = f"Worlds({scenario['name']!r}, function, {worlds})"
    return f"run({over}, {result.algorithms}, {_said(settings)})"


def _engines(result: Result) -> str:
    """The choice of engines that gives every algorithm the engine that it had."""
    used = [name for name in _CHOICE if name in result.provenance["engines"]]
    return ",".join(used) or LAST


def _said(keywords: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in keywords.items())


def command(result: Result, tariff: Tariff = PAYLOAD) -> str:
    """Return the command that runs the same again, in the folder of the page."""
    about, gap = result.provenance, int(result.ticks[0]) + 1
    scenario = about["scenario"]
    words = ["paofed", "run", "scenario.toml", "--runs", result.runs, "--seed", about["seed"]]
    words += ["--every", gap, "--precision", about["precision"]]
    words += ["--same-world"] if about["same_world"] else []
    words += ["--engine", engines] if (engines := _engines(result)) != USUAL_ENGINE else []
    if isinstance(result, TableResult):
        words += [
            "--cold-starts",
            0 if result.cold_start is None else len(result.cold_start.starts),
        ]
        if result.label_shares is not None:
            words += ["--label-shares", ",".join(map(repr, result.label_shares.shares.tolist()))]
        names = about["baselines"]
        if names != list(USUAL):
            told = ",".join(name.replace(" ", "-") for name in names)
            words += ["--baselines", told or "none"]
    if scenario.get("faults") and result.clean is None:
        words += ["--no-clean"]
    words += ["--tariff", tariff.word] if tariff.adds else []
    return shlex.join([*map(str, words), "--algorithm", *result.algorithms])
