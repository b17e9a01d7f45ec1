"""The figures of a sweep: who is drawn where, and what is too far up to be drawn."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from paofed.core.tariffs import tariff_of
from paofed.experiments.sweep.axes import Span
from paofed.experiments.sweep.points import Point
from paofed.experiments.sweep.swept import Swept
from paofed.report.shared.looks import method_name
from paofed.report.sweep.figures import against, against_bytes
from paofed.report.sweep.maps import over_two
from tests.experiments.sweep.made import STEPS, bowl, swept_of

LOSSES = {**STEPS, "loss.up": (0.0, 0.1, 0.3)}


def lossy(point: Point) -> float:
    return bowl(point) + 5 * float(point.values["loss.up"])


BOWL = swept_of(bowl)
LOSSY = swept_of(lossy, LOSSES, conditions=["loss.up"])


def with_finals(swept: Swept, **dbs: float) -> Swept:
    """The same, but the points of these numbers have other errors."""
    finals = swept.finals.copy()
    for number, db in dbs.items():
        finals[int(number[1:])] = 10 ** (db / 10)
    return replace(swept, finals=finals)


def legend(axes: Axes) -> list[str]:
    found = axes.get_legend()
    assert found is not None
    return [text.get_text().replace("\n", " ") for text in found.get_texts()]


def frames(axes: Axes) -> list[tuple[float, float]]:
    return [p.get_xy() for p in axes.patches if isinstance(p, Rectangle) and not p.get_fill()]


def test_a_curve_for_every_method_with_its_band() -> None:
    figure = against(BOWL, "step_size")
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step_size", "squared error (mean dB)")
    lines = [line for line in axes.lines if np.size(line.get_xdata()) == 4]
    assert len(lines) == len(axes.collections) == 2
    for line, method in zip(lines, BOWL.methods, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [0.1, 0.2, 0.4, 0.8])
        curve = [one.score.mean for _, one in BOWL.curve("step_size", method)]
        np.testing.assert_array_equal(line.get_ydata(), curve)
    assert legend(axes) == [
        *map(method_name, BOWL.methods), "bands: 95 % intervals of the mean of 6 worlds",
    ]  # fmt: skip
    assert axes.get_xscale() == "linear"
    (axes,) = against(BOWL, "shared").axes
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "4", "16"]


def test_a_panel_for_each_case_but_not_for_the_key_itself() -> None:
    panels = against(LOSSY, "step_size").axes
    assert [axes.get_title(loc="left") for axes in panels] == [
        "loss.up=0.0", "loss.up=0.1", "loss.up=0.3",
    ]  # fmt: skip
    assert len(against(LOSSY, "loss.up").axes) == 1


def test_what_diverged_or_is_far_worse_is_marked_at_the_top() -> None:
    swept = with_finals(BOWL, **{f"p{i}": np.inf for i in range(6)}, p6=80.0, p8=80.0, p10=80.0)
    (axes,) = against(swept, "step_size").axes
    assert legend(axes)[-2:] == ["diverged", f"worse than {float(legend(axes)[-1].split()[2])} dB"]
    marks = {(str(line.get_marker()), float(np.atleast_1d(line.get_xdata())[0]))
             for line in axes.lines if np.size(line.get_xdata()) == 1}  # fmt: skip
    assert marks == {("x", 0.1), ("^", 0.2)}
    assert axes.get_ylim()[1] < 10
    (axes,) = against_bytes(swept, tariff_of("payload")).axes
    assert "diverged" in legend(axes)


def test_where_everything_diverged_there_is_still_a_figure() -> None:
    swept = replace(BOWL, finals=np.full_like(BOWL.finals, np.nan))
    for figure in (
        against(swept, "shared"),
        against_bytes(swept, tariff_of("payload")),
        over_two(swept, "step_size", "shared"),
    ):
        assert figure is not None
        assert np.isfinite(figure.axes[0].get_ylim()).all()


def test_a_map_has_numbers_and_a_frame_around_the_best() -> None:
    figure = over_two(with_finals(BOWL, p0=np.inf), "step_size", "shared")
    assert figure is not None
    one, other, bar = figure.axes
    assert [axes.get_title(loc="left") for axes in (one, other)] == [
        "PAO-Fed-U1", "PAO-Fed-C2",
    ]  # fmt: skip
    assert bar.get_ylabel() == "squared error (mean dB)"
    texts = [text.get_text() for text in one.texts]
    assert len(texts) == 12
    assert texts[0] == "diverged"
    assert frames(one) == frames(other) == [(1.5, 0.5)]


def test_nature_s_values_are_not_held_against_each_other() -> None:
    by_row, by_column = (
        over_two(LOSSY, *keys) for keys in (("shared", "loss.up"), ("loss.up", "shared"))
    )
    assert by_row is not None
    assert by_column is not None
    assert frames(by_row.axes[0]) == [(0.5, j - 0.5) for j in range(3)]
    assert frames(by_column.axes[0]) == [(i - 0.5, 0.5) for i in range(3)]


def test_a_method_without_a_key_is_a_level_line_and_in_no_map() -> None:
    axes = {"step_size": (0.1, 0.4), "shared": (1, 4)}
    whole = swept_of(lambda p: bowl(Point(p.method, {"shared": 16, **p.values})), axes)
    points = [
        {**one, "values": {"step_size": one["values"]["step_size"]}}
        if one["method"] == "pao-fed-c2" else one
        for one in whole.provenance["points"]
    ]  # fmt: skip
    kept = [0, 1, 2, 4, 5, 6]  # one of each
    arrays = {name: getattr(whole, name)[kept] for name in ("finals", "finished", "traffic")}
    about = {**whole.provenance, "points": [points[i] for i in kept]}
    swept = replace(whole, provenance=about, **arrays)
    assert [value for value, _ in swept.curve("shared", "pao-fed-c2")] == [None]
    (axes_,) = against(swept, "shared").axes
    level = [line for line in axes_.lines if list(np.atleast_1d(line.get_xdata())) == [0, 1]]
    assert len(level) == 1
    figure = over_two(swept, "step_size", "shared")
    assert figure is not None
    assert len(figure.axes) == 2  # one map and its colours


@pytest.mark.parametrize("key", ["step_size", "exchange"])
def test_a_random_design_has_a_mark_for_each_point(key: str) -> None:
    axes = {"step_size": Span(0.05, 1.6, "log"), "exchange": ("paper", "live")}
    swept = swept_of(lambda p: float(np.log2(p.values["step_size"] / 0.4) ** 2), axes)
    (panel,) = against(swept, key).axes
    marks = [line for line in panel.lines if line.get_marker() == "o"]
    assert [np.size(line.get_xdata()) for line in marks] == [20, 20]
    assert legend(panel)[-1].startswith("bars: 95 % intervals")
    figure = over_two(swept, "step_size", "exchange")
    assert figure is not None
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["paper", "live"]


def test_the_least_error_for_so_many_bytes_only_falls() -> None:
    (axes,) = against_bytes(BOWL, tariff_of("mqtt")).axes
    front = next(line for line in axes.lines if line.get_drawstyle() == "steps-post")
    errors = np.asarray(front.get_ydata(), dtype=float)
    assert (np.diff(errors) <= 0).all()
    assert errors[-1] == min(BOWL.score(point).score.mean for point in BOWL.points)
    assert "MQTT on TCP" in axes.get_xlabel()
