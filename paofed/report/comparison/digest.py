"""A comparison in few lines: for every budget, what PAO-Fed reaches and what reaches most."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from paofed.report.comparison.judged import PAO_FED, Judged, found_in_order
from paofed.words import counted, listed


class BudgetLine(NamedTuple):
    """One budget in one setting."""

    ours: Judged | None  # the version of PAO-Fed that others are held against, if one fits
    best: Judged  # the best of all entrants, by the mean error
    ahead: tuple[str, ...]  # entrants that are clearly better than PAO-Fed, the best first


def digest(found: Sequence[Judged]) -> list[BudgetLine]:
    """Return all budgets that any sound entrant fits, in the order in which they were run."""
    lines = []
    for _, group in groupby(found_in_order(found), key=lambda one: (one.setting, one.purse[:2])):
        sound = [one for one in group if one.verdict != "diverged"]
        if sound:
            own = (one for one in sound if one.entrant in PAO_FED and one.word == one.against)
            ours = next(own, None)
            ahead = tuple(one.entrant for one in sound if one.verdict == "better")
            lines.append(BudgetLine(ours, sound[0], ahead))
    return lines


def summary(found: Sequence[Judged]) -> str:
    """Say in how many comparisons anything beats PAO-Fed at equal bytes, and what does."""
    held = [one for one in found if one.entrant not in PAO_FED and one.behind is not None]
    better = [one.entrant for one in held if one.verdict == "better"]
    if not better:
        return (
            f"Nothing beats PAO-Fed clearly ({worlds(found)}) in any of "
            f"{counted(len(held), 'comparison')} at equal bytes."
        )
    most = sorted(dict.fromkeys(better), key=lambda name: -better.count(name))
    named = listed([f"{name} in {better.count(name)}" for name in most])
    return (
        f"In {len(better)} of {counted(len(held), 'comparison')} at equal bytes something beats "
        f"PAO-Fed clearly ({worlds(found)}): {named}."
    )


def worlds(found: Sequence[Judged]) -> str:
    """Say in how many worlds entrants were judged; over a table, devices are in their place."""
    counts = sorted({one.error.runs for one in found})
    return (
        counted(counts[0], "world") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} worlds"
    )
