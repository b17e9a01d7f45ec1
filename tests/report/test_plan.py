"""A plan to look at: what is on the page and in the figure."""

from dataclasses import replace

import pytest

from paofed.algorithms.setup import Setup
from paofed.experiments.plan.field import Candidate
from paofed.report.plan import CAPTION, build, front
from paofed.report.shared.figures import svg
from tests.experiments.plan.plans import a_plan, small_fleet
from tests.page_tree import parse
from tests.report.sound import assert_sound

WORDS = ("pao-fed-u1:shared=1,exchange=live", "pao-fed-u2:shared=4,step_size=0.4,exchange=live")
FLEET = small_fleet(name="a <b> & $c", step_size=0.3)
PLAN = a_plan(FLEET, *(Candidate(Setup.of(word), 0.5) for word in WORDS))


def test_the_page_says_everything_once_escaped() -> None:
    page = build(PLAN, (CAPTION, svg(front(PLAN), "plan")), "paofed plan 'a <b>'")
    assert_sound(parse(page))
    assert "a &lt;b&gt; &amp; $c" in page
    assert "<b>" not in page
    page = page.replace("<wbr>", "")
    for word in WORDS:
        assert word in page
    assert "paofed fleet init FLEET" in page
    assert "0.13" in page  # the doubt, rounded up
    assert "0.50 ± 0.10 dB worse than pao-fed-u1" in page


@pytest.mark.parametrize("target", [None, -0.5])
def test_the_figure_has_the_front_and_what_was_tried(target: float | None) -> None:
    scenario = small_fleet(name="$money")
    drawn = front(
        a_plan(scenario, *(Candidate(Setup.of(word), 0.5) for word in WORDS), target=target)
    )
    (axes,) = drawn.axes
    legend = axes.get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    assert {"chosen", "best for its budget", "2kB/day/device"} <= set(texts)
    assert ("-0.5 dB" in texts) == (target is not None)
    marks = {tuple(line.get_xdata()): line.get_ydata()[0] for line in axes.containers[-1][:1]}
    assert list(marks) == [(pytest.approx(0.9 * 2 * 24),)]  # bytes a day, in ticks of an hour
    low, high = axes.get_ylim()
    assert low < -1.3
    assert high > 0.3
    assert "<svg" in svg(drawn, "plan")


def test_what_is_said_in_words() -> None:
    said = str(PLAN)
    assert (
        "6 contacts/day of a device (50% of those there can be): -1.00 ± 0.30 mean dB for 43 B/day"
        in said
    )
    assert "nothing tried within that budget is better by more than 0.13 dB (95 %)" in said
    assert "its step size is the largest that was tried" in said
    larger = replace(PLAN, scenario=small_fleet(step_size=0.5))  # that of words without their own
    assert "its step size is the largest" not in str(larger)
    dear = replace(PLAN, chosen=replace(PLAN.chosen, spends=1.01 * PLAN.chosen.most))
    assert "it spends more than 48 B/day/device in the fresh worlds" in str(dear)
    assert "it spends more than" not in said
    assert "with `exchange=paper` it would be 0.10 ± 0.10 dB better" in said
