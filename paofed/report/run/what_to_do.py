"""What to do after a run without a table: who has the least error for its bytes."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from paofed.core.metrics import decibels
from paofed.core.tariffs import Tariff
from paofed.report.shared.captions import rank
from paofed.report.shared.markup import interval, number
from paofed.simulate.results.estimates import Estimate, estimate
from paofed.simulate.results.result import Result
from paofed.words import counted, size, times_less

_NEAR = 1.0  # dB: who is no further behind the best is near enough to be named beside it


class OnFront(NamedTuple):
    """An algorithm that nothing beats for fewer bytes: its error, and what it sends in a run."""

    name: str
    db: float
    bytes: float
    behind: Estimate  # dB by which it is worse than the best, paired over runs


def front(result: Result, tariff: Tariff) -> list[OnFront]:
    """Return the algorithms with the least error for their bytes, the least error first."""
    order = sorted(result.algorithms, key=lambda name: rank(result.final(name).db))
    found, least = list[OnFront](), np.inf
    for name in order:
        sent = float(result.run_wire(name, tariff).both[:, -1].mean())
        if sent < least:
            with np.errstate(invalid="ignore"):  # both may have diverged
                worse = decibels(result.run_finals(name)) - decibels(result.run_finals(order[0]))
            found.append(OnFront(name, result.final(name).db, sent, estimate(worse)))
            least = sent
    return found


def lead_words(found: Sequence[OnFront], count: int) -> Iterator[str]:
    """Say who of `count` algorithms has the least error and, if any is near it, who sends less."""
    if found:
        yield _best(found[0], count)
    near = [one for one in found[1:] if one.behind.mean <= _NEAR]
    if near:
        yield _cheaper(near[-1], found[0])


def choices(found: Sequence[OnFront], count: int) -> Iterator[str]:
    """Yield what to choose from, where there is a choice."""
    if len(found) > 1:
        best, *others = found
        yield _best(best, count)
        yield from (_cheaper(one, best) for one in others)


def _best(one: OnFront, count: int) -> str:
    among = f" has the least error of {counted(count, 'algorithm')}," if count > 1 else " reaches"
    return f"{one.name}{among} {number(one.db)} dB, and sends {size(one.bytes)} in a run."


def _cheaper(one: OnFront, best: OnFront) -> str:
    return (
        f"{one.name} sends {times_less(best.bytes / one.bytes)} ({size(one.bytes)}) and reaches "
        f"{number(one.db)} dB, {interval(one.behind)} dB worse."
    )
