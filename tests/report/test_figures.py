from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from paofed.algorithms.spec import from_text
from paofed.report.figures import learning_curves, save, styles
from paofed.simulate.montecarlo import run
from tests.natures import small_scenario as scenario

NAMES = [
    "online-fedsgd", "online-fed:subset=0.2", "pso-fed:subset=0.2", "pao-fed-c0", "pao-fed-u0",
    "pao-fed-c1", "pao-fed-u1", "pao-fed-c2", "pao-fed-u2", "pao-fed-u1:shared=1",
    "pao-fed-u1:shared=32", "mine", "yours", "theirs",
]  # fmt: skip


def test_every_algorithm_looks_different() -> None:
    assert len(set(styles(NAMES).values())) == len(NAMES)


def test_an_algorithm_looks_the_same_in_any_company() -> None:
    assert styles(["pao-fed-u1"])["pao-fed-u1"] == styles(NAMES)["pao-fed-u1"]


@pytest.mark.parametrize("runs", [1, 3])
def test_the_figure_shows_the_curves(runs: int) -> None:
    result = run(scenario(), ["pao-fed-u1", "online-fedsgd"], runs=runs)
    (axes,) = learning_curves(result).axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    for name in result.algorithms:
        x, y = np.asarray(lines[name].get_xydata(), dtype=np.float64).T
        np.testing.assert_allclose(y, result.curve_db(name)[0])
        np.testing.assert_array_equal(x, result.ticks + 1)
    assert len(axes.collections) == (2 if runs > 1 else 0)  # 95 % bands
    assert "step size 0.4, kernel width 1.0" in axes.get_title(loc="left")
    legend = axes.get_legend()
    assert legend is not None
    best_last = sorted(result.algorithms, key=lambda name: -result.final(name).db)
    assert [text.get_text() for text in legend.get_texts()] == best_last


def test_a_diverged_curve_ends_where_it_ends(tmp_path: Path) -> None:
    wild = from_text("online-fedsgd:step_size=90")
    result = run(scenario(), [wild, "pao-fed-u1"])
    figure = learning_curves(result)
    line = next(x for x in figure.axes[0].get_lines() if x.get_label() == wild.name)
    assert len(np.asarray(line.get_xdata())) < len(result.ticks)
    save(figure, tmp_path / "wild.pdf")
    assert (tmp_path / "wild.pdf").read_bytes().startswith(b"%PDF")


def test_the_same_result_is_the_same_file(tmp_path: Path) -> None:
    result = run(scenario(), ["pao-fed-u1"], runs=2)
    for name in ("a.svg", "b.svg"):
        save(learning_curves(result), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "pao-fed-u1" in (tmp_path / "a.svg").read_text()  # text stays text


def test_drifts_are_marked_once_in_the_legend_and_last() -> None:
    result = run(scenario(stream={"drifts": (40, 90)}), ["pao-fed-u1", "online-fedsgd"])
    (axes,) = learning_curves(result).axes
    (marks,) = axes.collections
    assert isinstance(marks, LineCollection)
    assert [segment[:, 0].tolist() for segment in marks.get_segments()] == [[40, 40], [90, 90]]
    legend = axes.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert set(names[:-1]) == set(result.algorithms)
    assert names[-1] == "target changes"
