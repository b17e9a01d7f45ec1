"""Advice in sentences, and the numbers behind every one of them."""

import math
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from paofed.report.run.advice import Advice, Gain, InOwnUnit
from paofed.report.run.by_labels import BestBeside, Worth, percent
from paofed.report.shared.looks import rank
from paofed.simulate.results.estimates import TIE, Estimate
from paofed.simulate.results.lives import OwnUnit
from paofed.simulate.table.baselines import ALONE, USUAL
from paofed.simulate.table.learners_alone import kind_of
from paofed.table import estimated
from paofed.words import counted, size

_WORDS: Mapping[str, str] = {
    "last value": "repeating the last value",
    "seasonal naive": "repeating the value of a day ago (seasonal naive)",
    "alone": "learning alone",
    "rls": "a linear filter alone (rls)",
    "start": "the fit of the calibration period, left as it is (start)",
    "start alone": "learning alone from the fit of the calibration period (start alone)",
    "central": "one learner that has every sample at once (central)",
    "batch fourier": "a batch fit at one place (batch fourier)",
    "batch linear": "a linear batch fit at one place (batch linear)",
    "boost": "gradient boosting at one place (boost)",
    "mondrian": "a Mondrian forest at one place (mondrian)",
    "adaptive forest": "an adaptive random forest at one place (adaptive forest)",
}
_RACED = "chosen by a race"
_STEPS: Mapping[str, str] = {
    "race": _RACED,
    "usual": "as usual, since nothing could be chosen",
    "name": "as given with its name",
    "scenario": "the scenario's",
}


def _words(name: str) -> str:
    """Return the name of a baseline in a sentence, with its options if it has any."""
    kind = kind_of(name)
    return _WORDS[kind] if kind == name else f"{_WORDS[kind].partition(' (')[0]} ({name})"


def sentences(advice: Advice) -> Iterator[str]:
    """Yield what to do: whether to take part, where else, which method, how, at which cost.

    The sentences are plain ASCII, for a terminal of any kind.
    """
    yield whether(advice)
    yield from labels(advice)
    yield from _by_share(advice)
    yield in_unit(advice)
    if advice.in_unit.disagrees:
        yield why_otherwise(advice.in_unit)
    if advice.at_one_place:
        yield _elsewhere(advice.at_one_place[0], advice.method)
    if advice.others:
        yield _among(advice)
    yield _settings(advice)
    yield _cost(advice)


def in_unit(advice: Advice) -> str:
    """Say who is best on devices in the target's own unit."""
    return own_unit_words(advice.in_unit, advice.method)


def own_unit_words(found: InOwnUnit, method: str = "") -> str:
    """Say who is best in the target's own unit, beside taking part with `method`.

    The words of this module are plain ASCII, for a terminal of any kind.
    """
    best, told = found.best, dict.fromkeys([found.best, method or found.advised, found.advised])
    others = [name for name in told if name != best] or list(found.errors)[1:2]
    beside = ", ".join(f"{name} has {_pair(found.errors[name])}" for name in others)
    return (
        f"In the unit of {found.target}, {best} has the least error on devices"
        f"{', too' if best == found.advised else ''}: RMSE {_pair(found.errors[best], 'R2 ')}"
        f"{'; ' if beside else ''}{beside}."
    )


def why_otherwise(found: InOwnUnit) -> str:
    """Say why decibels say otherwise, where they do."""
    return (
        f"dB say otherwise: they are of {found.judged}, where errors at small values count as much "
        f"as larger ones at large values. Go by the unit in which errors cost you."
    )


def _pair(own: OwnUnit, r2: str = "") -> str:
    """Write an RMSE, and R2 in brackets where it is known."""
    if not math.isfinite(own.rmse):
        return "diverged"
    return f"{own.rmse:.4g}" + (f" ({r2}{own.r2:.3f})" if math.isfinite(own.r2) else "")


def fleet_command(advice: Advice, saved: Path | None) -> str:
    """Return the command that makes a fleet with the settings of a run that was saved.

    There is none where no file was saved, where taking part does not pay, nor where no live fleet
    can follow the method: it is empty then.
    """
    if saved is None or not advice.takes_part or not advice.served:
        return ""
    words = ["paofed", "fleet", "init", "FOLDER", "--from", str(saved)]
    return shlex.join([*words, "--algorithm", advice.method] if advice.others else words)


