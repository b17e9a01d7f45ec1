"""The study of readings: units that are finished files, so that it can go on where it stopped."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from paofed.algorithms.spec import from_text
from paofed.core.metrics import decibels
from paofed.errors import FileError
from paofed.files import read_text, write_table, write_text
from paofed.report.paper.claims import CLAIMS, II, Claim, I
from paofed.report.paper.experiment import OpenStage
from paofed.report.readings.readings import DEFAULT, READINGS, Reading
from paofed.report.readings.steps import START, stretched
from paofed.report.readings.unit import Effort, computed
from paofed.simulate.results.estimates import Estimate
from paofed.simulate.results.result import Result, versions
from paofed.words import counted
from paofed.world.scenario import Scenario

# What is compared under each statement, in a few words: all that is disputed in the reproduction,
# and two comparisons that hold there and that a reading is about.
LABELS: Mapping[str, str] = {
    "accurate-u1-setting-1": "U1, I, at the end",
    "accurate-u1-over-time-setting-1": "U1, I, whole run",
    "accurate-c2-setting-1": "C2, I, at the end",
    "accurate-c2-over-time-setting-1": "C2, I, whole run",
    "accurate-u1-setting-2": "U1, II, at the end",
    "accurate-c2-setting-2": "C2, II, at the end",
    "fewer-4-32-setting-1": "4 over 32, I",
    "fewer-1-4-setting-1": "1 over 4, I",
    "fewer-4-32-setting-2": "4 over 32, II",
    "grows": "C2 over U1, II over I",
    "weight-u1-setting-2": "C2 over U1, II",
    "uncoordinated-setting-2": "U1 over C1, II",
    "poor-0.1-setting-1": "U1 over 0.1, I",
    "poor-0.5-setting-1": "U1 over 0.5, I",
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
_ABOUT = "about.json"


class Judged(NamedTuple):
    """One statement under one reading."""

    claim: Claim
    reading: Reading
    found: Estimate


@dataclass(frozen=True)
class Study:
    """Results by reading and setting."""

    results: Mapping[str, Mapping[str, Result]]

    def judged(self) -> Iterator[Judged]:
        """Judge every statement under every reading."""
        for claim in STATEMENTS:
            for reading in READINGS:
                yield Judged(claim, reading, claim.judge(self.results[reading.key]))

    def steps(self) -> Iterator[tuple[str, str, str, float, float]]:
        """Where steps were chosen: reading, setting, method, step, error in dB over the start."""
        for reading in (one for one in READINGS if one.steps is not None):
            for setting, result in self.results[reading.key].items():
                start = (int(self.results[DEFAULT.key][setting].ticks[-1]) + 1) // START
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


def start_db(result: Result, name: str, start: int) -> float:
    """The error over the first ticks in dB, mean over runs; NaN where its curve has no point."""
    first = result.ticks < start
    return float(decibels(result.run_curves(name)[:, first]).mean()) if first.any() else np.nan


def gathered(
    effort: Effort, seed: int, folder: Path, open_stage: OpenStage, workers: int | None = None
) -> Study:
    """Load the units that are finished, compute the others, and save each when it is."""
    units = [(reading, setting) for reading in READINGS for setting in (I, II)]
    results: dict[str, dict[str, Result]] = {reading.key: {} for reading in READINGS}
    for number, (reading, setting) in enumerate(units, start=1):
        path = folder / f"{reading.key}-{setting}.npz"
        if not path.exists():
            whole = Scenario.load(setting)
            scenario = stretched(whole, whole.ticks // effort.shorter)
            methods = [from_text(name) for name in LINEUPS[setting]]
            runs = counted(effort.runs_of(reading), "run")
            what = f"unit {number} of {len(units)}: {reading.key}, {setting}, {runs}"
            with open_stage(what) as report:
                found = computed(reading, scenario, methods, effort, seed, report, workers)
            found.save(path)
        results[reading.key][setting] = Result.load(path)
    return Study(results)


def claim_folder(folder: Path, command: str) -> None:
    """Say in a folder what its units are; refuse one whose units are others."""
    path, about = folder / _ABOUT, {"command": command, "versions": versions()}
    if path.exists():
        try:
            found = json.loads(read_text(path))
        except json.JSONDecodeError:
            found = None
        if found != about:
            raise FileError(
                f"{folder} was made by {_said(found)}: expected {_said(about)}; give another --out"
            )
    write_text(path, json.dumps(about, indent=1) + "\n")


def _said(about: object) -> str:
    """The command of an about.json and its versions, in one line."""
    if not isinstance(about, dict) or not isinstance(about.get("versions"), dict):
        return "something else"
    made_with = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return f"`{about.get('command')}` with {made_with}"
