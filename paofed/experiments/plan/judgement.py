"""The chosen settings are judged on worlds that took no part in the choice."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, get_args

from paofed.algorithms.base import Exchange
from paofed.experiments.plan.field import Candidate
from paofed.experiments.plan.guards import Decided
from paofed.experiments.plan.meetings import Meetings
from paofed.experiments.plan.record import Offer
from paofed.experiments.rejection import Standing, student_of_race
from paofed.simulate.results.estimates import Estimate, estimate
from paofed.simulate.stopping import Report, parts_of

_PARTS = 0.8, 0.2  # about how long the winners take, and the other exchanges


class Judgement(NamedTuple):
    """The offers, and the one to take."""

    offers: tuple[Offer, ...]  # the cheapest first
    chosen: Offer
    reached: bool  # whether the chosen offer's error is surely below what was asked for
    usual_spends: float = math.nan
    gain: Estimate | None = None  # dB that the chosen offer gains over what is usual
    # By exchange: dB that another order of a contact gains.
    exchanges: Mapping[str, Estimate] = MappingProxyType({})


def judge(
    decided: Sequence[Decided],
    usual: Candidate,
    target: float | None,
    found: Meetings,
    *,
    runs: int,
    report: Report,
) -> Judgement:
    """Run the winners and what is usual in fresh worlds, then the chosen in other exchanges."""
    lines, parts = largest(decided), parts_of(report, _PARTS)
    everybody = [*(one.candidate for one in lines), usual]
    standings = found.judge(found.arms(everybody), runs, parts[0])
    lines.sort(key=lambda one: standings[one.candidate].payload)
    offers, student = list[Offer](), student_of_race(len(lines) + 1, 1)
    for one in lines:
        standing = standings[one.candidate]
        offers.append(
            offer_of(
                one,
                standing,
                contacts=found.contacts(one.candidate),
                reaches=estimate(standing.values, student=student).high,
                gain=found.gain(one.candidate, offers[-1].candidate) if offers else None,
            )
        )
    chosen, reached = choice(offers, target)
    others = in_other_exchanges(chosen.candidate)
    found.judge(found.arms(others.values()), runs, parts[1])
    return Judgement(
        offers=tuple(offers),
        chosen=chosen,
        reached=reached,
        usual_spends=standings[usual].payload,
        gain=found.gain(chosen.candidate, usual),
        exchanges={name: found.gain(one, chosen.candidate) for name, one in others.items()},
    )


def largest(decided: Sequence[Decided]) -> list[Decided]:
    """Return each winning candidate once, with its largest purse.

    `decided` must be in the order of rising purses.
    """
    return list({one.candidate: one for one in decided}.values())


def offer_of(
    one: Decided, standing: Standing, *, contacts: float, reaches: float, gain: Estimate | None
) -> Offer:
    """Return what is known of the winner of a purse."""
    return Offer(
        candidate=one.candidate,
        most=one.won.most,
        spends=standing.payload,
        contacts=contacts,
        error=estimate(standing.values),
        reaches=reaches,
        gain=gain,
        at_most=one.at_most,
        alike=tuple(map(str, one.won.alike)),
        guards=one.cost,
        guarded=one.guarded,
    )


def choice(offers: Sequence[Offer], target: float | None) -> tuple[Offer, bool]:
    """Return the best within the whole budget, or the cheapest that is surely below an error.

    Where no offer is surely below the error, the best of all is returned. The second value says
    whether one is.
    """
    if target is None:
        return max(offers, key=lambda one: one.most), True
    reaching = [one for one in offers if one.reaches <= target]
    if reaching:
        return min(reaching, key=lambda one: (one.spends, one.at_most)), True
    return min(offers, key=lambda one: one.error.mean), False


def in_other_exchanges(one: Candidate) -> dict[str, Candidate]:
    """Return the same settings with another order of a contact, by its name."""
    return {
        other: one._replace(setup=one.setup.with_(exchange=other))
        for other in get_args(Exchange)
        if other != one.setup.values["exchange"]
    }
