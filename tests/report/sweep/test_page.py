"""A sweep's page: the best with its doubt, all numbers, and what runs it again."""

import csv
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from paofed.core.tariffs import tariff_of
from paofed.experiments.sweep.asked import load
from paofed.experiments.sweep.axes import Span
from paofed.experiments.sweep.points import Point
from paofed.report.shared.figures import svg
from paofed.report.sweep.page import build, gallery, write
from paofed.report.sweep.words import best_lines, sentences, unfinished
from tests.experiments.sweep.made import bowl, swept_of
from tests.page_tree import parse
from tests.report.sound import assert_sound
from tests.report.sweep.test_figures import LOSSY

PAYLOAD = tariff_of("payload")
BOWL = swept_of(bowl)


@pytest.fixture(scope="module")
def drawn() -> Mapping[str, tuple[str, Figure]]:
    return gallery(BOWL, PAYLOAD)


def test_over_a_table_the_words_say_what_intervals_leave_out() -> None:
    scenario = {**BOWL.provenance["scenario"], "stream": {"kind": "table"}}
    finals = BOWL.finals[..., ::-1]  # of the devices' models
    table = replace(BOWL, provenance={**BOWL.provenance, "scenario": scenario}, finals=finals)
    for swept, told in ((table, True), (BOWL, False)):
        found = list(sentences(swept, best_lines(swept, PAYLOAD)))
        assert ("not what other readings would do" in found[-1]) is told


@pytest.mark.usefixtures("undrawn")
def test_everything_is_written_and_can_be_run_again(tmp_path: Path) -> None:
    (tmp_path / "map-other-keys.svg").write_text("of an earlier sweep")
    write(LOSSY, tmp_path, "mqtt")
    names = ["against-loss-up", "against-shared", "against-step_size", "bytes",
             "map-shared-loss-up", "map-step_size-loss-up", "map-step_size-shared"]  # fmt: skip
    files = [f"{name}.{ending}" for name in names for ending in ("pdf", "png", "svg")]
    files += ["best.csv", "points.csv", "report.html", "scenario.toml", "sweep.toml"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)
    page = (tmp_path / "report.html").read_text()
    assert page.count("<figure>") == len(names)
    assert "paofed sweep sweep.toml" in page
    assert "--fresh N" in page
    with (tmp_path / "best.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["method"], row["loss.up"], row["shared"]) for row in rows] == [
        (method, lost, "4") for lost in ("0.0", "0.1", "0.3") for method in LOSSY.methods
    ]
    assert {row["tariff"] for row in rows} == {"mqtt"}
    asked = load(tmp_path / "sweep.toml")
    assert sorted(map(str, asked.layout.points)) == sorted(map(str, LOSSY.points))


def test_the_best_is_told_with_its_doubt() -> None:
    (one, other) = sentences(BOWL, best_lines(BOWL, PAYLOAD))
    assert one.startswith("pao-fed-u1: step_size=0.4 shared=4, ")
    assert one.endswith("dB, the best of 12; all others are worse (95 %).")
    flat = swept_of(lambda _: -8.0, noise=0.3)
    (one, other) = sentences(flat, best_lines(flat, PAYLOAD))
    assert "; 11 others cannot be told from it (the nearest: " in one
    most = math.ceil(100 * flat.best("pao-fed-u1").at_most) / 100
    assert f"nothing tried is better by more than {most:.2f} dB (95 %)" in one
    point = BOWL.best("pao-fed-c2").point
    judged = BOWL.judged_again([point], np.full((1, 3, 2), 0.1))
    (one, other) = sentences(judged, best_lines(judged, PAYLOAD))
    assert other.endswith("; on 3 fresh worlds -10.00 ± 0.00 mean dB.")
    single = swept_of(bowl, worlds=1)
    (one, _) = sentences(single, best_lines(single, PAYLOAD))
    assert "one world says nothing of how sure that is" in one


def test_what_diverged_is_told() -> None:
    lost = replace(BOWL, finals=np.full_like(BOWL.finals, np.inf))
    lines = best_lines(lost, PAYLOAD)
    assert next(iter(sentences(lost, lines))) == "pao-fed-u1: all of 12 points diverged."
    assert "diverged" in build(lost, {}, lines)


def test_a_part_of_a_sweep_is_a_page_too(drawn: Mapping[str, tuple[str, Figure]]) -> None:
    finished = BOWL.finished.copy()
    finished[10:] = False
    finished[9, 3:] = False
    part = replace(BOWL, finished=finished)
    told = unfinished(part)
    assert told.startswith(
        "Not finished: 9 of 24 points were run in all of 6 worlds, 1 more in some"
    )
    assert told in build(part, {}, best_lines(part, PAYLOAD))
    assert set(gallery(part, PAYLOAD)) == set(drawn)
    assert unfinished(BOWL) == ""


def test_nothing_is_best_where_nature_was_drawn() -> None:
    axes = {"step_size": Span(0.1, 1.6, "log"), "loss.up": Span(0.0, 0.5, "linear")}

    def truth(point: Point) -> float:
        return float(np.log2(point.values["step_size"] / 0.4) ** 2 + 3 * point.values["loss.up"])

    swept = swept_of(truth, axes, conditions=["loss.up"])
    assert best_lines(swept, PAYLOAD) == []
    (told,) = sentences(swept, [])
    assert told.startswith(
        "Nothing is called the best: no two points met the same conditions (loss.up)"
    )
    assert "Nothing is called the best" in build(swept, {}, [])
    assert set(gallery(swept, PAYLOAD)) == {
        "against-step_size", "against-loss-up", "map-step_size-loss-up", "bytes",
    }  # fmt: skip


def test_it_has_what_all_pages_have(drawn: Mapping[str, tuple[str, Figure]]) -> None:
    drawings = {name: (said, svg(figure, name)) for name, (said, figure) in drawn.items()}
    lines = best_lines(BOWL, PAYLOAD)
    page = parse(build(BOWL, drawings, lines))
    assert_sound(page)
    lead = next(p for p in page.all("p") if p.attributes.get("class") == "lead").text()
    best = min(lines, key=lambda line: line.best.found.score.mean)
    assert lead.startswith(f"{best.method}: ")
