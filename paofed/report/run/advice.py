"""What to do after a run over a table: take part or not, when in a life, how, at which cost.

This module has numbers alone; `advice_words` says them in sentences.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from paofed.algorithms import OURS
from paofed.algorithms.outside import split
from paofed.algorithms.setup import Setup
from paofed.core.arrays import FloatArray
from paofed.core.parts import told_sizes
from paofed.core.tariffs import PAYLOAD, Tariff, tariff_of
from paofed.core.traffic import BYTES_PER_COORDINATE
from paofed.report.run.by_labels import AtShare, Worth, by_label_share, by_labels, law_in_words
from paofed.report.run.gains import BesideAlone, Stage, stages, stops_paying
from paofed.report.shared.looks import rank
from paofed.simulate.results import estimates
from paofed.simulate.results.estimates import TIE, Estimate, pooled_gain
from paofed.simulate.results.lives import Lives, OwnUnit
from paofed.simulate.results.progressive import Progressive, Whose
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.table.baselines import ALONE, AT_ONE_PLACE
from paofed.simulate.table.learners_alone import kind_of
from paofed.world.table.columns import column

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


_DAY = 86_400.0  # seconds


class CostOfTakingPart(NamedTuple):
    """Bytes under a tariff: the mean over runs, devices and the time of a table."""

    per: str  # day, or tick where times are plain numbers
    up: float  # bytes up of a device in that time
    down: float
    contact: float  # both directions, for one contact; NaN where there was none
    reading: float  # both directions, for one reading
    busy: float  # both directions, for a device that has a reading at every tick of that time
    download: float  # one whole model, to one device: all that the method's server tells
    has_download: bool  # whether these bytes include such a download to every device


def cost(result: Result, judged: Progressive, name: str, tariff: Tariff) -> CostOfTakingPart:
    """Return what an algorithm cost in this run."""
    scenario, table = result.provenance["scenario"], result.provenance["table"]
    wire = result.run_wire(name, tariff)
    up, down = (float(sent[:, -1].mean()) for sent in (wire.up, wire.down))
    ticks_per = _DAY / table["tick"] if table["calendar"] else 1.0
    contacts = float(result.run_traffic(name).contacts[:, -1].mean())
    shares = scenario["clients"] * scenario["ticks"] / ticks_per
    reading = (up + down) / int(judged.samples.sum())
    return CostOfTakingPart(
        per="day" if table["calendar"] else "tick",
        up=up / shares,
        down=down / shares,
        contact=(up + down) / contacts if contacts else math.nan,
        reading=reading,
        busy=reading * ticks_per,
        download=BYTES_PER_COORDINATE * _told(result, name) + tariff.down,
        has_download=scenario["newcomers"] == "whole",
    )


def _told(result: Result, name: str) -> int:
    """Return how many numbers the server of an algorithm tells a newcomer."""
    features: int = result.provenance["scenario"]["features"]
    server = _described(result, name)["server"]
    if server.get("tells") is None or split(name)[0] not in OURS:
        return features
    method = Setup.of(name).algorithm()
    return told_sizes(method.learner, method.server, features).down


def _described(result: Result, name: str) -> Mapping[str, Any]:
    """Return what a result says of an algorithm."""
    described: Mapping[str, Any] = result.provenance["algorithms"][result.algorithms.index(name)]
    return described


class AdvisedSettings(NamedTuple):
    """The settings that a fleet would be made with."""

    algorithm: str
    shared: int | None  # coordinates of a message; None: their number varies
    features: int
    step_size: float
    # Where the step size is from: a race, the default, the algorithm's name, or the scenario.
    step_from: str
    raced: tuple[str, ...]  # all options that a race chose
    learner: str
    start: str
    linear: bool
    newcomers: str
    personal: bool


def settings(result: Result, name: str) -> AdvisedSettings:
    """The settings of one algorithm of a run."""
    scenario = result.provenance["scenario"]
    described = _described(result, name)
    own = described["step_size"]
    race = _race(result, name)
    asked = tuple(race.get("options", ()))
    step_from = "scenario" if own is None else "name"
    if "step_size" in asked:
        step_from = "usual" if race.get("reason") else "race"
    return AdvisedSettings(
        algorithm=name,
        shared=_shared(described["uplink"], scenario["features"]),
        features=scenario["features"],
        step_size=scenario["step_size"] if own is None else own,
        step_from=step_from,
        raced=() if race.get("reason") else asked,
        learner=described["learns_by"] or "its own",
        start=scenario["start"],
        linear=scenario["linear"],
        newcomers=scenario["newcomers"],
        personal=_personal(scenario, described),
    )


def _personal(scenario: Mapping[str, Any], described: Mapping[str, Any]) -> bool:
    """Whether linear terms stay a device's own: that is so where the server tells its model."""
    tells_more = described["server"].get("tells") is not None
    return bool(scenario["linear"] and scenario["personal"] and not tells_more)


