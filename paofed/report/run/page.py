"""One self-contained page about one run: errors, traffic, figures, and how to run it again."""

import html
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from matplotlib.figure import Figure

from paofed.core.tariffs import PAYLOAD, Tariff, tariff_of
from paofed.files import write_text
from paofed.report.run.advice import Advice, advise
from paofed.report.run.advice_words import in_unit, whether
from paofed.report.run.again import again, is_open
from paofed.report.run.damage import faults_of
from paofed.report.run.fleet_figures import (
    against_traffic,
    by_device,
    newcomers_over_horizons,
    over_time,
)
from paofed.report.run.gains import gain, horizons, newcomers
from paofed.report.run.lives import HOW, extremes, stages
from paofed.report.run.lives_figure import over_lives
from paofed.report.run.numbers import PAGE, write_numbers
from paofed.report.run.on_device import on_device
from paofed.report.run.page_tables import (
    by_group,
    errors_and_traffic,
    faults_and_costs,
    in_target_unit,
    of_newcomers,
    recoveries,
)
from paofed.report.run.what_to_do import from_advice, from_front, front, lead_words
from paofed.report.shared import figures as draw
from paofed.report.shared.captions import default_title, rank, step_size
from paofed.report.shared.finals import finals
from paofed.report.shared.markup import (
    bullets,
    details,
    document,
    figure,
    heading,
    interval,
    lead,
    note,
    number,
    preformatted,
)
from paofed.simulate.results.estimates import Estimate
from paofed.simulate.results.progressive import MODELS, Progressive, Whose
from paofed.simulate.results.result import Result
from paofed.simulate.table.baselines import ALONE
from paofed.simulate.table.learners_alone import kind_of
from paofed.words import counted
from paofed.world.scenario import to_toml
from paofed.world.table.columns import column

_JUDGED = (
    "Every sample is predicted before anything is learned from it (progressive validation), by the "
    "model on its device and by the server's model of before that tick. "
)
_OF_SPREAD = (
    "0 dB is an error as large as the target's spread in the calibration period; −10 dB is about a "
    "third of it, −20 dB a tenth."
)
_OF_UNIT = "0 dB is a mean squared error of 1, in the target's own unit."
_NEWCOMERS = (
    "Each device in turn is left out until it joins, having learned nothing. It begins with the "
    "server's whole model, or as the fleet began and receives the server's model with its "
    "contacts, window by window. Beside it: the same device had it taken part all along (old). "
    "Gains are over a device that begins as the fleet began and never has a contact. The errors of "
    "all starts, devices and runs are pooled. 95 % intervals over the starts, as far as these do "
    "not overlap; devices that join on the same day share their weather."
)
_FAULTS = (
    "Every algorithm was run twice over the same worlds: with these faults and without them. The "
    "cost is the difference of both errors in dB, run by run, with its 95 % interval. Errors are "
    "against what is right, whatever sensors say."
)
_IN_OWN_UNIT = (
    "The root of the mean squared error, the mean absolute error, and the share of the variance "
    "that is explained (1 is perfect, 0 is no better than the mean of these samples). Beside them, "
    "90 % intervals around the predictions, which every device keeps for itself as it goes: the "
    "share of samples that they covered, and their mean width. All of it is of the samples that "
    "count, mean over runs."
)
_BEST = " The best of each column of errors is bold."
_HEADLINE = "lives"
_BY_DEVICE = "Error by device; every one of them is in by-device.csv."


def write(
    result: Result,
    folder: Path,
    tariff: Tariff | str = "payload",
    saved: Path | None = None,
) -> None:
    """Write the page, its figures, every number on it and the scenario into a folder.

    Files that an earlier page has left there and this page does not have are deleted. Bytes are
    those of `tariff`. `saved` is the file of the result, if there is one: a fleet can be made from
    it.
    """
    tariff = tariff_of(tariff)
    figures = gallery(result, tariff)
    for name in PAGE:
        (folder / name).unlink(missing_ok=True)
    drawings = draw.save_all(figures, folder)
    write_numbers(result, folder, tariff)
    if not is_open(result):
        write_text(folder / "scenario.toml", to_toml(result.provenance["scenario"]))
    write_text(folder / "report.html", build(result, drawings, tariff, saved))


