"""Curves as a notebook asks for them: which, over what, with which bands, in whose axes."""

from collections.abc import Iterator
from inspect import signature
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from paofed import figures
from paofed.core.metrics import decibels
from paofed.errors import InputError
from paofed.report.shared.looks import method_name, styles
from paofed.simulate.results.result import Result
from tests.report.shared.test_figures import flat, legend_of


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


RESULT = flat({"online-fedsgd": -5.0, "pao-fed-u1": -3.0, "mine": -4.0}, runs=4)


def curve_of(axes: Axes, label: str) -> tuple[Any, Any]:
    (line,) = (line for line in axes.get_lines() if line.get_label() == label)
    x, y = np.asarray(line.get_xydata(), dtype=np.float64).T
    return x, y


def test_a_result_and_the_module_offer_the_same() -> None:
    own, public = (
        {name: one.default for name, one in signature(offered).parameters.items()}
        for offered in (Result.plot, figures.plot)
    )
    assert list(own)[1:] == list(public)[1:]
    assert list(own.values())[1:] == list(public.values())[1:]


def test_all_curves_in_the_order_in_which_they_end() -> None:
    axes = RESULT.plot()
    for name in RESULT.algorithms:
        x, y = curve_of(axes, method_name(name))
        np.testing.assert_array_equal(x, RESULT.ticks + 1)
        np.testing.assert_allclose(y, RESULT.curve_db(name)[0])
    assert legend_of(axes) == ["PAO-Fed-U1", "mine", "Online-FedSGD", "95 % interval"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("tick", "mean squared error (dB)")
    assert axes.get_xlim() == (0, 20)


def test_some_in_the_order_asked_for_with_labels_and_colours() -> None:
    labels, colours = {"mine": "$m$"}, {"mine": "#123456"}
    axes = RESULT.plot(["mine", "online-fedsgd"], labels=labels, colours=colours, bands=None)
    assert legend_of(axes) == ["$m$", "Online-FedSGD"]
    drawn = {line.get_label(): line.get_color() for line in axes.get_lines()}
    assert drawn == {
        "$m$": "#123456",
        "Online-FedSGD": styles(["online-fedsgd"])["online-fedsgd"].colour,
    }
    assert legend_of(RESULT.plot("mine", bands=None)) == ["mine"]


def test_given_axes_are_drawn_into_and_keep_their_own() -> None:
    with mpl.rc_context({"axes.grid": False}):
        figure, axes = plt.subplots()
    assert RESULT.plot("mine", axes=axes, bands=None, labels={"mine": "first"}) is axes
    axes.set_xlim(0, 50)
    assert flat({"mine": -2.0}).plot("mine", axes=axes, labels={"mine": "second"}) is axes
    assert figure.axes == [axes]
    assert legend_of(axes) == ["first", "second"]
    assert axes.get_xlim() == (0, 50)


@pytest.mark.parametrize(("fleet", "scale", "label"), [
    (8, 1.0, "samples seen by the fleet"),
    (80_000, 1e3, "samples seen by the fleet (thousands)"),
])  # fmt: skip
def test_over_samples(fleet: int, scale: float, label: str) -> None:
    result = flat({"mine": -2.0})
    result.provenance["scenario"].update(clients=fleet, stream={"samples": [5, 15]})
    axes = result.plot(x="samples")
    assert axes.get_xlabel() == label
    x, _ = curve_of(axes, "mine")
    np.testing.assert_allclose(x * scale, (result.ticks + 1) * fleet * 10 / 20)


def test_over_bytes_of_any_tariff() -> None:
    for tariff in ("payload", "mqtt"):
        axes = RESULT.plot(x="bytes", tariff=tariff)
        x, _ = curve_of(axes, "mine")
        sent = RESULT.run_wire("mine", tariff).both.mean(axis=0)
        scale = {"(B)": 1.0, "(kB)": 1e3}[axes.get_xlabel().split()[-1]]
        np.testing.assert_allclose(x * scale, sent)
        assert axes.get_xscale() == "log"
        assert ("mqtt" in axes.get_xlabel()) == (tariff == "mqtt")


@pytest.mark.parametrize(("bands", "said"), [
    ("interval", "95 % interval"),
    ("standard error", "standard error"),
    ((10, 90), "10th to 90th percentile"),
    ([10, 90], "10th to 90th percentile"),
])  # fmt: skip
def test_bands_are_what_they_are_said_to_be(bands: Any, said: str) -> None:
    axes = RESULT.plot("mine", bands=bands)
    (band,) = axes.collections
    heights = np.asarray(band.get_paths()[0].vertices)[:, 1]
    db, error = (part[0] for part in RESULT.curve_db("mine"))
    if not isinstance(bands, str):
        low, high = np.percentile(decibels(RESULT.run_curves("mine")[:, 0]), bands)
    else:
        half = error * (3.182 if bands == "interval" else 1.0)
        low, high = db - half, db + half
    assert (heights.min(), heights.max()) == (pytest.approx(low), pytest.approx(high))
    assert legend_of(axes)[-1] == said
    assert legend_of(flat({"mine": -2.0}).plot(bands=bands)) == ["mine"]  # one run has none


@pytest.mark.parametrize(("asked", "told"), [
    ({"names": ["yours"]}, "unknown algorithm 'yours'"),
    ({"names": []}, "names is empty: expected at least one algorithm"),
    ({"x": "time"}, "unknown x 'time'"),
    ({"bands": "wide"}, "unknown bands 'wide'"),
    ({"bands": (90, 10)}, r"bands is \(90, 10\): expected two rising percentiles"),
    ({"bands": ("a", "b")}, "expected two rising percentiles"),
    ({"bands": 5}, "bands is 5: expected two rising percentiles"),
    ({"labels": {"yours": "a"}}, "a label is for no curve: unknown algorithm 'yours'"),
    ({"colours": {"mine": "blurple"}}, "the colour of mine is 'blurple': expected one of"),
    ({"column": "triple"}, "unknown column 'triple'"),
    ({"whose": "device"}, "whose is 'device': expected 'server'"),
    ({"x": "samples"}, "not known of worlds of one's own"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_one_line(asked: dict[str, Any], told: str) -> None:
    result = flat({"mine": -2.0})
    result.provenance["scenario"].update(clients=2, stream={})
    with pytest.raises(InputError, match=told):
        result.plot(**asked)
    assert plt.get_fignums() == []


@pytest.mark.parametrize(("column", "width"), [("single", 3.5), ("double", 7.16)])
def test_a_column_is_as_wide_as_it_is(column: Any, width: float) -> None:
    figure = RESULT.plot(column=column).figure
    assert figure.get_size_inches()[0] == pytest.approx(width)
    figure.canvas.draw()  # outside the style, as a notebook does
    (axes,) = figure.axes
    sizes = {text.get_fontsize() for text in axes.get_xticklabels() + axes.get_yticklabels()}
    assert sizes == {7.0}
    assert mpl.rcParams["font.size"] == 10.0


# Several results


def test_results_stand_side_by_side_under_one_legend() -> None:
    two = {"calm": RESULT, "$5 storm": flat({"pao-fed-u1": -1.0, "other": -2.0}, runs=2)}
    figure = figures.side_by_side(two)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["calm", r"\$5 storm"]
    assert [len(axes.get_lines()) for axes in figure.axes] == [3, 2]
    assert [axes.get_legend() for axes in figure.axes] == [None, None]
    (legend,) = figure.legends
    names = ["Online-FedSGD", "PAO-Fed-U1", "mine", "95 % interval", "other"]
    assert [text.get_text() for text in legend.get_texts()] == names
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert len(figures.side_by_side({**two, "a": RESULT, "b": RESULT}, "pao-fed-u1").axes) == 6


def test_nothing_is_not_drawn_side_by_side() -> None:
    with pytest.raises(InputError, match="nothing to draw: expected at least one result"):
        figures.side_by_side({})
    two = {"calm": RESULT, "storm": flat({"other": -2.0})}
    with pytest.raises(InputError, match="calm has none of other: expected at least one"):
        figures.side_by_side(two, "other")
    wrong: list[dict[str, Any]] = [{"names": ["mine", "othre"]}, {"labels": {"othre": "a"}}]
    for asked in wrong:
        with pytest.raises(InputError, match="unknown algorithm 'othre': did you mean 'other'"):
            figures.side_by_side(two, **asked)
    with pytest.raises(InputError, match="unknown x 'time'"):
        figures.side_by_side({"calm": RESULT}, x="time")
    assert plt.get_fignums() == []


def test_an_algorithm_looks_the_same_in_all_panels_that_have_it() -> None:
    """The legend has its look once, so that another look in a panel would be another algorithm."""
    two = {"calm": flat({"first": -1.0, "mine": -2.0}), "storm": flat({"mine": -3.0})}
    for colours in (None, {"first": "red", "mine": "#123456"}):
        figure = figures.side_by_side(two, labels={"first": "one"}, colours=colours)
        looks = [
            {
                line.get_label(): (line.get_color(), line.get_linestyle())
                for line in axes.get_lines()
            }
            for axes in figure.axes
        ]
        assert looks[0].keys() == {"one", "mine"}
        assert looks[1] == {"mine": looks[0]["mine"]}
        if colours is not None:
            assert looks[0]["mine"][0] == "#123456"


# The style


def test_the_style_holds_inside_alone_and_takes_changes() -> None:
    before = dict(mpl.rcParams)
    with figures.style("single", font_family="STIXGeneral", xtick_major_size=2.0):
        assert mpl.rcParams["pdf.fonttype"] == 42
        assert mpl.rcParams["legend.fontsize"] == 7
        assert mpl.rcParams["font.family"] == ["STIXGeneral"]
        assert mpl.rcParams["xtick.major.size"] == 2.0
    assert dict(mpl.rcParams) == before
    with (
        pytest.raises(InputError, match="matplotlib has no rcParam 'font_sise'"),
        figures.style(font_sise=3),
    ):
        pass


def test_a_notebook_that_wakes_up_in_the_style_stays_awake() -> None:
    """The first figure of a notebook makes matplotlib interactive, wherever that happens."""
    assert not mpl.is_interactive()
    try:
        with figures.style():
            mpl.interactive(b=True)
        assert mpl.is_interactive()
    finally:
        mpl.interactive(b=False)


def test_the_style_file_is_one_of_matplotlib() -> None:
    with plt.style.context(figures.STYLE):
        assert mpl.rcParams["svg.fonttype"] == "none"


def test_a_notebook_shows_a_whole_figure() -> None:
    shown = figures.learning_curves(RESULT)._repr_png_()  # type: ignore[attr-defined]
    assert shown.startswith(b"\x89PNG")


def test_what_is_no_figure_is_not_saved(tmp_path: Any) -> None:
    with pytest.raises(InputError, match="is nothing that was drawn: expected a figure or axes"):
        figures.save(RESULT, tmp_path / "a.png")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"a\.docx is no figure's name: expected one that ends in"):
        figures.save(RESULT.plot(), tmp_path / "a.docx")
    assert list(tmp_path.iterdir()) == []
