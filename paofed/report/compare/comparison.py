"""What the chosen settings do: errors, bytes, differences in pairs, and who is on the front."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.files import write_table
from paofed.racing.arena import arena_of
from paofed.report.compare.lineup import PAO_FED, Entrant
from paofed.report.compare.search import (
    Extent,
    Purse,
    purses_of,
    search,
    share_of,
    simulated,
    spent,
)
from paofed.report.compare.settings import setting_of
from paofed.report.shared.units import record
from paofed.simulate.results.estimates import Estimate, estimate
from paofed.simulate.stopping import Report

# Opens a stage under its name, and yields what is told the share of it that is done.
OpenStage = Callable[[str], AbstractContextManager[Report]]


class Judged(NamedTuple):
    """One entrant with the settings it chose for one purse, in the worlds of judgement."""

    setting: str
    purse: Purse
    entrant: str
    word: str
    bytes: float  # on the wire, under the tariff of the purse
    values: FloatArray  # errors in dB by unit: worlds, or devices of a table
    behind: Estimate | None  # dB by which it is worse than PAO-Fed with this purse; None: no such
    on_front: bool  # nothing that costs no more is clearly better, under this tariff

    @property
    def error(self) -> Estimate:
        """The mean error in dB."""
        return estimate(self.values)

    @property
    def diverged(self) -> bool:
        """Whether it has no finite error somewhere."""
        return not np.isfinite(self.values).all()

    @property
    def verdict(self) -> str:
        """What the difference to PAO-Fed says."""
        if self.diverged:
            return "diverged"
        if self.entrant in PAO_FED:
            return "PAO-Fed"
        if self.behind is None:
            return "PAO-Fed does not fit"
        words = {"holds": "worse", "does not hold": "better"}
        return words.get(self.behind.verdict, self.behind.verdict)


@dataclass(frozen=True)
class Plan:
    """What is compared where, and how much is run."""

    settings: Sequence[str]
    entrants: Mapping[str, Entrant]
    tariffs: Sequence[str]
    extent: Extent
    seed: int


def run_comparison(
    plan: Plan, folder: Path, open_stage: OpenStage, workers: int | None
) -> list[Judged]:
    """Search and judge, setting by setting and entrant by entrant; finished ones are not redone."""
    found: list[Judged] = []
    for setting in plan.settings:
        measure = partial(_measured, plan, setting, workers)
        purses = [Purse(**line) for line in _piece(folder, setting, "purses", measure)["purses"]]
        records = {}
        for name in plan.entrants:
            make = partial(_unit, plan, setting, name, purses, open_stage, workers)
            records[name] = _piece(folder, setting, name, make)
        found += _judged(Path(setting).stem, records)
    return found


def _piece(
    folder: Path, setting: str, name: str, make: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Return a finished piece of the work in a folder, or make it."""
    return record(folder / f"{Path(setting).stem}-{name}.json", make)


def _measured(plan: Plan, setting: str, workers: int | None) -> dict[str, Any]:
    """What there is to spend in a setting."""
    scenario = arena_of(setting_of(setting)).scenario
    purses = purses_of(scenario, plan.tariffs, plan.extent, plan.seed, workers)
    return {"purses": [purse._asdict() for purse in purses]}


def _unit(
    plan: Plan,
    setting: str,
    name: str,
    purses: Sequence[Purse],
    open_stage: OpenStage,
    workers: int | None,
) -> dict[str, Any]:
    """Let one entrant choose, and run what it chose: all that a comparison needs to know of it."""
    scenario = setting_of(setting)
    candidates = plan.entrants[name].candidates(scenario.features)
    arena, extent, seed = arena_of(scenario), plan.extent, plan.seed
    with open_stage(f"{setting}, {name}") as report:
        part = len(candidates) / (len(candidates) + extent.runs)  # of the work: the search
        chosen = search(arena, candidates, purses, extent, seed, workers,
                        partial(share_of, report, 0.0, part))  # fmt: skip
        words = sorted(set(chosen.values()))
        rest = partial(share_of, report, part, 1 - part)
        results = [
            simulated(scenario, words, runs=extent.runs, seed=seed, workers=workers, report=rest)
        ] if words else []  # fmt: skip
    return {
        "chosen": [{**purse._asdict(), "word": word} for purse, word in chosen.items()],
        "values": {word: arena.values(results, word).tolist() for word in words},
        "spent": {
            word: {tariff: spent(results, word, tariff) for tariff in plan.tariffs}
            for word in words
        },
    }


def _judged(setting: str, records: Mapping[str, Mapping[str, Any]]) -> Iterator[Judged]:
    """Hold the entrants of one setting against PAO-Fed and against each other."""
    found = [
        Judged(
            setting, Purse(line["tariff"], line["budget"], line["bytes"]), name, line["word"],
            record["spent"][line["word"]][line["tariff"]],
            np.array(record["values"][line["word"]]), None, on_front=False,
        )
        for name, record in records.items()
        for line in record["chosen"]
    ]  # fmt: skip
    for one in found:
        own = [other for other in found if other.purse == one.purse and other.entrant in PAO_FED]
        best = min(own, key=lambda other: other.error.mean, default=None)
        behind = None if best is None else _behind(one, best)
        rivals = [other for other in found if other.purse.tariff == one.purse.tariff]
        beaten = one.diverged or any(_beats(other, one) for other in rivals)
        yield one._replace(behind=behind, on_front=not beaten)


def _behind(one: Judged, other: Judged) -> Estimate:
    """By how many dB one is worse than another, pair by pair."""
    with np.errstate(invalid="ignore"):  # both may have diverged
        return estimate(one.values - other.values)


def _beats(one: Judged, other: Judged) -> bool:
    """Whether one costs no more than another and is clearly better, pair by pair."""
    if one.bytes > other.bytes or one.word == other.word:
        return False
    return bool(_behind(other, one).low > 0)


HEADER = (
    "setting", "tariff", "budget", "budget_bytes", "entrant", "word", "bytes", "db", "low", "high",
    "units", "behind", "behind_low", "behind_high", "verdict", "on_front",
)  # fmt: skip


def save(found: Sequence[Judged], path: Path) -> None:
    """Write every number as CSV."""
    write_table(path, list(HEADER), [_row(one) for one in found])


def _row(one: Judged) -> list[object]:
    behind = ("", "", "") if one.behind is None else one.behind[:3]
    return [
        one.setting, *one.purse, one.entrant, one.word, one.bytes, *one.error, *behind,
        one.verdict, "yes" if one.on_front else "no",
    ]  # fmt: skip
