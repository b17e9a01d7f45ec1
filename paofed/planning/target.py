"""An error that is asked for: who may still be the cheapest below it, and who is to be judged.

What is sure here is so with 95 % for one candidate alone: enough to say who goes on. What a plan
says in the end is held against the error once more, on worlds that took no part.
"""

import math

from paofed.racing.rejection import Standing, Standings
from paofed.simulate.results.estimates import estimate

JUDGED = 4  # of those that were surely below in the race, so many of the cheapest


def below(one: Standing, target: float) -> bool:
    """Whether its error is surely no more than the target."""
    return not one.diverged and estimate(one.values).high <= target


def above(one: Standing, target: float) -> bool:
    """Whether its error is surely more than the target."""
    return one.diverged or estimate(one.values).low > target


def may_be_cheapest(standings: Standings, target: float) -> set[str]:
    """Those who may be below, and are no dearer than the cheapest that surely is."""
    dearest = min((one.cost for one in standings.values() if below(one, target)),
                  default=(math.inf, 0))  # fmt: skip
    return {
        name
        for name, one in standings.items()
        if one.cost <= dearest and not above(one, target)
    }  # fmt: skip


def cheapest_below(standings: Standings, target: float) -> list[str]:
    """The cheapest few that are surely below, the cheapest first; of equally cheap ones, the best.

    They differ in what they spend, so that one is not judged in the place of a dearer one.
    """
    found = [name for name, one in standings.items() if below(one, target)]
    found.sort(key=lambda name: (standings[name].cost, standings[name].score))
    best = {standings[name].cost: name for name in reversed(found)}
    return sorted(best.values(), key=lambda name: standings[name].cost)[:JUDGED]


def out_of_reach(standings: Standings, target: float) -> bool:
    """Whether the best of them surely misses the target; of nobody, that is so."""
    sound = [one for one in standings.values() if not one.diverged]
    return not sound or above(min(sound, key=lambda one: one.score), target)
