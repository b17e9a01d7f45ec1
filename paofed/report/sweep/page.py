"""A sweep as one self-contained page, with its figures and every number beside it."""

import html
import json
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

from matplotlib.figure import Figure

from paofed.core.tariffs import Tariff, tariff_of
from paofed.files import write_text
from paofed.report.shared.figures import save, save_all
from paofed.report.shared.markup import (
    bullets,
    details,
    document,
    figure,
    heading,
    lead,
    note,
    preformatted,
)
from paofed.report.sweep.figures import against, against_bytes, over_two
from paofed.report.sweep.panels import MOST_PANELS
from paofed.report.sweep.words import (
    FLATTERED,
    BestLine,
    best_in_files,
    best_lines,
    best_table,
    lead_words,
    sentences,
    unfinished,
)
from paofed.sweeping.asked import to_toml as sweep_toml
from paofed.sweeping.points import worded
from paofed.sweeping.swept import Swept
from paofed.words import counted
from paofed.world.scenario import to_toml as scenario_toml

_HOW = (
    "The mean dB is the mean over worlds of the final error of each in dB, with its 95 % interval; "
    "the error (dB) of a run is another number, the mean error over runs in dB. All points meet "
    "the same worlds, so their differences are surer than these intervals look: a point that may "
    "be as good as the best is found by its difference from the best in each world. With 95 % "
    "confidence, all intervals of these differences are right at once."
)

_DRAWN = tuple(
    f"{name}.{ending}" for name in ("against-*", "map-*") for ending in ("svg", "png", "pdf")
)


def write(swept: Swept, folder: Path, tariff: Tariff | str = "payload") -> None:
    """Write the page, its figures, every number and what repeats the sweep into a folder."""
    tariff = tariff_of(tariff)
    figures = gallery(swept, tariff)
    for old in (path for part in _DRAWN for path in folder.glob(part)):
        old.unlink()  # figures of an earlier sweep over other keys
    drawings = save_all(figures, folder)
    for name, (_, drawn) in figures.items():
        save(drawn, folder / f"{name}.pdf")
    lines = best_lines(swept, tariff)
    swept.to_csv(folder / "points.csv", tariff)
    best_in_files(swept, lines, tariff).csv(folder / "best.csv")
    if not _is_open(swept):
        write_text(folder / "scenario.toml", scenario_toml(swept.provenance["scenario"]))
        write_text(folder / "sweep.toml", sweep_toml(swept.provenance, "scenario.toml"))
    write_text(folder / "report.html", build(swept, drawings, lines))


def _is_open(swept: Swept) -> bool:
    """Whether a function made the worlds, which no file holds."""
    return bool(swept.provenance["scenario"].get("kind") == "worlds")


def gallery(swept: Swept, tariff: Tariff) -> Mapping[str, tuple[str, Figure]]:
    """Return the figures by file name, each with its caption."""
    keys = [key for key in swept.keys if len(swept.values(key)) > 1]
    others = "; all other keys have the values that are best" if swept.is_grid else ""
    told = others if len(keys) > 1 else ""
    shown = {
        _file("against", key): (f"Error against {key}{told}.", against(swept, key)) for key in keys
    }
    for across, down in combinations(keys, 2):
        drawn = over_two(swept, across, down)
        if drawn is not None:
            framed = "; the best cell has a frame" if swept.is_grid else ""
            caption = f"Error over {across} and {down}{others if len(keys) > 2 else ''}{framed}."
            shown[_file("map", across, down)] = caption, drawn
    shown["bytes"] = (
        "Error against what fleet and server send in a run, all points.",
        against_bytes(swept, tariff),
    )
    return shown


def _file(*parts: str) -> str:
    return "-".join(part.replace(".", "-") for part in parts)


def build(swept: Swept, drawings: Mapping[str, tuple[str, str]], lines: list[BestLine]) -> str:
    """Write the page; drawings come as name -> (caption, SVG)."""
    title = f"{swept.provenance['scenario']['name']}: {', '.join(swept.keys)}"
    first, *others = [figure(*drawing) for drawing in drawings.values()] or [""]
    top = [lead(*lead_words(swept, lines)), first]
    if missing := unfinished(swept):
        top = [f"<p><strong>{html.escape(missing)}</strong></p>", *top]
    parts = [heading("What to do"), note(html.escape(_conditions(swept)))]
    parts += [bullets(sentences(swept, lines))]
    if lines:
        asked = swept.provenance["fresh_requested"]
        parts += [best_table(swept, lines).html(), note(_HOW)]
        parts += [note(f"{FLATTERED}{'' if asked else ' (--fresh N)'}.")]
    parts += [heading("Figures"), *others] if others else []
    if len(swept.cases()) > MOST_PANELS and swept.is_grid:
        parts.append(note("Not all cases are drawn; points.csv has them."))
    parts += [heading("To run it again"), *_again(swept)]
    return document(title, top, parts)


def _conditions(swept: Swept) -> str:
    about = swept.provenance
    design = "a grid" if swept.is_grid else f"a random design of {about['random']}"
    return (
        f"{counted(len(swept.points), 'point')} of {counted(len(swept.methods), 'method')} "
        f"({design}) in the same {counted(about['runs_requested'], 'world')}, "
        f"seed {about['seed']}. {_tried(swept)}."
    )


def _tried(swept: Swept) -> str:
    told = []
    for key, axis in swept.provenance["axes"].items():
        if "values" in axis:
            told.append(f"{key}: {', '.join(map(worded, axis['values']))}")
        else:
            told.append(f"{key}: {axis['from']} to {axis['to']} ({axis['scale']})")
    return "; ".join(told)


def _again(swept: Swept) -> Iterator[str]:
    about = swept.provenance
    if _is_open(swept):
        yield note("Its worlds were made by a function in Python, which no file holds.")
        yield preformatted(json.dumps(about, indent=1))
        return
    words = ["paofed sweep sweep.toml"]
    words += [f"--precision {about['precision']}"] if about["precision"] != "float32" else []
    words += [f"--engine {about['engine']}"] if about["engine"] != "fast" else []
    yield preformatted(" ".join(words))
    yield preformatted(json.dumps(about["versions"], indent=1))
    toml = preformatted(sweep_toml(about, "scenario.toml"))
    yield details("sweep.toml", toml)
    toml = preformatted(scenario_toml(about["scenario"]))
    yield details("scenario.toml", toml)
