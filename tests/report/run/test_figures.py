"""Figures of a run over a table: what is drawn, what is named, and that it is always the same."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import matplotlib.dates as mdates
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paofed.report.run.figures import (
    against_traffic,
    by_device,
    newcomers_over_horizons,
    over_time,
)
from paofed.report.run.gains import newcomers, periods
from paofed.report.shared.figures import save, svg
from paofed.report.shared.looks import method_name
from paofed.simulate.results.progressive import Progressive, Whose
from paofed.simulate.results.table_result import TableResult
from tests.effort import long, some
from tests.report.runs import ALGORITHMS, over_table

ON_DEVICE = ["last value", "alone", "rls", "start", "start alone"]
AT_SERVER = ["central", "batch fourier", "batch linear"]
SHOWN = [method_name(name) for name in ALGORITHMS]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> TableResult:
    return over_table(tmp_path_factory.mktemp("figures"))


def lines_of(axes: Axes) -> dict[str, Line2D]:
    return {str(line.get_label()): line for line in axes.get_lines()}


def legend_of(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def ys(line: Line2D) -> list[float]:
    found: list[float] = np.asarray(line.get_ydata(), dtype=np.float64).tolist()
    return found


def x_labels(figure: Figure) -> list[str]:
    figure.draw_without_rendering()
    return [label.get_text() for label in figure.axes[-1].get_xticklabels()]


def y_labels(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def test_each_panel_has_its_models_and_their_baselines_beneath(result: TableResult) -> None:
    judged = result.progressive
    devices, server = over_time(result, judged).axes
    for axes, title, beside in (
        (devices, "the models on the devices", ON_DEVICE),
        (server, "the server's model", AT_SERVER),
    ):
        assert axes.get_title(loc="left") == title
        assert axes.get_ylabel() == "error (dB)"
        lines = lines_of(axes)
        assert list(lines) == legend_of(axes) == [*beside, *SHOWN]
        lowest = min(lines[name].get_zorder() for name in SHOWN)
        assert all(lines[name].get_zorder() < lowest for name in beside)
        whose: Whose = "device" if axes is devices else "server"
        for name, shown in zip(ALGORITHMS, SHOWN, strict=True):
            assert ys(lines[shown]) == periods(result, judged, name, whose)[1].tolist()
        for name in beside:
            assert ys(lines[name]) == periods(result, judged, name, "baseline")[1].tolist()


def test_errors_stand_over_the_bytes_sent_until_then(result: TableResult) -> None:
    judged = result.progressive
    figure = against_traffic(result, judged, "coap")
    panels: dict[Whose, Axes] = dict(zip(("device", "server"), figure.axes, strict=True))
    for whose, axes in panels.items():
        lines = lines_of(axes)
        assert list(lines) == legend_of(axes) == SHOWN
        for name, line in zip(ALGORITHMS, lines.values(), strict=True):
            sent = result.run_wire(name, "coap").both.mean(axis=0) / 1e6
            np.testing.assert_array_equal(np.asarray(line.get_xdata()), sent)
            assert ys(line) == judged.until_db(name, whose).tolist()
    assert figure.axes[-1].get_xlabel().endswith("(MB): CoAP on UDP, acknowledged")


def test_the_axis_has_dates(result: TableResult) -> None:
    figure = over_time(result, result.progressive)
    labels = x_labels(figure)
    assert "05 May" in labels
    assert figure.axes[-1].xaxis.get_major_formatter().get_offset() == "2024"
    (ends, *_) = np.asarray(lines_of(figure.axes[0])["PAO-Fed-U1"].get_xdata())
    assert mdates.num2date(mdates.date2num(ends)) == datetime(2024, 5, 2, 10, tzinfo=UTC)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("days", "expected", "year"),
    some(
        [
            (1, "06:00", "01 May 2024"),
            (20, "09 May", "2024"),
            (400, "2025", ""),
            (4000, "2030", ""),
        ],
        everyday=2,
    ),
)
def test_dates_say_where_they_stand(
    days: int, expected: str, year: str, result: TableResult
) -> None:
    about = result.provenance["table"]
    tick = days * 86_400 / int(result.ticks[-1] + 1)
    begin = datetime(2024, 5, 1, tzinfo=UTC).timestamp()
    provenance = {**result.provenance, "table": {**about, "tick": tick, "begin": begin}}
    stretched = replace(result, provenance=provenance)
    figure = over_time(stretched, result.progressive)
    if days == 1:  # one period; as if there were two
        figure.axes[-1].set_xlim(19_844.1, 19_844.9)
    assert expected in x_labels(figure)
    assert figure.axes[-1].xaxis.get_major_formatter().get_offset() == year


def test_times_that_are_plain_numbers(result: TableResult) -> None:
    about = {**result.provenance["table"], "calendar": False, "begin": 5.0, "tick": 1.0}
    numbered = replace(result, provenance={**result.provenance, "table": about})
    figure = over_time(numbered, numbered.progressive)
    assert figure.axes[-1].get_xlabel() == "time"
    x = np.asarray(lines_of(figure.axes[0])["PAO-Fed-U1"].get_xdata(), dtype=np.float64)
    assert x[-1] == 5.0 + result.ticks[-1] + 1


def test_by_device_the_best_is_on_top(result: TableResult) -> None:
    judged = result.progressive
    (axes,) = by_device(result, judged, ["pao-fed-u1", "online-fedsgd"]).axes
    errors = judged.by_device_db("pao-fed-u1", "device")
    upwards = np.argsort(-errors)
    assert y_labels(axes) == judged.devices[upwards].tolist()
    models = [f"{name}, {whose}" for name in ("PAO-Fed-U1", "Online-FedSGD")
              for whose in ("device", "server")]  # fmt: skip
    assert legend_of(axes) == [*ON_DEVICE, *AT_SERVER, *models]
    lines = lines_of(axes)
    x = np.asarray(lines["PAO-Fed-U1, device"].get_xdata(), dtype=np.float64)
    assert x.tolist() == errors[upwards].tolist()
    assert ys(lines["PAO-Fed-U1, device"]) == [0, 1, 2]
    assert lines["PAO-Fed-U1, device"].get_markerfacecolor() != "none"
    assert lines["PAO-Fed-U1, server"].get_markerfacecolor() == "none"


def test_a_device_without_samples_is_at_the_bottom(result: TableResult) -> None:
    judged = result.progressive
    samples = judged.device_samples.copy()
    samples[1] = 0
    errors = judged.device_errors.copy()
    errors[:, :, 1] = 0.0
    silent = replace(judged, device_samples=samples, device_errors=errors)
    (axes,) = by_device(result, silent, ["pao-fed-u1"]).axes
    assert y_labels(axes)[0] == "d1"


def with_devices(judged: Progressive, names: Iterable[str]) -> Progressive:
    devices = np.array(list(names))
    pick = np.arange(devices.size) % judged.devices.size
    return replace(
        judged,
        devices=devices,
        device_errors=judged.device_errors[:, :, pick],
        device_samples=judged.device_samples[pick],
    )


def spread(judged: Progressive, count: int) -> Progressive:
    """As many devices, each a little worse than the one before; in no order."""
    many = with_devices(judged, map(str, range(count)))
    worse = 1.0 + (7919 * np.arange(count)) % count
    errors = np.broadcast_to(worse * many.device_samples, many.device_errors.shape)
    return replace(many, device_errors=errors.copy())


def test_of_many_devices_the_best_and_the_worst_have_a_row_and_all_a_share(
    result: TableResult,
) -> None:
    judged = spread(result.progressive, 655)
    figure = by_device(result, judged, ["pao-fed-u1"])
    shares, axes = figure.axes
    upwards = judged.devices[np.argsort(-judged.by_device_db("pao-fed-u1", "device"))].tolist()
    assert y_labels(axes) == [*upwards[:10], *upwards[-10:]]
    assert [text.get_text() for text in axes.texts] == ["635 others"]
    assert axes.get_title(loc="left") == "the 10 best and the 10 worst by PAO-Fed-U1 on the device"
    for line in axes.get_lines():
        assert len(ys(line)) == 20
    assert max(figure.get_size_inches()) < 10
    assert shares.get_title(loc="left") == "how many of 655 devices have at most this error (%)"
    models = ["PAO-Fed-U1, device", "PAO-Fed-U1, server"]
    assert legend_of(shares) == [*ON_DEVICE, *AT_SERVER, *models]
    error, share = np.asarray(lines_of(shares)["PAO-Fed-U1, device"].get_xydata()).T
    all_of_them = judged.by_device_db("pao-fed-u1", "device")
    assert len(error) <= 101  # however many devices there are
    for most, percent in zip(error, share, strict=True):
        assert 100 * (all_of_them <= most).mean() == pytest.approx(percent)
    assert share[-1] == 100


def test_a_model_that_diverged_on_some_devices_ends_below_all(result: TableResult) -> None:
    judged = spread(result.progressive, 100)
    errors = judged.device_errors.copy()
    errors[:, :, 40:60] = np.nan
    axes, extremes = by_device(result, replace(judged, device_errors=errors), ["pao-fed-u1"]).axes
    error, share = np.asarray(lines_of(axes)["PAO-Fed-U1, device"].get_xydata()).T
    assert share[np.isfinite(error)].max() == 80
    assert {int(name) for name in y_labels(extremes)[:10]} <= set(range(40, 60))


@pytest.mark.parametrize(("silent", "rows"), [(20, 40), (19, 20)])
def test_of_many_devices_those_without_samples_do_not_count(
    result: TableResult, silent: int, rows: int
) -> None:
    judged = spread(result.progressive, 60)
    samples = judged.device_samples.copy()
    samples[:silent] = 0
    (*above, axes) = by_device(result, replace(judged, device_samples=samples), ["pao-fed-u1"]).axes
    assert len(y_labels(axes)) == rows
    assert all(int(name) >= silent for name in y_labels(axes))
    titles = [axes.get_title(loc="left") for axes in above]
    assert titles == ([] if rows == 40 else ["how many of 41 devices have at most this error (%)"])


def test_a_legend_of_many_algorithms_names_the_extremes(tmp_path: Path) -> None:
    steps = [f"pao-fed-u1:step_size={0.02 * k:.2f}" for k in range(1, 16)]
    many = over_table(tmp_path, methods=steps, hours=60, runs=1, cold_starts=1)
    judged, cold = many.progressive, many.cold_start
    assert cold is not None
    models: tuple[Whose, ...] = ("device", "server")
    for axes, whose in zip(over_time(many, judged).axes, models, strict=True):
        order = sorted(steps, key=lambda name: judged.final(name, whose).db)
        *_, others = legend_of(axes)
        assert set(legend_of(axes)) >= {method_name(name) for name in (*order[:5], *order[-5:])}
        assert others == "5 others, between these"
        assert not set(legend_of(axes)) & {method_name(name) for name in order[5:-5]}
    figure = newcomers_over_horizons(many, cold)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()][-1] == "5 others, between these"
    assert all(len(axes.get_lines()) == 2 + 15 for axes in figure.axes)


def test_algorithms_with_steps_of_their_own_say_so(result: TableResult) -> None:
    described = [{**d, "step_size": 0.1} for d in result.provenance["algorithms"]]
    own = replace(result, provenance={**result.provenance, "algorithms": described})
    judged, cold = result.progressive, result.cold_start
    assert cold is not None
    said = [f"{name}, step size 0.1" for name in SHOWN]
    # The baselines have the scenario's.
    for figure in (over_time(own, judged), newcomers_over_horizons(own, cold)):
        assert "step size 0.4 where none is named" in figure.get_suptitle()
    (axes, _) = over_time(own, judged).axes
    assert legend_of(axes)[-2:] == said
    (axes,) = by_device(own, judged, ["pao-fed-u1"]).axes
    assert legend_of(axes)[-2:] == [f"{said[1]}, device", f"{said[1]}, server"]


def test_names_of_any_kind(result: TableResult, tmp_path: Path) -> None:
    names = ["$a$ and $\\frac{1", "东四", "x" * 50, "<b>&"]  # half a formula, another script
    judged = with_devices(result.progressive, names)
    scenario = {**result.provenance["scenario"], "name": "costs $5, or $\\oops$"}
    odd = replace(result, provenance={**result.provenance, "scenario": scenario})
    drawn = svg(by_device(odd, judged, ["pao-fed-u1"]), "by-device")
    for name in ("$a$ and $\\frac{1", "东四", "x" * 31 + "…", "&lt;b&gt;&amp;", "$5, or $\\oops$"):
        assert name in drawn
    assert "x" * 32 not in drawn
    cold = result.cold_start
    assert cold is not None
    figures = [
        by_device(odd, judged, ["pao-fed-u1"]),
        over_time(odd, judged),
        newcomers_over_horizons(odd, cold),
    ]
    for figure in some(figures, everyday=1):
        save(figure, tmp_path / "odd.png")


def test_newcomers_by_the_way_they_begin(result: TableResult) -> None:
    cold = result.cold_start
    assert cold is not None
    figure = newcomers_over_horizons(result, cold)
    whole, windows = figure.axes
    assert whole.get_title(loc="left") == "begins with the server's model"
    assert x_labels(figure) == ["first day", "first week"]
    (legend,) = figure.legends
    names = ["last value", "alone", *SHOWN]
    assert [text.get_text() for text in legend.get_texts()] == names
    for axes, way in ((whole, "whole"), (windows, "windows")):
        lines = lines_of(axes)
        assert list(lines) == names
        for found in newcomers(cold):
            if found.way == way:
                assert ys(lines[method_name(found.name)]) == list(found.errors)
        # Over one horizon a line is a point: every one must have a mark, and another one.
        assert len({lines[name].get_marker() for name in names[:3]}) == 3
        assert "" not in {line.get_marker() for line in lines.values()}


def test_before_the_baselines_were_judged(result: TableResult) -> None:
    judged = result.progressive
    own = replace(
        judged,
        learners=judged.learners[:4],
        errors=judged.errors[:, :4],
        device_errors=judged.device_errors[:, :4],
    )
    for axes in over_time(result, own).axes:
        assert list(lines_of(axes)) == SHOWN
    (axes,) = by_device(result, own, ["pao-fed-u1"]).axes
    assert list(lines_of(axes)) == ["PAO-Fed-U1, device", "PAO-Fed-U1, server"]


@long
def test_the_same_run_is_the_same_drawing(result: TableResult) -> None:
    judged, cold = result.progressive, result.cold_start
    assert cold is not None
    first, second = (
        [
            svg(over_time(result, judged), "over-time"),
            svg(by_device(result, judged, ["pao-fed-u1"]), "by-device"),
            svg(newcomers_over_horizons(result, cold), "newcomers"),
        ]
        for _ in range(2)
    )
    assert first == second
