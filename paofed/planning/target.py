"""An error that is asked for: who may still be the cheapest below it, and who is to be judged.

"Surely" here means with 95 % for one candidate alone, which is enough to decide who goes on. What a
plan says in the end is compared with the error once more, on worlds that took no part.
"""

import math

from paofed.racing.rejection import Standing, Standings
from paofed.simulate.results.estimates import estimate

JUDGED = 4  # how many of the cheapest that were surely below the target in the race are judged


def below(one: Standing, target: float) -> bool:
    """Whether a candidate's error is surely no more than the target."""
    return not one.diverged and estimate(one.values).high <= target


def above(one: Standing, target: float) -> bool:
    """Whether a candidate's error is surely more than the target."""
    return one.diverged or estimate(one.values).low > target


def may_be_cheapest(standings: Standings, target: float) -> set[str]:
    """Return who may be below the target, and costs no more than the cheapest that surely is."""
    dearest = min((one.cost for one in standings.values() if below(one, target)),
                  default=(math.inf, 0))  # fmt: skip
    return {
        name
        for name, one in standings.items()
        if one.cost <= dearest and not above(one, target)
    }  # fmt: skip


def cheapest_below(standings: Standings, target: float) -> list[str]:
    """Return the cheapest few that are surely below the target, the cheapest first.

    Of equally cheap candidates the best is taken, so that all of the few differ in what they spend.
    """
    found = [name for name, one in standings.items() if below(one, target)]
    found.sort(key=lambda name: (standings[name].cost, standings[name].score))
    best = {standings[name].cost: name for name in reversed(found)}
    return sorted(best.values(), key=lambda name: standings[name].cost)[:JUDGED]


def out_of_reach(standings: Standings, target: float) -> bool:
    """Whether the best of the candidates surely misses the target; true without candidates."""
    sound = [one for one in standings.values() if not one.diverged]
    return not sound or above(min(sound, key=lambda one: one.score), target)
