"""A comparison in few lines."""

import html
import re

import numpy as np

from lab.compare.page import build
from paofed.report.comparison.page import (
    digest,
    error_against_bytes,
    figures,
    found_in_order,
    in_short,
    summary,
)
from paofed.report.shared.figures import svg
from tests.lab.compare.test_judged import entry, judged_alone
from tests.page_tree import parse
from tests.report.sound import assert_sound

OURS = [-5.0, -6.0, -7.0]
FOUND = judged_alone(
    {
        "aso-fed": entry(same=(10.0, [np.nan, np.nan, np.nan])),
        "pao-fed-c": entry(-5.8, same=(91.0, [-4.9, -5.9, -6.9])),
        "pao-fed-u": entry(-6.1, same=(90.0, OURS)),
        "ace": entry(same=(80.0, [-6.0, -7.1, -7.9]), tenfold=(80.0, [-6.0, -7.1, -7.9])),
        "ca2fl": entry(same=(70.0, [-6.5, -7.6, -8.4])),
        "fed-at": entry(same=(95.0, [-4.0, -5.1, -5.9]), quarter=(3.0, [np.inf] * 3)),
    }
)


def test_a_line_for_every_budget_that_anything_sound_fits() -> None:
    same, tenfold = digest(FOUND)
    assert same.ours is not None
    assert (same.ours.entrant, same.best.entrant) == ("pao-fed-u", "ca2fl")
    assert same.ahead == ("ca2fl", "ace")
    assert (tenfold.ours, tenfold.best.entrant, tenfold.ahead) == (None, "ace", ())


def test_who_beats_pao_fed_is_counted_and_named() -> None:
    assert summary(FOUND) == (
        "In 2 of 4 comparisons at equal bytes something beats PAO-Fed clearly (3 worlds): "
        "ace in 1, ca2fl in 1."
    )
    none = [one for one in FOUND if one.entrant not in ("ace", "ca2fl")]
    assert summary(none).startswith("Nothing beats PAO-Fed clearly (3 worlds) in any of 2 ")


def test_the_best_comes_first_and_what_diverged_last() -> None:
    names = [one.entrant for one in found_in_order(FOUND) if one.purse.budget == "same"]
    assert names == ["ca2fl", "ace", "pao-fed-u", "pao-fed-c", "fed-at", "aso-fed"]


def test_in_short_every_line_is_there() -> None:
    text = in_short(FOUND, {"compare-1": ("caption", "<svg>drawing</svg>")})
    assert html.escape(summary(FOUND)) in text
    assert "drawing</svg>" in text
    assert text.count("<tr>") == 1 + len(digest(FOUND))
    assert "<code>word-70.0</code>" in text
    assert "none fits" in text


def test_it_has_what_all_pages_have_and_says_how_many_worlds_make_it_clear() -> None:
    drawings = {name: (said, svg(drawn, name)) for name, (said, drawn) in figures(FOUND).items()}
    page = parse(build(FOUND, drawings, "python -m lab compare --quick", "Worlds: 3."))
    assert_sound(page)
    text = page.text()
    assert text.count("clearly") == len(re.findall(r"clearly( better)? \(3 worlds\)", text)) >= 3


def test_names_of_leaders_lie_neither_over_each_other_nor_below_the_axes() -> None:
    """Twelve leaders, one close below the other, have a line each above the axis of bytes."""
    leaders = {f"e{k}": entry(same=(10.0 + k, [-5.0 - 0.15 * k] * 3)) for k in range(12)}
    found = judged_alone({"pao-fed-u": entry(same=(90.0, OURS)), **leaders})
    drawn = error_against_bytes(found, found[0].purse.tariff)
    drawn.canvas.draw()
    axes = drawn.axes[0]
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 12
    tops = [box.y1 for box in boxes]
    high = boxes[0].y1 - boxes[0].y0
    assert min(-np.diff(tops)) >= 0.9 * high
    assert all(box.x0 >= axes.get_window_extent().x0 for box in boxes)
