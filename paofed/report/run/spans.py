"""The life of a device in one span or two: as long as taking part pays, and the rest."""

from collections.abc import Mapping, Sequence
from typing import Literal

from paofed.report.run.alone import BesideAlone
from paofed.report.run.lives import Stage, stages, stops_paying
from paofed.simulate.results import estimates
from paofed.simulate.results.lives import Lives

Verdict = Literal["pays", "pays at first", "changes nothing", "worse", "unknown"]
_OF_WHOLE: Mapping[estimates.Verdict, Verdict] = {
    "holds": "pays",
    "tie": "changes nothing",
    "does not hold": "worse",
    "inconclusive": "unknown",
}


def verdict(spans: Sequence[Stage]) -> Verdict:
    """Say whether taking part pays, for the whole life of a device or at first."""
    return "pays at first" if len(spans) > 1 else _OF_WHOLE[spans[0].gain.verdict]


def spans_of(lives: Lives, name: str) -> tuple[Stage, ...]:
    """Return the life up to where taking part stops paying, and the rest; or all as one span.

    A device that takes part does so from its first reading on. So it is not enough that some stage
    pays: the errors of all readings up to the end of that stage are pooled, and taking part must
    pay over these readings as a whole.
    """
    found, beside = list(stages(lives, name)), BesideAlone(lives, name)

    def span(first: int, stop: int) -> Stage:
        """Return the span from one reading up to another; both must begin a stage."""
        begin, end = (reading.bit_length() - 1 for reading in (first, stop))
        here = (lives.stage >= begin) & (lives.stage < end)
        return Stage(first, stop - 1, beside.over_alone(here))

    begin, end = found[0].first, found[-1].last + 1
    stop = stops_paying(found)
    if stop is not None and stop > begin:
        early, late = span(begin, stop), span(stop, end)
        if early.pays and not late.pays:
            return early, late
    return (span(begin, end),)