def gallery(result: Result, tariff: Tariff = PAYLOAD) -> Mapping[str, tuple[str, Figure]]:
    """Return the figures by file name, each with its caption."""
    judged, cold = result.progressive, result.cold_start
    if judged is None:
        curves = draw.learning_curves(result)
        against = draw.error_against_traffic(result, tariff=tariff)
        return {
            "curves": ("Error of the server's model on the test set.", curves),
            "traffic": ("Error of the server's model against what was sent by all.", against),
        }
    against = against_traffic(result, judged, tariff)
    shown = _headline_figure(result, judged, tariff)
    shown |= {
        "over-time": ("Error on the samples to come, over time.", over_time(result, judged)),
        "traffic": ("Error on all samples until then, against what was sent by all.", against),
        "by-device": (_BY_DEVICE, by_device(result, judged, best(result, judged))),
    }
    if cold is not None:
        caption = "Devices that join late: all starts and devices together."
        shown["newcomers"] = caption, newcomers_over_horizons(result, cold)
    return shown


def _headline_figure(
    result: Result, judged: Progressive, tariff: Tariff
) -> dict[str, tuple[str, Figure]]:
    advice = advise(result, tariff)
    if result.lives is None or advice is None or not advice.spans[0].over.rival:
        return {}
    return {_HEADLINE: (HOW, over_lives(result, judged, result.lives, advice.method))}


def best(result: Result, judged: Progressive) -> list[str]:
    """Return the algorithm with the best models on devices, and the one with the best server's."""
    return list(dict.fromkeys(_best(result, judged, whose) for whose in MODELS))


def _best(result: Result, judged: Progressive, whose: Whose) -> str:
    return min(result.algorithms, key=lambda name: rank(judged.final(name, whose).db))


def build(
    result: Result,
    drawings: Mapping[str, tuple[str, str]],
    tariff: Tariff = PAYLOAD,
    saved: Path | None = None,
) -> str:
    """Write the page; drawings come as name -> (caption, SVG)."""
    judged, advice = result.progressive, advise(result, tariff)
    first = _HEADLINE if _HEADLINE in drawings else next(iter(drawings), "")
    top = [figure(*drawings[first])] if first else []
    if judged is None:
        found = front(result, tariff)
        opening = [*lead_words(found, len(result.algorithms))]
        parts = [*from_front(found, len(result.algorithms)), *_over_scenario(result, tariff)]
    else:
        opening = [] if advice is None else [whether(advice)]
        opening += [in_unit(advice)] if advice is not None and advice.in_unit.disagrees else []
        parts = [] if advice is None else [*from_advice(advice, saved)]
        parts += _over_table(result, judged, tariff, advice)
    if others := [figure(*drawing) for name, drawing in drawings.items() if name != first]:
        parts += [heading("Figures"), *others]
    if faults := faults_of(result):
        parts += [heading("What faults do"), preformatted("\n".join(faults))]
        parts += [note(_FAULTS), faults_and_costs(result)] if result.clean is not None else []
    parts += _choices(result)
    if result.drifts:
        parts += [heading("When the target changed"), recoveries(result)]
    if result.cold_start is not None:
        parts += [heading("Newcomers"), note(_NEWCOMERS), of_newcomers(result, result.cold_start)]
    parts += on_device(result)
    parts += [heading("To run it again"), *again(result, tariff)]
    name = result.provenance["scenario"]["name"]
    return document(name, [lead(*opening), *top] if opening else top, parts)


def _over_scenario(result: Result, tariff: Tariff) -> Iterator[str]:
    yield heading("Errors and traffic")
    yield note(html.escape(default_title(result)))
    yield finals(result, tariff)
    yield note(html.escape(_counted_in(tariff)))


def _over_table(
    result: Result, judged: Progressive, tariff: Tariff, advice: Advice | None
) -> Iterator[str]:
    scenario = result.provenance["scenario"]
    target = column(scenario["stream"]["target"])
    if said := [*in_short(result, judged, advice)]:
        yield heading("In short")
        yield bullets(said)
    yield heading("Errors and traffic")
    yield note(html.escape(_conditions(result)))
    yield note(_JUDGED + (_OF_UNIT if target.transform == "raw" else _OF_SPREAD) + _BEST)
    yield errors_and_traffic(result, judged, tariff)
    yield note(html.escape(_counted_in(tariff)))
    if result.lives is not None and advice is not None:
        yield heading(f"In the unit of {target.name}")
        yield note(_IN_OWN_UNIT + _BEST)
        yield in_target_unit(result.lives)
        yield heading("By group of devices")
        yield note(html.escape(_grouped_by(scenario["stream"].get("group"))))
        yield by_group(result.lives, advice.method)


