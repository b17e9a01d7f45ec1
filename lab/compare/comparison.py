"""The work of a comparison: each entrant searches and is run, in one setting after another."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lab.compare.judgement import judge
from lab.compare.search import MEASURE, purses_of, search
from lab.compare.settings import COSTLY, Extent, setting_of
from lab.pieces import record
from paofed.algorithms.spec import from_text
from paofed.parts import key_of_part
from paofed.racing.arena import arena_of
from paofed.racing.entrants import Entrant
from paofed.racing.meeting import share_of, simulated, spent
from paofed.report.comparison.judged import Judged, Purse
from paofed.simulate.spread.content import digest
from paofed.simulate.spread.crew import Crew
from paofed.simulate.spread.identity import program
from paofed.simulate.spread.units import described, files_of
from paofed.simulate.stopping import Report

# Opens a stage under its name; yields a function that is told the share of the stage that is done.
OpenStage = Callable[[str], AbstractContextManager[Report]]


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


def run_comparison(plan: Plan, folder: Path, open_stage: OpenStage, crew: Crew) -> list[Judged]:
    """Search and judge, setting by setting and entrant by entrant.

    Finished pieces are not redone.
    """
    found = {}
    for setting in plan.settings:
        measure, key = partial(_measured, plan, setting, crew), _key(plan, setting, [MEASURE])
        measured = _piece(folder, setting, "purses", key, measure)["rounds"]
        purses = [[Purse(**line) for line in lines] for lines in measured]
        pieces = {}
        for name, entrant in plan.entrants.items():
            key = _key(plan, setting, entrant.candidates(setting_of(setting).features), purses)
            make = partial(_unit, plan, setting, name, purses, open_stage, crew)
            pieces[name] = _piece(folder, setting, name, key, make)
        found[Path(setting).stem] = pieces
    return judge(found)


def _piece(
    folder: Path, setting: str, name: str, key: str, make: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Return a finished piece of the work in a folder, or make it."""
    return record(folder / f"{Path(setting).stem}-{name}.json", key, make)


def _key(
    plan: Plan, setting: str, words: Sequence[str], purses: Sequence[Sequence[Purse]] = ()
) -> str:
    """Return a key for all that a piece depends on; files and methods count by their content."""
    scenario = setting_of(setting)
    return key_of_part(
        {
            "setting": described(scenario, files_of(scenario)),
            "words": words,
            "methods": digest([from_text(word) for word in words]),
            "tariffs": plan.tariffs,
            "purses": purses,
            "extent": plan.extent_in(setting),
            "seed": plan.seed,
            "program": program(),
        }
    )


def _measured(plan: Plan, setting: str, crew: Crew) -> dict[str, Any]:
    """Return the budgets of a setting."""
    scenario = arena_of(setting_of(setting)).scenario
    rounds = purses_of(scenario, plan.tariffs, plan.extent_in(setting), plan.seed, crew)
    return {"rounds": [[purse._asdict() for purse in purses] for purses in rounds]}


def _unit(
    plan: Plan,
    setting: str,
    name: str,
    purses: Sequence[Sequence[Purse]],
    open_stage: OpenStage,
    crew: Crew,
) -> dict[str, Any]:
    """Let one entrant choose, run what it chose, and return all that a comparison needs of it."""
    scenario = setting_of(setting)
    candidates = plan.entrants[name].candidates(scenario.features)
    arena, extent, seed = arena_of(scenario), plan.extent_in(setting), plan.seed
    with open_stage(f"{setting}, {name}") as report:
        # The share of the work that is the search.
        part = len(candidates) / (len(candidates) + extent.runs)
        chosen = search(arena, candidates, purses, extent, seed, crew,
                        partial(share_of, report, 0.0, part))  # fmt: skip
        words = sorted({pick.word for pick in chosen.values()})
        rest = partial(share_of, report, part, 1 - part)
        results = [
            simulated(scenario, words, runs=extent.runs, seed=seed, crew=crew, report=rest)
        ] if words else []  # fmt: skip
    return {
        "chosen": [{**purse._asdict(), **pick._asdict()} for purse, pick in chosen.items()],
        "values": {word: arena.values(results, word).tolist() for word in words},
        "spent": {
            word: {tariff: spent(results, word, tariff) for tariff in plan.tariffs}
            for word in words
        },
    }
