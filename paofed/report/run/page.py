"""One self-contained page about one run: errors, traffic, figures, and how to run it again."""

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paofed.core.tariffs import PAYLOAD, Tariff, tariff_of
from paofed.report.run.advice import Advice, advise
from paofed.report.run.advice_words import (
    better,
    fleet_command,
    in_unit,
    labels,
    sentences,
    whether,
)
from paofed.report.run.figures import (
    against_traffic,
    by_device,
    newcomers_over_horizons,
    over_label_shares,
    over_lives,
    over_time,
)
from paofed.report.run.gains import HOW, extremes, faults_of, gain, horizons, newcomers, stages
from paofed.report.run.page_files import PAGE, every_number
from paofed.report.run.tables import (
    by_group,
    by_label_share,
    by_labels,
    errors_and_traffic,
    faults_and_costs,
    in_target_unit,
    of_newcomers,
    recoveries,
)
from paofed.report.run.words import again, choices, front, is_open, lead_words
from paofed.report.shared import figures as draw
from paofed.report.shared.looks import default_title, rank, step_size
from paofed.report.shared.pages import drawn, finals, interval, number, page
from paofed.simulate.results.estimates import TIE, Estimate
from paofed.simulate.results.progressive import MODELS, Progressive, Whose
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.table.baselines import ALONE
from paofed.simulate.table.learners_alone import kind_of
from paofed.table import ShownTable
from paofed.words import counted
from paofed.world.scenario_text import to_toml
from paofed.world.table.columns import column

_HEADLINE, _SHARES = "lives", "label-shares"
_BY_DEVICE = "Error by device; every one of them is in by-device.csv."


_BY_SHARE = (
    "Error of the models on the devices by the share of samples that have labels. A method's dot "
    "is filled where taking part surely pays: the 95 % interval of its gain over being alone, "
    f"paired over devices, is above 0 and reaches beyond {TIE} dB."
)


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
    scenario = result.provenance["scenario"]
    figures = gallery(result, tariff)
    for name in PAGE:
        (folder / name).unlink(missing_ok=True)
    draw.write_page(
        folder / "report.html",
        figures,
        lambda drawings: build(result, drawings, tariff, saved),
        every_number(result, tariff),
        {} if is_open(result) else {"scenario.toml": to_toml(scenario)},
    )


def gallery(result: Result, tariff: Tariff = PAYLOAD) -> Mapping[str, tuple[str, Figure]]:
    """Return the figures by file name, each with its caption."""
    if not isinstance(result, TableResult):
        curves = draw.learning_curves(result)
        against = draw.error_against_traffic(result, tariff=tariff)
        return {
            "curves": ("Error of the server's model on the test set.", curves),
            "traffic": ("Error of the server's model against what was sent by all.", against),
        }
    judged, cold = result.progressive, result.cold_start
    against = against_traffic(result, judged, tariff)
    shown = _headline_figure(result, tariff)
    shown |= {
        "over-time": ("Error on the samples to come, over time.", over_time(result, judged)),
        "traffic": ("Error on all samples until then, against what was sent by all.", against),
        "by-device": (_BY_DEVICE, by_device(result, judged, best(result, judged))),
    }
    if result.label_shares is not None:
        over_shares = over_label_shares(result, advise(result, tariff).by_share)
        shown[_SHARES] = _BY_SHARE, over_shares
    if cold is not None:
        caption = "Devices that join late: all starts and devices together."
        shown["newcomers"] = caption, newcomers_over_horizons(result, cold)
    return shown


def _headline_figure(result: TableResult, tariff: Tariff) -> dict[str, tuple[str, Figure]]:
    advice = advise(result, tariff)
    if not advice.spans[0].over.rival:
        return {}
    shown = over_lives(result, result.progressive, result.lives, advice.method)
    return {_HEADLINE: (HOW, shown)}


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
    about, figures = result.provenance, drawn(drawings)
    headline = _HEADLINE if _HEADLINE in figures else next(iter(figures), "")
    said = (
        _over_table(result, tariff, saved)
        if isinstance(result, TableResult)
        else _over_scenario(result, tariff)
    )
    return page(
        "run.html.j2",
        title=about["scenario"]["name"],
        first=figures.pop(headline, None),
        over_shares=figures.pop(_SHARES, None),
        figures=list(figures.values()),
        counted_in=_counted_in(tariff),
        faults=faults_of(result),
        costs=faults_and_costs(result) if result.clean is not None else "",
        chosen=about.get("chosen", ()),
        recoveries=recoveries(result) if result.drifts else "",
        again=again(result, tariff),
        **on_device(result),
        **said,
    )