def _served(described: Mapping[str, Any]) -> bool:
    parts = [part for part in described.values() if isinstance(part, dict)]
    return not any(part.get("served") is False for part in parts)


def _shared(uplink: Mapping[str, Any], features: int) -> int | None:
    if uplink["kind"] != "Windows":
        return None
    width: int | None = uplink["width"]
    return features if width is None else width


def _race(result: Result, name: str) -> Mapping[str, Any]:
    """Return the race that chose an algorithm's options; empty where they were given."""
    races = result.provenance.get("chosen", ())
    return next((race for race in races if race.get("winner") == name), {})


class Gain(NamedTuple):
    """By how many dB one learner is better than another on all samples that count."""

    name: str
    over: str
    gain: Estimate  # paired over devices


class InOwnUnit(NamedTuple):
    """The learners on devices, judged in the target's own unit over all samples that count.

    Decibels are of the target as models see it. Where that is a logarithm, an error at small values
    counts as much as a far larger one at large values, and another learner may be the best in the
    unit of the target itself.
    """

    target: str  # the column
    judged: str  # what decibels are of: the column, or its logarithm
    errors: Mapping[str, OwnUnit]  # of models on devices and ways of being alone, the best first
    advised: str  # whom decibels advise
    gain: Estimate  # dB of squared errors by which the best is better than `advised`, over devices

    @property
    def best(self) -> str:
        """The learner with the least RMSE."""
        return next(iter(self.errors))

    @property
    def disagrees(self) -> bool:
        """Whether a learner that decibels do not advise is better by more than a tie."""
        return self.gain.mean > TIE


def in_own_unit(result: Result, lives: Lives, advised: str | None = None) -> InOwnUnit:
    """Judge a run over a table in the target's own unit.

    `advised` is whom decibels advise; None: the learner on devices with the least error in dB.
    """
    learners = _on_devices(lives)
    errors = {name: lives.own_unit(name, whose) for name, whose in learners.items()}
    order = sorted(errors, key=lambda name: rank(errors[name].rmse))
    if advised is None:
        squared = {name: lives.by_device(name, whose).sum() for name, whose in learners.items()}
        advised = min(squared, key=lambda name: rank(float(squared[name])))
    theirs, best = (lives.by_device(n, learners[n], own=True) for n in (advised, order[0]))
    target = column(result.provenance["scenario"]["stream"]["target"])
    return InOwnUnit(
        target=target.name,
        judged=f"log1p({target.name})" if target.transform == "log1p" else target.name,
        errors={name: errors[name] for name in order},
        advised=advised,
        gain=pooled_gain(theirs, best),
    )


def _on_devices(lives: Lives) -> dict[str, Whose]:
    """Return the models on devices and the ways of being alone."""
    return {
        name: whose
        for name, whose in lives.learners.tolist()
        if whose == "device" or (whose == "baseline" and kind_of(name) in ALONE)
    }


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
    law: str  # which samples had labels, in words; empty: every one had its label at once
    # What contacts are worth to devices with labels and to those without; nothing without a law.
    by_labels: tuple[Worth, ...]
    by_share: tuple[AtShare, ...]  # the same for every share of labels that was tried
    in_unit: InOwnUnit  # what the target's own unit says of `advised`
    settings: AdvisedSettings  # settings of `method`
    served: bool  # whether no part of `method` says that live fleets cannot use it
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


def advise(result: TableResult, tariff: Tariff | str = PAYLOAD) -> Advice:
    """Return the advice of a run over a table."""
    judged, lives, tariff = result.progressive, result.lives, tariff_of(tariff)
    errors = {name: lives.by_device(name, "device") for name in result.algorithms}
    sent = {name: float(result.run_wire(name, tariff).both[:, -1].mean()) for name in errors}
    method = _best(errors, sent)
    spans, law = spans_of(lives, method), law_in_words(result)
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
        law=law,
        by_labels=tuple(by_labels(judged)) if law else (),
        by_share=tuple(by_label_share(result)),
        in_unit=in_own_unit(result, lives, advised),
        settings=settings(result, method),
        served=_served(_described(result, method)),
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
