"""What to do after a run over a table: take part or not, when in a life, how, at which cost.

This module has numbers alone; `advice_words` says them in sentences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from paofed.core.arrays import FloatArray
from paofed.core.tariffs import PAYLOAD, Tariff, tariff_of
from paofed.report.run.cost import CostOfTakingPart, cost
from paofed.report.run.lives import Stage
from paofed.report.run.settings import AdvisedSettings, settings
from paofed.report.run.spans import Verdict, spans_of, verdict
from paofed.report.shared.captions import rank
from paofed.report.shared.own_unit import InOwnUnit, in_own_unit
from paofed.simulate.results.estimates import Estimate, pooled_gain
from paofed.simulate.results.result import Result
from paofed.simulate.table.baselines import AT_ONE_PLACE


class Gain(NamedTuple):
    """By how many dB one learner is better than another on all samples that count."""

    name: str
    over: str
    gain: Estimate  # paired over devices


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What the numbers of a run over a table say to somebody who has such devices."""

    # The best method on devices; of those that tie with the best, the one that sends least.
    method: str
    others: tuple[Gain, ...]  # gains of `method` over every other method, the best of these first
    spans: tuple[Stage, ...]  # spans of a device's life: see spans_of
    advised: str  # the method, or the best way of being alone if the method gains nothing
    # Gains over `advised` of learners that need every reading in one place, the best first.
    at_one_place: tuple[Gain, ...]
    in_unit: InOwnUnit  # what the target's own unit says of `advised`
    settings: AdvisedSettings  # settings of `method`
    cost: CostOfTakingPart  # cost of `method`
    tariff: Tariff  # the tariff of `cost`

    @property
    def verdict(self) -> Verdict:
        """Whether taking part pays, and when in the life of a device."""
        return verdict(self.spans)

    def __str__(self) -> str:
        """What to do, in sentences."""
        from paofed.report.run.advice_words import sentences  # which needs this module

        return "\n".join(sentences(self))

    @property
    def takes_part(self) -> bool:
        """Whether taking part is advised, or may be worth it, rather than being alone."""
        return self.advised == self.method


def advise(result: Result, tariff: Tariff | str = PAYLOAD) -> Advice | None:
    """Return the advice of a run over a table.

    Other runs, and files of earlier versions, have none: the result is None.
    """
    judged, lives, tariff = result.progressive, result.lives, tariff_of(tariff)
    if judged is None or lives is None:
        return None
    errors = {name: lives.by_device(name, "device") for name in result.algorithms}
    sent = {name: float(result.run_wire(name, tariff).both[:, -1].mean()) for name in errors}
    method = _best(errors, sent)
    spans = spans_of(lives, method)
    beside = {name: lives.by_device(name, "baseline") for name in judged.baselines}
    # Where nothing is gained and nothing lost, being alone is cheaper.
    alone = verdict(spans) in ("changes nothing", "worse")
    advised = spans[0].over.rival if alone else method
    return Advice(
        method=method,
        others=tuple(
            Gain(method, name, _gain(errors, method, name))
            for name in _ranked(errors)
            if name != method
        ),
        spans=spans,
        advised=advised,
        at_one_place=tuple(
            Gain(name, advised, pooled_gain((beside if alone else errors)[advised], beside[name]))
            for name in _ranked(beside)
            if name in AT_ONE_PLACE
        ),
        in_unit=in_own_unit(result, lives, advised),
        settings=settings(result, method),
        cost=cost(result, judged, method, tariff),
        tariff=tariff,
    )


def _ranked(errors: Mapping[str, FloatArray]) -> Sequence[str]:
    """Return the names, those with the least error first."""
    return sorted(errors, key=lambda name: rank(float(errors[name].sum())))


def _gain(errors: Mapping[str, FloatArray], name: str, over: str) -> Estimate:
    return pooled_gain(errors[over], errors[name])


def _best(errors: Mapping[str, FloatArray], sent: Mapping[str, float]) -> str:
    """Return the method with the least error.

    Of several that tie with the best, the one that sends least is returned.
    """
    order = _ranked(errors)
    ties = [name for name in order if _gain(errors, order[0], name).verdict == "tie"]
    return min([order[0], *ties], key=lambda name: rank(sent[name]))