def _over_scenario(result: Result, tariff: Tariff) -> dict[str, Any]:
    """Return what only the page of a synthetic run says, or says in another way."""
    found, among = front(result, tariff), len(result.algorithms)
    return {
        "advice": None,
        "lead": [*lead_words(found, among)],
        "todo": [*choices(found, among)],
        "in_short": [],
        "conditions": default_title(result),
        "target": None,
        "errors": finals(result, tariff),
        "in_unit": "",
        "newcomers": "",
    }


def _over_table(result: TableResult, tariff: Tariff, saved: Path | None) -> dict[str, Any]:
    """Return what only the page of a run over a table says, or says in another way."""
    advice, cold = advise(result, tariff), result.cold_start
    stream = result.provenance["scenario"]["stream"]
    return {
        "advice": advice,
        "lead": [
            whether(advice),
            *islice(labels(advice), 1),
            *([in_unit(advice)] if advice.in_unit.disagrees else []),
        ],
        "todo": [*sentences(advice)],
        "tie": TIE,
        "fleet_command": fleet_command(advice, saved),
        "in_short": [*in_short(result, advice)],
        "conditions": _conditions(result),
        "target": column(stream["target"]),
        "errors": errors_and_traffic(result, result.progressive, tariff),
        "in_unit": in_target_unit(result),
        "by_labels": by_labels(advice.by_labels) if advice.by_labels else "",
        "by_share": _by_share(advice) if advice.by_share else "",
        "group": stream.get("group"),
        "by_group": by_group(result.lives, [(advice.method, "device")]),
        "newcomers": of_newcomers(result, cold) if cold is not None else "",
    }


def _by_share(advice: Advice) -> ShownTable:
    """Return gains by the share of labels; errors of the baselines are beside it in a figure."""
    return by_label_share(advice.by_share).without("devices", "over_db", "pooled_db")


def on_device(result: Result) -> dict[str, Any]:
    """Return what a device must know and compute over a table, with the range of each input."""
    table, scenario = result.provenance["table"], result.provenance["scenario"]
    known = zip(table["inputs"], table["ranges"][:-1], strict=True) if table else ()
    ranges = [f"{label}: low = {low:.6g}, high = {high:.6g}" for label, (low, high) in known]
    return {"table": table, "scenario": scenario, "ranges": ranges}


def _conditions(result: Result) -> str:
    """Say what was run: the table, how many runs, and the settings that hold for all."""
    scenario, facts = result.provenance["scenario"], result.provenance["table"]["facts"]
    maps = "one Fourier map" if result.provenance["same_world"] else "a Fourier map for each"
    return (
        f"{Path(scenario['stream']['file']).name}: {'; '.join(facts)}. "
        f"{counted(result.runs, 'run')}, {maps}; {counted(scenario['features'], 'feature')}, "
        f"kernel width {scenario['kernel_width']:g}, {step_size(result)}."
    )


def in_short(result: TableResult, advice: Advice) -> Iterator[str]:
    """Yield what the numbers say in sentences: what learning together adds here, and what not."""
    judged, found = result.progressive, list(stages(result.lives, advice.method))
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
    return f"{better(found)}, in one run" if found.runs < 2 else better(found)


def _counted_in(tariff: Tariff) -> str:
    """Say what the bytes of a table are."""
    told = f" ({tariff.words})" if tariff.words else ""
    bytes_are = f"on the wire by tariff {tariff.name}{told}" if tariff.adds else "of payload alone"
    return f"Traffic is the mean of a run. Bytes are those {bytes_are}."
