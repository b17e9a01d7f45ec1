"""The study of readings: each finished unit is a file, so that it can go on where it stopped."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.algorithms.spec import from_text
from paofed.core.metrics import decibels
from paofed.files import write_table
from paofed.report.paper.claims import CLAIMS, II, Claim, I
from paofed.report.paper.experiment import OpenStage
from paofed.report.readings.amount import Amount
from paofed.report.readings.readings import Reading
from paofed.report.readings.steps import START, stretched
from paofed.report.readings.unit import computed, to_run
from paofed.simulate.results.estimates import Estimate
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import HERE, Crew
from paofed.words import counted
from paofed.world.scenario import Scenario

# What is compared under each statement, in a few words: all comparisons that are disputed in the
# reproduction, and two that hold there and that a reading is about.
LABELS: Mapping[str, str] = {
    "accurate-u1-setting-1": "U1 over FedSGD, I",
    "accurate-u1-over-time-setting-1": "U1 over FedSGD, I, whole run",
    "accurate-c2-setting-1": "C2 over FedSGD, I",
    "accurate-c2-over-time-setting-1": "C2 over FedSGD, I, whole run",
    "accurate-u1-setting-2": "U1 over FedSGD, II",
    "accurate-c2-setting-2": "C2 over FedSGD, II",
    "fewer-4-32-setting-1": "m = 4 over 32, I",
    "fewer-1-4-setting-1": "m = 1 over 4, I",
    "fewer-4-32-setting-2": "m = 4 over 32, II",
    "grows": "C2 over U1, more in II than in I",
    "weight-u1-setting-2": "C2 over U1, II",
    "uncoordinated-setting-2": "U1 over C1, II",
    "poor-0.1-setting-1": "U1 over Online-Fed 0.1, I",
    "poor-0.5-setting-1": "U1 over Online-Fed 0.5, I",
    "local-c-setting-1": "C1 over C0, I",
    "local-u-setting-1": "U1 over U0, I",
}
_BY_KEY = {claim.key: claim for claim in CLAIMS}
STATEMENTS = tuple(_BY_KEY[key] for key in LABELS)
LINEUPS: Mapping[str, tuple[str, ...]] = {
    setting: tuple(
        dict.fromkeys(n for c in STATEMENTS if setting in c.scenarios for n in c.algorithms)
    )
    for setting in (I, II)
}


class Ruling(NamedTuple):
    """One statement under one reading, with its verdict."""

    claim: Claim
    reading: Reading
    found: Estimate


class Comparisons(NamedTuple):
    """A statement, its comparisons in a few words, and the verdict of each reading on them."""

    statement: str
    labels: list[str]
    rows: dict[Reading, list[Estimate]]


@dataclass(frozen=True)
class ReadingStudy:
    """Results by reading, the default one first, and by setting.

    Each holds what a reading changes.
    """

    results: Mapping[Reading, Mapping[str, Result]]

    def judged(self) -> Iterator[Ruling]:
        """Judge every comparison under every reading."""
        for claim in STATEMENTS:
            for reading in self.results:
                yield Ruling(claim, reading, claim.judge(self._concerning(claim, reading)))

    def _concerning(self, claim: Claim, reading: Reading) -> Mapping[str, Result]:
        """Return the results that a claim is judged by; the default's where nothing is changed."""
        default, own = next(iter(self.results.values())), self.results[reading]
        changed = {
            setting: own[setting]
            for setting in claim.scenarios
            if setting in own and not set(own[setting].algorithms).isdisjoint(claim.algorithms)
        }
        if not changed:
            return default
        runs = min(result.runs for result in changed.values())
        return {s: joined(default[s], changed.get(s), runs) for s in claim.scenarios}

    def groups(self) -> Iterator[Comparisons]:
        """Yield the rulings as a table for each statement."""
        for statement, group in groupby(self.judged(), key=lambda judged: judged.claim.statement):
            found = list(group)
            labels = list(dict.fromkeys(LABELS[judged.claim.key] for judged in found))
            rows: dict[Reading, list[Estimate]] = {reading: [] for reading in self.results}
            for judged in found:
                rows[judged.reading].append(judged.found)
            yield Comparisons(statement, labels, rows)

    def steps(self) -> Iterator[tuple[str, str, str, float, float]]:
        """Yield chosen step sizes: reading, setting, method, step, error in dB over the start."""
        default = next(iter(self.results.values()))
        for reading in (one for one in self.results if one.steps is not None):
            for setting, result in self.results[reading].items():
                start = (int(default[setting].ticks[-1]) + 1) // START
                for described in result.provenance["algorithms"]:
                    name, step = described["name"], described["step_size"]
                    yield reading.key, setting, name, step, start_db(result, name, start)

    def save(self, folder: Path) -> None:
        """Write every number as CSV."""
        write_table(
            folder / "readings.csv",
            ["statement", "reading", "mean", "low", "high", "runs", "verdict"],
            [[j.claim.key, j.reading.key, *j.found, j.found.verdict] for j in self.judged()],
        )
        write_table(
            folder / "steps.csv",
            ["reading", "setting", "algorithm", "step_size", "start_db"],
            list(self.steps()),
        )


def joined(default: Result, changed: Result | None, runs: int) -> Result:
    """Join `runs` runs of the methods that a reading changes with the default's other methods."""
    parts = [default] if changed is None else [changed, default]
    rows: dict[str, tuple[Result, int]] = {}
    for part in parts:
        for index, described in enumerate(part.provenance["algorithms"]):
            rows.setdefault(described["name"], (part, index))

    def stacked(array: str) -> NDArray[Any]:
        return np.stack([getattr(part, array)[:runs, i] for part, i in rows.values()], axis=1)

    described = [part.provenance["algorithms"][i] for part, i in rows.values()]
    return replace(
        parts[0],
        provenance={**parts[0].provenance, "algorithms": described},
        mse=stacked("mse"),
        traffic=stacked("traffic"),
        models=stacked("models"),
    )


def start_db(result: Result, name: str, start: int) -> float:
    """Return the error over the first ticks in dB, mean over runs; NaN without a curve point."""
    first = result.ticks < start
    return float(decibels(result.run_curves(name)[:, first]).mean()) if first.any() else np.nan


def gathered(
    readings: Sequence[Reading],
    effort: Amount,
    seed: int,
    folder: Path,
    open_stage: OpenStage,
    crew: Crew = HERE,
) -> ReadingStudy:
    """Load the units that are finished, compute the others, and save each of them."""
    units = [(reading, setting) for reading in readings for setting in LINEUPS]
    results: dict[Reading, dict[str, Result]] = {reading: {} for reading in readings}
    for number, (reading, setting) in enumerate(units, start=1):
        path = folder / f"{reading.key}-{setting}.npz"
        whole = Scenario.load(setting)
        scenario = stretched(whole, whole.ticks // effort.shorter)
        methods = to_run(reading, scenario, [from_text(name) for name in LINEUPS[setting]])
        if not methods:
            continue
        if not path.exists():
            runs = counted(effort.runs_of(reading), "run")
            what = f"unit {number} of {len(units)}: {reading.key}, {setting}, {runs}"
            with open_stage(what) as report:
                found = computed(reading, scenario, methods, effort, seed, report, crew)
            found.save(path)
        results[reading][setting] = Result.load(path)
    return ReadingStudy(results)
