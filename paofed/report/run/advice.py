"""What to do after a run over a table: take part or not, when in a life, how, at which cost.

This module has numbers alone; `advice_words` says them in sentences.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from paofed.core import bounded_steps
from paofed.core.arrays import FloatArray
from paofed.core.learners import FORGETFUL
from paofed.core.metrics import BYTES_PER_COORDINATE
from paofed.core.rules import LMS
from paofed.core.tariffs import PAYLOAD, Tariff, tariff_of
from paofed.report.run.lives import BesideAlone, Stage, stages, stops_paying
from paofed.report.shared.captions import rank
from paofed.report.shared.own_unit import InOwnUnit, in_own_unit
from paofed.simulate.results import estimates
from paofed.simulate.results.estimates import Estimate, pooled_gain
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import Progressive
from paofed.simulate.results.result import Result
from paofed.simulate.table.baselines import AT_ONE_PLACE

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
    # Bytes up of a device in that time; NaN where an earlier version did not count messages.
    up: float
    down: float
    reading: float  # both directions, for one reading
    busy: float  # both directions, for a device that has a reading at every tick of that time
    download: float  # one whole model, to one device
    has_download: bool  # whether these bytes include such a download to every device


def cost(result: Result, judged: Progressive, name: str, tariff: Tariff) -> CostOfTakingPart:
    """Return what an algorithm cost in this run."""
    scenario, table = result.provenance["scenario"], result.provenance["table"]
    wire = result.run_wire(name, tariff)
    up, down = (float(sent[:, -1].mean()) for sent in (wire.up, wire.down))
    ticks_per = _DAY / table["tick"] if table["calendar"] else 1.0
    shares = scenario["clients"] * scenario["ticks"] / ticks_per
    reading = (up + down) / int(judged.samples.sum())
    return CostOfTakingPart(
        per="day" if table["calendar"] else "tick",
        up=up / shares,
        down=down / shares,
        reading=reading,
        busy=reading * ticks_per,
        download=BYTES_PER_COORDINATE * scenario["features"] + tariff.down,
        has_download=scenario.get("newcomers") == "whole",
    )


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
    described = result.provenance["algorithms"][result.algorithms.index(name)]
    own = described.get("step_size")
    race = _race(result, name)
    asked = tuple(race.get("options", ()))
    step_from = "scenario" if own is None else "name"
    if "step_size" in asked:
        step_from = "usual" if race.get("reason") else "race"
    return AdvisedSettings(
        algorithm=name,
        shared=_shared(described.get("uplink"), scenario["features"]),
        features=scenario["features"],
        step_size=scenario["step_size"] if own is None else own,
        step_from=step_from,
        raced=() if race.get("reason") else asked,
        learner=_learner(described.get("learner")),
        start=scenario.get("start", "zeros"),
        linear=scenario.get("linear", False),
        newcomers=scenario.get("newcomers", "windows"),
        personal=scenario.get("linear", False) and scenario.get("personal", False),
    )


def _shared(uplink: Any, features: int) -> int | None:
    if not isinstance(uplink, dict) or uplink.get("kind") != "Windows":
        return None
    width: int | None = uplink["width"]
    return features if width is None else width


def _race(result: Result, name: str) -> Mapping[str, Any]:
    """Return the race that chose an algorithm's options; empty where they were given."""
    races = result.provenance.get("chosen", ())
    return next((race for race in races if race.get("winner") == name), {})


def _written(function: Callable[..., object]) -> str:
    """Return a function as provenance writes it."""
    return f"{function.__module__}.{function.__qualname__}"


_LEARNERS: Mapping[str, str] = {
    _written(LMS.learn): "lms",
    _written(bounded_steps.learn): "lms",
    **{_written(forgets.step): name for name, forgets in FORGETFUL.items()},
}


def _learner(described: Any) -> str:
    """Return the name of a learner as provenance describes it."""
    step = described.get("learn") if isinstance(described, dict) else None
    function = step.get("function") if isinstance(step, dict) else step
    return _LEARNERS.get(str(function), "its own")


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
