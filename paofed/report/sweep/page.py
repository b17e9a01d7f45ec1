"""A sweep as one self-contained page, with its figures and every number beside it."""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paofed.core.tariffs import Tariff, tariff_of
from paofed.experiments.sweep.asked import to_toml as sweep_toml
from paofed.experiments.sweep.points import worded
from paofed.experiments.sweep.swept import Swept
from paofed.report.shared.figures import save, write_page
from paofed.report.shared.pages import drawn, page
from paofed.report.sweep.figures import MOST_PANELS, against, against_bytes
from paofed.report.sweep.maps import over_two
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
from paofed.words import counted
from paofed.world.scenario_text import to_toml as scenario_toml

_DRAWN = tuple(
    f"{name}.{ending}" for name in ("against-*", "map-*") for ending in ("svg", "png", "pdf")
)


def write(swept: Swept, folder: Path, tariff: Tariff | str = "payload") -> None:
    """Write the page, its figures, every number and what repeats the sweep into a folder."""
    tariff = tariff_of(tariff)
    figures = gallery(swept, tariff)
    for old in (path for part in _DRAWN for path in folder.glob(part)):
        old.unlink()  # figures of an earlier sweep over other keys
    lines = best_lines(swept, tariff)
    write_page(
        folder / "report.html",
        figures,
        lambda drawings: build(swept, drawings, lines),
        [("best", best_in_files(swept, lines, tariff))],
        _files(swept),
    )
    swept.to_csv(folder / "points.csv", tariff)
    for name, (_, figure) in figures.items():
        save(figure, folder / f"{name}.pdf")


def gallery(swept: Swept, tariff: Tariff) -> Mapping[str, tuple[str, Figure]]:
    """Return the figures by file name, each with its caption."""
    keys = [key for key in swept.keys if len(swept.values(key)) > 1]
    others = "; all other keys have the values that are best" if swept.is_grid else ""
    told = others if len(keys) > 1 else ""
    shown = {
        _file("against", key): (f"Error against {key}{told}.", against(swept, key)) for key in keys
    }
    for across, down in combinations(keys, 2):
        figure = over_two(swept, across, down)
        if figure is not None:
            framed = "; the best cell has a frame" if swept.is_grid else ""
            caption = f"Error over {across} and {down}{others if len(keys) > 2 else ''}{framed}."
            shown[_file("map", across, down)] = caption, figure
    shown["bytes"] = (
        "Error against what fleet and server send in a run, all points.",
        against_bytes(swept, tariff),
    )
    return shown


def _file(*parts: str) -> str:
    return "-".join(part.replace(".", "-") for part in parts)


def build(swept: Swept, drawings: Mapping[str, tuple[str, str]], lines: list[BestLine]) -> str:
    """Write the page; drawings come as name -> (caption, SVG)."""
    about = swept.provenance
    return page(
        "sweep.html.j2",
        title=f"{about['scenario']['name']}: {', '.join(swept.keys)}",
        about=about,
        unfinished=unfinished(swept),
        lead=lead_words(swept, lines),
        figures=[*drawn(drawings).values()],
        conditions=_conditions(swept),
        sentences=sentences(swept, lines),
        best=best_table(swept, lines) if lines else "",
        flattered=FLATTERED,
        all_drawn=not swept.is_grid or len(swept.cases()) <= MOST_PANELS,
        command=_command(about),
        files=_files(swept),
    )


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


def _files(swept: Swept) -> dict[str, str]:
    """Return what `paofed sweep` takes to run a sweep again; nothing for worlds of a function."""
    about = swept.provenance
    if about["scenario"].get("kind") == "worlds":  # which a function made, and no file holds
        return {}
    return {
        "sweep.toml": sweep_toml(about, "scenario.toml"),
        "scenario.toml": scenario_toml(about["scenario"]),
    }


def _command(about: Mapping[str, Any]) -> str:
    """Return the command that runs a sweep again, beside its files."""
    words = ["paofed sweep sweep.toml"]
    words += [f"--precision {about['precision']}"] if about["precision"] != "float32" else []
    words += [f"--engine {about['engine']}"] if about["engine"] != "fast" else []
    return " ".join(words)