def whether(advice: Advice) -> str:
    """Say whether taking part pays, for which readings of a device, and what it does to others."""
    main, *rest = advice.spans
    if not main.over.rival:
        ways = ",".join(way.replace(" ", "-") for way in ALONE if way in USUAL)
        return (
            f"Whether taking part pays cannot be told: no way of being alone was judged beside it "
            f"(--baselines {ways})."
        )
    rival = f"{_words(main.over.rival)}, the best way of being alone"
    for late in rest:
        return (
            f"Taking part pays up to reading {main.last:,} of a device: {better(main.gain)} than "
            f"{rival}; from then on it {_does(late.gain, _words(late.over.rival))}."
        )
    match advice.verdict:
        case "pays":
            return f"Taking part pays: {better(main.gain)} than {rival}, over all readings."
        case "worse":
            return f"Taking part does not pay: it is {better(main.gain)} than {rival}."
        case "changes nothing":
            tie = f"{_tie(main.gain)}, against {rival}"
            return f"Taking part does not pay: it changes nothing ({tie})."
        case _:
            return f"Whether taking part pays cannot be told: {_doubt(main.gain)}, against {rival}."


def _does(gain: Estimate, against: str) -> str:
    """Say what one way does, against another in words."""
    if gain.verdict == "tie":
        return f"is a tie with {against} ({_tie(gain)})"
    if gain.verdict == "inconclusive":
        return f"has no sure gain over {against} ({_doubt(gain)})"
    return f"is {better(gain)} than {against}"


def labels(advice: Advice) -> Iterator[str]:
    """Say which samples had labels and, where some devices had none, who gains by contacts."""
    if advice.law:
        yield f"The labels: {advice.law}."
    mine = [worth for worth in advice.by_labels if worth.name == advice.method]
    for worth in mine if any(one.whom == "without labels" for one in mine) else ():
        best = min((one for one in advice.by_labels if one.whom == worth.whom), key=_error)
        other = "" if best.name == worth.name else f" Of all methods, {best.name} is best there."
        beside = ", and ".join(
            _does(rival.gain, _words(rival.name))
            for rival in (worth.alone, worth.pooled)
            if rival.name
        )
        yield f"On devices {worth.whom}, taking part {beside or 'has no rival'}.{other}"


def _by_share(advice: Advice) -> Iterator[str]:
    """Say at which shares of labels taking part pays, for devices with labels and for others."""
    mine = [one for one in advice.by_share if one.worth.name == advice.method]
    for whom in dict.fromkeys(one.worth.whom for one in mine):
        alone = {one.share: one.worth.alone for one in mine if one.worth.whom == whom}
        gains = ", ".join(f"{_ends(one.gain)} with {percent(s)}" for s, one in alone.items())
        if all(one.name for one in alone.values()):
            yield (
                f"By the share of samples that have labels, taking part gains devices {whom} over "
                f"being alone {gains}: it pays {_where(alone)}."
            )


def _where(alone: Mapping[float, BestBeside]) -> str:
    """Say at which shares of labels a gain is sure."""
    shares = list(alone)
    pays = [share for share, one in alone.items() if one.gain.verdict == "holds"]
    if not pays or len(pays) == len(shares):
        return "with each of these" if pays else "with none of these"
    if pays == shares[: len(pays)]:
        return f"up to {percent(pays[-1])}"
    if pays == shares[-len(pays) :]:
        return f"from {percent(pays[0])} on"
    return f"with {' and '.join(map(percent, pays))} alone"


def _error(worth: Worth) -> float:
    return rank(worth.db)


def better(gain: Estimate) -> str:
    """Write a gain whose sign is sure, as in: 2.10 dB (1.60 to 2.60) better."""
    if gain.mean >= 0:
        return f"{_ends(gain)} better"
    return f"{_ends(Estimate(-gain.mean, -gain.high, -gain.low, gain.runs))} worse"


def _tie(gain: Estimate) -> str:
    return f"within {TIE} dB: {_ends(gain)}"


def _doubt(gain: Estimate) -> str:
    """Say why a gain is not sure."""
    if not math.isfinite(gain.mean):
        return "one of them diverged"
    if not math.isfinite(gain.low):
        return f"one device has no interval, and this one gains {_ends(gain)}"
    return f"the interval of the gain has 0 inside, {_ends(gain)}"


def _ends(gain: Estimate) -> str:
    return estimated(gain, "to", unit=" dB")


def _elsewhere(best: Gain, method: str) -> str:
    """Say whether all readings in one place would do better than what is advised."""
    than = "taking part" if best.over == method else "that"
    told, who = best.gain.verdict, _words(best.name)
    if told == "holds":
        return f"{_capital(who)} would be {better(best.gain)} than {than}."
    if told == "inconclusive":
        return f"Whether {who} would be better than {than} cannot be told: {_doubt(best.gain)}."
    nothing = "Of what has every reading at one place, nothing is better"
    return f"{nothing}: {who} {_does(best.gain, than)}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _among(advice: Advice) -> str:
    """Say which method is best on devices, and how sure that is."""
    next_best, count = advice.others[0], len(advice.others) + 1
    gain, other = next_best.gain, next_best.over
    best = f"Of {counted(count, 'method')}, {advice.method} has the least error on devices"
    if gain.verdict == "tie":
        return (
            f"Of {counted(count, 'method')}, take {advice.method}: {other} is a tie with it "
            f"({_tie(gain)}) and sends no less."
        )
    if gain.mean == math.inf:
        return f"{best}; the next, {other}, diverged."
    if gain.verdict == "holds":
        return f"{best}, {better(gain)} than the next, {other}."
    return f"{best}; whether it is better than {other} cannot be told: {_doubt(gain)}."


