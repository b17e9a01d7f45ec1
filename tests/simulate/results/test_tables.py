"""A result as tidy tables, in a few words, and as a notebook shows it."""

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.errors import InputError
from paofed.simulate.montecarlo import run
from paofed.simulate.results.runs import SENT_COLUMNS
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.results.tables import TableOf
from tests.effort import long
from tests.report.shared.test_figures import flat, many
from tests.world.table.tables import fleet, hourly, table, write

_FLAT = flat({"online-fedsgd": -5.0, "pao-fed-u1": -3.0}, runs=3)
_RUNS = {"same_world": False, "runs_finished": [0, 1, 2]}
RESULT = replace(_FLAT, provenance={**_FLAT.provenance, **_RUNS})


@pytest.fixture(scope="module")
def over_table(tmp_path_factory: pytest.TempPathFactory) -> TableResult:
    path = tmp_path_factory.mktemp("table") / "t.csv"
    write(path, hourly(3, 48))
    asked: dict[str, Any] = {"runs": 2, "engine": "reference", "workers": 1}
    return TableResult.of(run(fleet(table(path)), ["pao-fed-u1"], **asked))


def test_curves_runs_and_finals_are_those_of_the_result() -> None:
    curves, runs, finals = (RESULT.to_pandas(of, "mqtt") for of in ("curves", "runs", "finals"))
    for name in RESULT.algorithms:
        mine = curves[curves.algorithm == name]
        np.testing.assert_array_equal(mine.tick, RESULT.ticks)
        np.testing.assert_array_equal(mine.db, RESULT.curve_db(name)[0])
        np.testing.assert_array_equal(mine.wire_up, RESULT.run_wire(name, "mqtt").up.mean(axis=0))
        np.testing.assert_array_equal(runs[runs.algorithm == name].mse, RESULT.run_finals(name))
        (row,) = finals[finals.algorithm == name].itertuples()
        assert (row.db, row.db_se) == RESULT.final(name)
        assert row.sent_up == RESULT.sent(name)[0]
    assert list(zip(runs.world, runs.run, strict=True))[:3] == RESULT.places
    for one in (curves, runs, finals):
        assert set(SENT_COLUMNS) < set(one.columns)
        assert set(one.tariff) == {"mqtt"}


@pytest.mark.parametrize("of", ["curves", "run_curves", "runs", "finals"])
def test_polars_pandas_and_csv_say_the_same(
    of: TableOf, over_table: TableResult, tmp_path: Path
) -> None:
    import pandas as pd

    for result in (RESULT, over_table):
        framed = result.to_pandas(of)
        pd.testing.assert_frame_equal(
            pd.DataFrame(result.to_polars(of).to_dict(as_series=False)), framed
        )
        result.to_csv(tmp_path / "t.csv", of=of)
        pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "t.csv"), framed, check_dtype=False)


def test_over_a_table_the_devices_are_in_it(over_table: TableResult) -> None:
    (row,) = over_table.to_polars("finals").to_dicts()
    assert (row["device_db"], row["device_db_se"]) == over_table.final("pao-fed-u1", "device")
    assert over_table.to_polars("runs")["device_mse"].to_list() == pytest.approx(
        over_table.run_finals("pao-fed-u1", "device")
    )
    assert over_table.samples_seen[-1] == over_table.progressive.samples.sum()


@pytest.mark.parametrize(
    ("package", "extra"), [("polars", "table"), ("pandas", "pandas"), ("xarray", "xarray")]
)
def test_a_missing_package_is_one_sentence(
    package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    expected = (
        f"to_{package} needs {package}, which is not installed: pip install 'paofed.{extra}.'"
    )
    with pytest.raises(InputError, match=expected):
        getattr(RESULT, f"to_{package}")()


@long
def test_so_is_matplotlib_where_nothing_else_needs_it() -> None:
    """Neither a result at a prompt nor its table in a notebook waits for matplotlib."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import paofed\n"
        "from tests.simulate.results.test_result import TWO_RUNS as result\n"
        "assert result._repr_html_() and repr(result)\n"
        "try:\n"
        "    result.plot()\n"
        "except paofed.PaofedError as error:\n"
        "    print(error)"
    )
    done = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    expected = (
        r"Result\.plot needs matplotlib.*, which is not installed: pip install 'paofed.sim.'\n"
    )
    assert re.fullmatch(expected, done.stdout), done.stderr


# In words


def test_a_prompt_shows_a_few_lines() -> None:
    assert repr(RESULT) == (
        "Result of made-up: 3 runs of 2 algorithms over 20 ticks\n"
        "  online-fedsgd  -4.99 dB (s.e. 0.01)  80 B\n"
        "  pao-fed-u1     -2.99 dB (s.e. 0.01)  80 B"
    )
    lines = repr(many(40)).splitlines()
    assert len(lines) == 9
    assert lines[-1] == "  and 33 more"
    assert "diverged" in repr(flat({"a": np.inf}))


class _Page(HTMLParser):
    """Refuses tags that do not match; keeps the text and what is drawn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.said: list[str] = []
        self.drawn = 0
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.drawn += tag == "polyline"  # in the picture, and in the table to say which is which

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def test_a_notebook_shows_the_table_and_the_curves() -> None:
    page = _Page(flat({"<b>": -5.0, "pao-fed-u1": -3.0}, runs=3)._repr_html_())
    said = " ".join(page.said)
    assert "made-up: 3 runs of 2 algorithms over 20 ticks" in said
    assert said.index("<b>") < said.index("pao-fed-u1")  # the best first, as text
    assert "−4.99" in said  # noqa: RUF001 (a minus sign)
    assert page.drawn == 2 * 2


def test_a_baseline_has_no_bytes_and_leaves_no_empty_figure(over_table: TableResult) -> None:
    from matplotlib import pyplot as plt

    with pytest.raises(InputError, match="alone is a baseline, which sends nothing"):
        over_table.plot(["pao-fed-u1", "alone"], x="bytes")
    assert plt.get_fignums() == []


def test_errors_at_the_ends_of_all_numbers_are_told_without_a_warning() -> None:
    """A mean of 0 or infinity has no relative error: NaN, as of a single run."""
    mse = np.array(RESULT.mse)
    mse[:, 0], mse[:, 1] = 0.0, 1.7e308
    result = replace(RESULT, mse=mse)
    assert np.isnan(result.to_pandas().db_se).all()
    assert "diverged" in result._repr_html_()
    assert set(result.to_pandas("finals").db) == {-np.inf, np.inf}
