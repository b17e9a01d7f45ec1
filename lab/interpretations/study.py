"""The study of interpretations: what was run of each of them, and what that says of the paper."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.interpretations.amount import Amount
from lab.interpretations.cell import computed, to_run
from lab.interpretations.interpretations import Interpretation
from lab.interpretations.step_sizes import START
from paofed.algorithms.setup import resolve
from paofed.core.metrics import decibels
from paofed.experiments.paper.claims import CLAIMS, II, Claim, I
from paofed.experiments.paper.stages import OpenStage, stretched
from paofed.simulate.results.estimates import Estimate
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import HERE, Crew
from paofed.table import ShownTable, in_files
from paofed.words import counted
from paofed.world.scenario import Scenario

# What is compared under each statement, in a few words: all comparisons that are disputed in the
# reproduction, and two that hold there and that an interpretation is about.
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
    """One statement under one interpretation, with its verdict."""

    claim: Claim
    interpretation: Interpretation
    found: Estimate


class Comparisons(NamedTuple):
    """A statement, its comparisons in a few words, and the verdicts on them by interpretation."""

    statement: str
    labels: list[str]
    rows: dict[Interpretation, list[Estimate]]


@dataclass(frozen=True)
class InterpretationStudy:
    """Results by interpretation, the default one first, and by setting.

    Each holds what an interpretation changes.
    """

    results: Mapping[Interpretation, Mapping[str, Result]]

    def judged(self) -> Iterator[Ruling]:
        """Judge every comparison under every interpretation."""
        for claim in STATEMENTS:
            for interpretation in self.results:
                yield Ruling(
                    claim, interpretation, claim.judge(self._concerning(claim, interpretation))
                )

    def _concerning(self, claim: Claim, interpretation: Interpretation) -> Mapping[str, Result]:
        """Return the results that a claim is judged by; the default's where nothing is changed."""
        default, own = next(iter(self.results.values())), self.results[interpretation]
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
            rows: dict[Interpretation, list[Estimate]] = {
                interpretation: [] for interpretation in self.results
            }
            for judged in found:
                rows[judged.interpretation].append(judged.found)
            yield Comparisons(statement, labels, rows)

    def steps(self) -> Iterator[tuple[str, str, str, float, float]]:
        """Yield chosen steps: interpretation, setting, method, step, error in dB over the start."""
        default = next(iter(self.results.values()))
        for interpretation in (one for one in self.results if one.steps is not None):
            for setting, result in self.results[interpretation].items():
                start = (int(default[setting].ticks[-1]) + 1) // START
                for described in result.provenance["algorithms"]:
                    name, step = described["name"], described["step_size"]
                    yield interpretation.key, setting, name, step, start_db(result, name, start)

    def tables(self) -> Iterator[tuple[str, ShownTable]]:
        """Yield every number, by the names of files."""
        found = [
            [j.claim.key, j.interpretation.key, j.found, j.found.verdict] for j in self.judged()
        ]
        keys = ("statement", "reading", ("mean", "low", "high", "runs"), "verdict")
        yield "readings", in_files(keys, found)
        steps = ("reading", "setting", "algorithm", "step_size", "start_db")
        yield "steps", in_files(steps, self.steps())


def joined(default: Result, changed: Result | None, runs: int) -> Result:
    """Join `runs` runs of the methods that are changed with the default's other methods."""
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
    interpretations: Sequence[Interpretation],
    effort: Amount,
    seed: int,
    open_stage: OpenStage,
    crew: Crew = HERE,
) -> InterpretationStudy:
    """Run every interpretation in every setting; one that changes nothing there is left out."""
    cells = [(interpretation, setting) for interpretation in interpretations for setting in LINEUPS]
    results: dict[Interpretation, dict[str, Result]] = {
        interpretation: {} for interpretation in interpretations
    }
    for number, (interpretation, setting) in enumerate(cells, start=1):
        whole = Scenario.load(setting)
        scenario = stretched(whole, whole.ticks // effort.shorter)
        methods = to_run(interpretation, scenario, [resolve(name) for name in LINEUPS[setting]])
        if not methods:
            continue
        runs = counted(effort.runs_of(interpretation), "run")
        what = f"cell {number} of {len(cells)}: {interpretation.key}, {setting}, {runs}"
        with open_stage(what) as report:
            found = computed(interpretation, scenario, methods, effort, seed, report, crew)
        results[interpretation][setting] = found
    return InterpretationStudy(results)
