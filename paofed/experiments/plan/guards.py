"""A second race, on worlds of its own: the winners with and without the bounds of a new fleet.

The list of candidates of this race depends on the first race. Where its worlds do not, each race
has its own chance to be wrong, which only its own candidates share. Over a table both races meet
the same devices, or blocks of time; then all candidates that might have won the first race share
the chance, for the list is then no more than a look at some of them. What is said of the last
winner adds up what both races can be wrong by.
"""

from collections.abc import Sequence
from typing import NamedTuple

from paofed.algorithms.setup import Setup
from paofed.experiments.plan.field import Candidate
from paofed.experiments.plan.meetings import Meetings
from paofed.experiments.rejection import ERROR, behind, student_of_race
from paofed.experiments.trials import Won
from paofed.live.protocol.manifest import USUAL_BOUND, USUAL_CLIP
from paofed.simulate.results.estimates import Estimate
from paofed.simulate.stopping import Report


class Decided(NamedTuple):
    """The winner of a purse after both races."""

    won: Won[Candidate]
    candidate: Candidate
    at_most: float  # dB by which anything tried within the purse can be better
    cost: Estimate | None = None  # dB that the bounds cost; None: bounds were not tried
    guarded: bool = False  # whether the candidate has the bounds


def unguarded(won: Sequence[Won[Candidate]]) -> list[Decided]:
    """Return the winners as they are, where there is no second race."""
    return [Decided(one, one.winner, one.at_most) for one in won]


def guard(
    won: Sequence[Won[Candidate]],
    candidates: Sequence[Candidate],
    meetings: Meetings,
    *,
    runs: int,
    number: int,
    tolerance: float,
    independent: bool,
    report: Report,
) -> list[Decided]:
    """Give the winners bounds where these cost no more than the tolerance.

    `independent` says whether what is met here (worlds, devices, time) had no part in who won.
    """
    bounded = {
        one.winner: one.winner._replace(setup=guarded(one.winner.setup))
        for one in won
        if can_be_guarded(one.winner.setup)
    }
    if not bounded:
        return unguarded(won)
    both = [one for pair in bounded.items() for one in pair]
    standings = meetings.meet(meetings.arms(both), runs, number, report)
    among = bounded if independent else candidates
    student = student_of_race(len(among) + 1, 1, ERROR / 2)
    found = []
    for one in unguarded(won):
        if (other := bounded.get(one.won.winner)) is not None:
            cost = behind(standings[other], standings[one.candidate], student)
            if not standings[other].diverged and cost.mean <= tolerance:
                most = max(one.at_most + max(cost.high, 0.0), cost.high)
                one = Decided(one.won, other, most, cost, guarded=True)
            else:
                one = one._replace(at_most=max(one.at_most, -cost.low), cost=cost)
        found.append(one)
    return found


def guarded(setup: Setup) -> Setup:
    """Return the same method with the bounds of a new fleet.

    >>> print(guarded(Setup.of("fed-async:shared=4")))
    fed-async:shared=4,bound=6.0
    """
    possible = setup.algorithm().can_bound
    clip = {"clip": USUAL_CLIP, "aside": True} if "clip" in possible else {}
    bound = {"bound": USUAL_BOUND} if "bound" in possible else {}
    return setup.with_(**clip, **bound)


def can_be_guarded(setup: Setup) -> bool:
    """Whether a setup is one of a live fleet that can have such bounds, and has none."""
    method = setup.algorithm()
    has = setup.values.keys() & {"clip", "bound"}
    return method.unserved is None and bool(method.can_bound) and not has