def _settings(advice: Advice) -> str:
    """Say which settings the method was run with."""
    s = advice.settings
    by_race = dict.fromkeys(s.raced, f" ({_RACED})")
    shared = f"{s.shared} of {s.features} numbers in a message"
    begins = "the fit of the calibration period" if s.start == "calibration" else "zeros"
    parts = [
        "messages of its own" if s.shared is None else f"{shared}{by_race.get('shared', '')}",
        f"step size {s.step_size:g} ({_STEPS[s.step_from]})",
        f"learner {s.learner}{by_race.get('learner', '')}",
        f"start from {begins}",
        f"{'with' if s.linear else 'without'} linear terms{' of its own' if s.personal else ''}",
        f"newcomers begin with {'the whole model' if s.newcomers == 'whole' else 'windows'}",
    ]
    served = "" if advice.served else f" No live fleet can follow {advice.method} yet."
    return f"The settings: {s.algorithm}, {', '.join(parts)}.{served}"


def _cost(advice: Advice) -> str:
    """Say what taking part sends."""
    c, tariff = advice.cost, advice.tariff
    by = f"on the wire by tariff {tariff.name}" if tariff.adds else "of payload alone (--tariff)"
    at_first = "among them" if c.has_download else "and, not counted here,"
    busy = "" if c.per == "tick" else f" ({_bytes(c.busy)} on a day with one at every tick)"
    contact = f"{_bytes(c.contact)} per contact, " if math.isfinite(c.contact) else ""
    return (
        f"The cost of taking part: {_bytes(c.up + c.down)} per device and {c.per} {by}, "
        f"{_bytes(c.up)} up and {_bytes(c.down)} down, mean over the time of the table; "
        f"{contact}{_bytes(c.reading)} per reading{busy}; {at_first} one download of the whole "
        f"model, {_bytes(c.download)}."
    )


def _bytes(number: float) -> str:
    return "less than 1 B" if 0 < number < 1 else size(number)


class Behind(NamedTuple):
    """One number behind the advice, as a file or JSON has it."""

    # Taking part, method, one place, with labels, without labels, own unit, or cost.
    about: str
    learner: str
    over: str  # what the gain is over, or what bytes are of
    first: int | None  # the first reading of a device that it is about; None: all readings
    last: int | None
    devices: int | None
    value: float
    low: float
    high: float
    unit: str


def numbers(advice: Advice) -> Iterator[Behind]:
    """Yield all numbers behind the advice."""
    for span in advice.spans:
        g = span.gain
        yield Behind("taking part", advice.method, span.over.rival, span.first, span.last, g.runs,
                     *g[:3], "dB")  # fmt: skip
    for about, gains in (("one place", advice.at_one_place), ("method", advice.others)):
        for name, over, g in gains:
            yield Behind(about, name, over, None, None, g.runs, *g[:3], "dB")
    for worth in advice.by_labels:
        for name, _, g in (worth.alone, worth.pooled):
            yield Behind(worth.whom, worth.name, name, None, None, g.runs, *g[:3], "dB")
    own, nothing = advice.in_unit, (None, None, None)
    yield Behind("own unit", own.best, own.advised, None, None, own.gain.runs, *own.gain[:3], "dB")
    for name, errors in own.errors.items():
        for over, value, unit in (("RMSE", errors.rmse, own.target), ("R2", errors.r2, "")):
            yield Behind("own unit", name, over, *nothing, value, math.nan, math.nan, unit)
    c, device = advice.cost, f"device and {advice.cost.per}"
    costs = {
        f"{device}, up": c.up,
        f"{device}, down": c.down,
        "contact": c.contact,
        "reading": c.reading,
        f"{device} with a reading at every tick": c.busy,
        "whole model": c.download,
    }
    for over, value in costs.items():
        yield Behind("cost", advice.method, over, *nothing, value, math.nan, math.nan, "B")


def as_json(advice: Advice) -> dict[str, Any]:
    """Return the advice in plain values, and in words."""
    return {
        "verdict": advice.verdict,
        "method": advice.method,
        "advised": advice.advised,
        "sentences": list(sentences(advice)),
        "own_unit": {
            "target": advice.in_unit.target,
            "best": advice.in_unit.best,
            "disagrees": advice.in_unit.disagrees,
        },
        "settings": advice.settings._asdict(),
        "cost": {**advice.cost._asdict(), "tariff": advice.tariff.name},
        "numbers": [behind._asdict() for behind in numbers(advice)],
    }