def _conditions(result: Result) -> str:
    """Say what was run: the table, how many runs, and the settings that hold for all."""
    scenario, facts = result.provenance["scenario"], result.provenance["table"]["facts"]
    maps = "one Fourier map" if result.provenance["same_world"] else "a Fourier map for each"
    return (
        f"{Path(scenario['stream']['file']).name}: {'; '.join(facts)}. "
        f"{counted(result.runs, 'run')}, {maps}; {counted(scenario['features'], 'feature')}, "
        f"kernel width {scenario['kernel_width']:g}, {step_size(result)}."
    )


def in_short(result: Result, judged: Progressive, advice: Advice | None) -> Iterator[str]:
    """Yield what the numbers say in sentences: what learning together adds here, and what not."""
    if advice is not None and result.lives is not None:
        found = list(stages(result.lives, advice.method))
        if any(stage.pays for stage in found):
            yield extremes(found, advice.method)
    on_device, at_server = (_best(result, judged, whose) for whose in MODELS)
    mine, theirs = judged.final(on_device, "device").db, judged.final(at_server, "server").db
    beside = {name: judged.final(name, "baseline").db for name in judged.baselines}
    of = f", the best of {len(result.algorithms)}" if len(result.algorithms) > 1 else ""
    if alone := [name for name in beside if kind_of(name) in ALONE]:
        way = min(alone, key=lambda name: rank(beside[name]))
        yield (
            f"A device that takes part: {number(mine)} dB ({on_device}{of}). The best way of being "
            f"alone: {number(beside[way])} dB ({way})."
        )
    if "last value" in beside:
        yield (
            f"Repeating the last value: {number(beside['last value'])} dB. Against that, the model "
            f"on the device is {_told(gain(judged, on_device, 'device', 'last value'))}."
        )
    if "batch fourier" in beside:
        yield (
            f"The server's model, which has seen no reading: {number(theirs)} dB "
            f"({at_server}{of}). The same features fitted to all past readings: "
            f"{number(beside['batch fourier'])} dB. Against that, the server's model is "
            f"{_told(gain(judged, at_server, 'server', 'batch fourier'))}."
        )
    if result.cold_start is not None:
        joined = [found for found in newcomers(result.cold_start) if found.way == "whole"]
        top = min(joined, key=lambda found: rank(-found.gains[0].mean))
        gained = ", ".join(
            f"{interval(e)} dB over the first {span}"
            for e, span in zip(top.gains, horizons(result, result.cold_start), strict=True)
            if math.isfinite(e.mean)
        )
        if gained:
            yield f"A newcomer that begins with the server's model ({top.name}) gains {gained}."


def _told(found: Estimate) -> str:
    """Say a gain in words: better, worse, or no different, as far as the runs can tell."""
    if not math.isfinite(found.mean):
        return "not to be compared: one of them diverged"
    if found.runs > 1 and found.verdict in ("tie", "inconclusive"):
        runs = counted(found.runs, "run")
        return f"no better and no worse, as far as {runs} can tell: {interval(found)} dB"
    better = found.mean > 0
    how = f"{number(abs(found.mean))} dB {'better' if better else 'worse'}"
    if found.runs < 2:
        return f"{how}, in one run"
    low, high = (found.low, found.high) if better else (-found.high, -found.low)
    return f"{how} [{number(low)}, {number(high)}]"


def _grouped_by(column_name: str | None) -> str:
    by = f"{column_name} of the table" if column_name else "how many readings they have"
    return (
        f"Devices grouped by {by}: errors of the models on them, and gains over the best way of "
        f"being alone, with 95 % intervals paired over the devices of a group. by-group.csv has "
        f"all learners."
    )


def _counted_in(tariff: Tariff) -> str:
    """Say what the bytes of a table are."""
    told = f" ({tariff.words})" if tariff.words else ""
    bytes_are = f"on the wire by tariff {tariff.name}{told}" if tariff.adds else "of payload alone"
    return f"Traffic is the mean of a run. Bytes are those {bytes_are}."


def _choices(result: Result) -> Iterator[str]:
    """Yield what was chosen before the run, and what was tried for it."""
    chosen = result.provenance.get("chosen", ())
    if chosen:
        yield heading("What was chosen")
    for choice in chosen:
        yield f"<p>{html.escape(choice['sentence'])}</p>"
        if tried := choice["table"]:
            yield details("what was tried", preformatted(tried))
