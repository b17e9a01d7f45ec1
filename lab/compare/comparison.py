"""The work of a comparison: each entrant searches and is run, in one setting after another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lab.compare.judgement import Entry, judge
from lab.compare.search import purses_of, search
from lab.compare.settings import COSTLY, Extent, setting_of
from paofed.experiments.arena import Arena, arena_of
from paofed.experiments.candidates import Entrant
from paofed.experiments.experiment import Arm, Experiment, Findings
from paofed.experiments.paper.stages import OpenStage
from paofed.report.comparison.page import Judged, Purse
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Report, parts_of
from paofed.world.scenario import Scenario


@dataclass(frozen=True)
class Plan:
    """What is compared where, and how much is run."""

    settings: Sequence[str]
    entrants: Mapping[str, Entrant]
    tariffs: Sequence[str]
    extent: Extent
    seed: int

    def extent_in(self, setting: str) -> Extent:
        """Return how much every entrant runs in a setting."""
        return self.extent.halved if setting in COSTLY else self.extent


class _Place(NamedTuple):
    """A setting where entrants meet, how much is run there, and the budgets of each round."""

    scenario: Scenario
    arena: Arena
    extent: Extent
    purses: Sequence[Sequence[Purse]]


def run_comparison(plan: Plan, open_stage: OpenStage, crew: Crew) -> list[Judged]:
    """Search and judge, setting by setting and entrant by entrant."""
    experiment = Experiment(plan.seed, crew)
    found: dict[str, dict[str, Entry]] = {}
    for setting in plan.settings:
        scenario, extent = setting_of(setting), plan.extent_in(setting)
        arena = arena_of(scenario)
        purses = purses_of(arena.scenario, plan.tariffs, extent, experiment)
        place, entries = _Place(scenario, arena, extent, purses), dict[str, Entry]()
        for name, entrant in plan.entrants.items():
            with open_stage(f"{setting}, {name}") as report:
                entries[name] = _entry(entrant, place, plan.tariffs, experiment, report)
        found[Path(setting).stem] = entries
    return judge(found)


def _entry(
    entrant: Entrant,
    place: _Place,
    tariffs: Sequence[str],
    experiment: Experiment,
    report: Report,
) -> Entry:
    """Let one entrant choose, run what it chose, and return all that a comparison needs of it."""
    scenario, arena, extent, purses = place
    methods = {str(one): one.algorithm() for one in entrant.candidates(scenario.features)}
    searching, judging = parts_of(report, (len(methods), extent.runs))
    chosen = search(arena, methods, purses, extent, experiment, searching)
    words = sorted({pick.word for pick in chosen.values()})
    found, arms = Findings(experiment, arena), {w: Arm(scenario, methods[w]) for w in words}
    found.meet(arms, extent.runs, None, judging)
    return Entry(
        chosen,
        values={word: found.values(word) for word in words},
        spent={word: {tariff: found.spent(word, tariff) for tariff in tariffs} for word in words},
    )
