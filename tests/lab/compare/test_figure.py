"""The figure of error against bytes: who leads is named, and everybody has a mark."""

import numpy as np

from paofed.report.comparison.page import figures, leaders
from tests.lab.compare.test_judged import entry, judged_alone

FOUND = judged_alone(
    {
        "pao-fed-u": entry(same=(4e6, [-5.0, -6.0, -7.0])),
        "ace": entry(same=(2e6, [-4.0, -4.0, -4.0]), tenfold=(8e6, [-8.0, -8.0, -8.1])),
        "fed-at": entry(same=(3e6, [-1.0, -1.0, -1.0])),
        "masked": entry(same=(9e6, [-8.0, -8.1, -8.1])),  # lower by less than a tenth of a dB
        "aso-fed": entry(same=(1e6, [np.nan, np.nan, np.nan])),
    }
)


def test_who_leads_lowers_the_error_noticeably() -> None:
    shown = [one for one in FOUND if one.entrant != "aso-fed"]
    assert [(one.entrant, one.bytes) for one in leaders(shown)] == [
        ("ace", 2e6),
        ("pao-fed-u", 4e6),
        ("ace", 8e6),
    ]


def test_leaders_are_named_and_all_have_marks() -> None:
    ((caption, figure),) = figures(FOUND).values()
    assert "left out" in caption
    panel, legend = figure.axes
    assert panel.get_title(loc="left") == "here"
    assert [text.get_text() for text in panel.texts] == ["ace", "pao-fed-u", "ace"]
    marks = {str(line.get_label()): np.size(line.get_xdata()) for line in panel.lines}
    assert marks == {
        "others": 2,
        "others that lead": 2,
        "pao-fed-u": 1,
        "pao-fed-c": 0,
        "least error for so many bytes": 4,
    }
    assert legend.get_legend() is not None


def test_what_is_far_worse_than_pao_fed_is_left_out() -> None:
    ((_, figure),) = figures(FOUND).values()
    low, high = figure.axes[0].get_ylim()
    assert low < -8.0
    assert -4.0 < high < -1.0
