from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from paofed.algorithms.setup import resolve
from paofed.core.tariffs import Tariff
from paofed.report.shared.figures import error_against_traffic, learning_curves, save
from paofed.report.shared.looks import method_name, styles
from paofed.simulate.montecarlo import run
from paofed.simulate.results.result import Result
from tests.effort import some
from tests.experiments.paper.test_claims import from_db, made_up
from tests.natures import small_scenario as scenario

NAMES = [
    "online-fedsgd", "online-fed:subset=0.2", "pso-fed:subset=0.2", "pao-fed-c0", "pao-fed-u0",
    "pao-fed-c1", "pao-fed-u1", "pao-fed-c2", "pao-fed-u2", "pao-fed-u1:shared=1",
    "pao-fed-u1:shared=32", "mine", "yours", "theirs",
]  # fmt: skip


def legend_of(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def title_of(figure: Figure) -> str:
    (axes,) = figure.axes
    return axes.get_title(loc="left")


def flat(
    finals_db: dict[str, float], runs: int = 1, steps: dict[str, float] | None = None
) -> Result:
    """Curves at a level each, a little apart from run to run, and their own step sizes."""
    apart = 0.01 * np.arange(runs)[:, None] + np.zeros((runs, 20))
    sent = dict.fromkeys(finals_db, np.arange(1, 21))
    result = made_up({name: from_db(db + apart) for name, db in finals_db.items()}, sent)
    described = [{"name": name, "step_size": (steps or {}).get(name)} for name in finals_db]
    world = {"name": "made-up", "step_size": 0.4, "kernel_width": 1.0, "ticks": 20, "stream": {}}
    about = {**result.provenance, "algorithms": described, "scenario": world}
    return replace(result, provenance=about)


def test_every_algorithm_looks_different() -> None:
    assert len(set(styles(NAMES).values())) == len(NAMES)


@pytest.mark.parametrize("runs", [1, 3])
def test_the_figure_shows_the_curves(runs: int) -> None:
    result = run(scenario(), ["pao-fed-u1", "online-fedsgd"], runs=runs)
    (axes,) = learning_curves(result).axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    for name in result.algorithms:
        x, y = np.asarray(lines[method_name(name)].get_xydata(), dtype=np.float64).T
        np.testing.assert_allclose(y, result.curve_db(name)[0])
        np.testing.assert_array_equal(x, result.ticks + 1)
    assert len(axes.collections) == (2 if runs > 1 else 0)  # 95 % bands
    assert "step size 0.4, kernel width 1.0" in axes.get_title(loc="left")
    best_last = sorted(result.algorithms, key=lambda name: -result.final(name).db)
    said = ["bands: 95 % intervals\nof the mean of 3 runs"] if runs > 1 else []
    assert legend_of(axes) == [*map(method_name, best_last), *said]


@pytest.mark.parametrize(
    ("tariff", "below"),
    [
        ("payload", "payload sent, up and down (MB)"),
        ("mqtt", "sent on the wire, up and down (MB): MQTT on TCP, stays connected"),
        (Tariff(name="of $5 a MB", up=7), r"sent on the wire, up and down (MB): of \$5 a MB"),
    ],
)
def test_the_error_stands_over_bytes_under_any_tariff(tariff: Tariff | str, below: str) -> None:
    result = run(scenario(), ["pao-fed-u1", "online-fedsgd"], runs=2)
    (axes,) = error_against_traffic(result, tariff=tariff).axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    for name in result.algorithms:
        line = lines[method_name(name)]
        x, y = np.asarray(line.get_xydata(), dtype=np.float64).T
        np.testing.assert_allclose(x, result.run_wire(name, tariff).both.mean(axis=0) / 1e6)
        np.testing.assert_allclose(y, result.curve_db(name)[0])
    assert axes.get_xlabel() == below


@pytest.mark.parametrize(
    ("identifier", "shown"),
    [
        ("pao-fed-u1", "PAO-Fed-U1"),
        ("online-fed:subset=0.02", "Online-Fed, subset 0.02"),
        ("fed-buff:buffer=5,step_size=0.2", "FedBuff, buffer 5, step size 0.2"),
        ("masked:shared=4", "masked:shared=4"),
        ("mine.py:pao_fed", "mine.py:pao_fed"),
    ],
)
def test_methods_are_called_by_their_names(identifier: str, shown: str) -> None:
    assert method_name(identifier) == shown


@pytest.mark.parametrize(
    ("draw", "leftwards"), [(learning_curves, False), (error_against_traffic, True)]
)
def test_an_arrow_says_where_it_is_better(
    draw: Callable[[Result], Figure], leftwards: bool
) -> None:
    """Down is less error; only over traffic is left better, too."""
    (axes,) = draw(flat({"mine": -3.0, "yours": -4.0})).axes
    (arrow,) = axes.texts
    assert isinstance(arrow, Annotation)
    assert arrow.get_text() == "better"
    (to_x, to_y), (from_x, from_y) = arrow.xy, arrow.get_position()
    assert to_y < from_y
    assert (to_x < from_x) == leftwards


def test_a_diverged_curve_ends_where_it_ends() -> None:
    wild = resolve("online-fedsgd:step_size=90")
    result = run(scenario(), [wild, "pao-fed-u1"])
    figure = learning_curves(result)
    line = next(x for x in figure.axes[0].get_lines() if x.get_label() == method_name(wild.name))
    assert len(np.asarray(line.get_xdata())) < len(result.ticks)


def test_drifts_are_marked_once_in_the_legend_and_last() -> None:
    result = run(scenario(stream={"drifts": (40, 90)}), ["pao-fed-u1", "online-fedsgd"])
    (axes,) = learning_curves(result).axes
    (marks,) = axes.collections
    assert isinstance(marks, LineCollection)
    assert [segment[:, 0].tolist() for segment in marks.get_segments()] == [[40, 40], [90, 90]]
    names = legend_of(axes)
    assert set(names[:-1]) == {"PAO-Fed-U1", "Online-FedSGD"}
    assert names[-1] == "target changes"
    assert not axes.patches


def test_a_gradual_drift_is_shaded_while_it_goes_on() -> None:
    result = run(scenario(stream={"drifts": (40, 90), "drift_ticks": 25}), ["pao-fed-u1"])
    (axes,) = learning_curves(result).axes
    spans = [patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches]
    assert [(span.x0, span.x1) for span in spans] == [
        (pytest.approx(40), pytest.approx(65)),
        (pytest.approx(90), pytest.approx(115)),
    ]
    assert legend_of(axes)[-1] == "target changes"


# What a figure says


@pytest.mark.parametrize("draw", [learning_curves, error_against_traffic])
def test_a_title_is_the_usual_one_or_mine_or_none(draw: Callable[..., Figure]) -> None:
    result = flat({"a": -3.0})
    assert title_of(draw(result)) == "made-up: 1 run, step size 0.4, kernel width 1.0"
    assert title_of(draw(result, title="mine")) == "mine"
    assert title_of(draw(result, title="")) == ""


@pytest.mark.parametrize(
    ("own", "said", "names"),
    [
        ({}, ", step size 0.4", ["a", "b:step_size=0.2"]),
        ({"a": 0.4, "b:step_size=0.2": 0.4}, ", step size 0.4", ["a", "b:step_size=0.2"]),
        ({"a": 0.1, "b:step_size=0.2": 0.1}, ", step size 0.1", ["a", "b:step_size=0.2"]),
        ({"b:step_size=0.2": 0.2}, ", step size 0.4 where none is named", ["a", "b:step_size=0.2"]),
        (
            {"a": 0.1},
            ", step size 0.4 where none is named",
            ["a, step size 0.1", "b:step_size=0.2"],
        ),
        ({"a": 0.1, "b:step_size=0.2": 0.2}, "", ["a, step size 0.1", "b:step_size=0.2"]),
    ],
)
def test_a_step_size_is_said_of_those_who_have_it(
    own: dict[str, float], said: str, names: list[str]
) -> None:
    figure = learning_curves(flat({"a": -3.0, "b:step_size=0.2": -4.0}, steps=own))
    assert title_of(figure) == f"made-up: 1 run{said}, kernel width 1.0"
    assert legend_of(figure.axes[0]) == names


@pytest.mark.parametrize(("runs", "quantile"), [(2, 12.706), (3, 4.303), (20, 2.093)])
def test_bands_are_students(runs: int, quantile: float) -> None:
    result = flat({"a": -3.0}, runs)
    (axes,) = learning_curves(result).axes
    (band,) = axes.collections
    db, error = result.curve_db("a")
    (path,) = band.get_paths()
    heights = np.asarray(path.vertices)[:, 1]
    assert heights.max() == pytest.approx((db + quantile * error)[0], abs=1e-3 * error[0])
    assert heights.min() == pytest.approx((db - quantile * error)[0], abs=1e-3 * error[0])


def test_the_bands_of_few_runs_do_not_flatten_the_curves() -> None:
    down = np.linspace(0, -3, 20)
    result = replace(flat({"a": 0.0}, 2), mse=made_up({"a": from_db([down, down - 15])}).mse)
    db, error = result.curve_db("a")
    assert np.ptp(db) < 0.1 * (12.7 * error.max())
    low, high = learning_curves(result).axes[0].get_ylim()
    assert low < db.min() < db.max() < high
    assert high - low < 3 * np.ptp(db)


# Many


def many(count: int, runs: int = 1) -> Result:
    return flat({f"row {k:02d}": -float((37 * k) % count) for k in range(count)}, runs)


@pytest.mark.parametrize("draw", [learning_curves, error_against_traffic])
def test_of_many_the_extremes_have_names(draw: Callable[..., Figure]) -> None:
    (axes,) = draw(many(12)).axes
    assert len(legend_of(axes)) == len(set(styles(legend_of(axes)).values())) == 12
    count, result = 13, many(13, runs=2)
    (axes,) = draw(result).axes
    *names, others, bands = legend_of(axes)
    order = sorted(result.algorithms, key=lambda name: -result.final(name).db)
    assert names == [*order[:5], *order[-5:]]
    assert others == f"{count - 10} others, between these"
    assert bands.startswith("bands: ")
    assert len(axes.get_lines()) == count
    assert sum(line.get_color() == "#BBBBBB" for line in axes.get_lines()) == count - 10
    assert len(axes.collections) == 10  # bands, of the named


def test_what_diverged_is_among_the_worst() -> None:
    result = many(20)
    mse = result.mse.copy()
    mse[:, 7] = np.inf
    mse[:, 8, 5:] = np.nan
    names = legend_of(learning_curves(replace(result, mse=mse)).axes[0])
    assert set(names[:2]) == {"row 07", "row 08"}


@pytest.mark.parametrize(("count", "letters"), [(12, 100), (90, 20)])
def test_the_axes_keep_their_room(count: int, letters: int) -> None:
    result = flat({f"{k:02d}{'x' * letters}": -float(k) for k in range(count)}, 2)
    figure = learning_curves(result)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    legend = axes.get_legend()
    assert legend is not None
    assert axes.get_window_extent().width > 4.4 * figure.dpi
    assert axes.get_window_extent().height > 3.5 * figure.dpi
    box, page = legend.get_window_extent(), figure.bbox
    assert page.x0 <= box.x0 < box.x1 <= page.x1
    assert page.y0 <= box.y0 < box.y1 <= page.y1


# Files


@pytest.mark.parametrize(
    ("kind", "refused", "taken"),
    some([("pdf", b"/Type3", b"/FontFile2"), ("eps", b"/FontType 3", b"/FontType 42")], everyday=1),
)
def test_letters_are_those_that_journals_take_and_no_time_is_told(
    kind: str, refused: bytes, taken: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / f"then.{kind}", tmp_path / f"now.{kind}"]
    for path, when in zip(files, ("1", "1000000000"), strict=True):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", when)  # what matplotlib takes for now
        save(learning_curves(flat({"a": -3.0})), path)
    then, now = (path.read_bytes() for path in files)
    if kind == "pdf":
        assert then == now
    assert refused not in now
    assert taken in now  # TrueType, embedded
    assert mpl.rcParams["pdf.fonttype"] == 3  # matplotlib's own: it was set for this file alone
