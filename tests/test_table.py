"""One table says the same to people and to programs."""

import csv
import json
import math
from pathlib import Path

import pytest

from paofed.simulate.results.estimates import Estimate
from paofed.table import (
    COUNT,
    ERROR,
    ERROR_IF_ANY,
    ESTIMATE,
    GAIN,
    NAME,
    WHOLE,
    ShownColumn,
    ShownTable,
    Words,
    estimated,
    known,
)
from tests.page_tree import parse

GAINED = Estimate(-0.5, -0.75, -0.25, 9)
TABLE = ShownTable(
    (
        ShownColumn("algorithm", "algorithm", NAME),
        ShownColumn("db", "error", ERROR, "dB", best="least"),
        ShownColumn(("gain", "low", "high"), "gain", GAIN, "dB"),
        ShownColumn("ticks", "recovered", WHOLE, missing="not yet"),
        ShownColumn("note", "<b>"),
    ),
    [
        ["u1:shared=4,step_size=1", -7.648, GAINED, 12, "a & b"],
        [Words("last value"), math.nan, None, None, "<script>"],
        ["c2", -3.0, Estimate(0.25, math.nan, math.nan, 1), 3, ""],
    ],
    title="what was found",
    notes=("that is all",),
)


def test_in_a_terminal() -> None:
    assert TABLE.text().splitlines() == [
        "what was found",
        "",
        "algorithm                error (dB)     gain (dB)  recovered  <b>",
        "u1:shared=4,step_size=1      -7.65*  -0.50 ± 0.25         12  a & b",
        "last value                diverged                   not yet  <script>",
        "c2                           -3.00          +0.25          3",
        "",
        "that is all",
    ]


def test_on_a_page_everything_is_escaped_and_the_best_is_bold() -> None:
    page = TABLE.html()
    assert TABLE.__html__() == page
    assert "<code>u1:<wbr>shared=4,<wbr>step_size=1</code>" in page
    assert "<td>last&nbsp;value</td><td class=n>diverged</td><td class=n></td>" in page
    assert "<td class=n>\u22120.50 [\u22120.75, \u22120.25]</td>" in page
    assert page.count("<strong>") == 1
    assert "<strong>\u22127.65</strong>" in page
    assert "<script>" not in page
    assert "<b>" not in page
    assert len(list(parse(page).all("tr"))) == 4


def test_in_files(tmp_path: Path) -> None:
    TABLE.csv(tmp_path / "t.csv")
    first, *_ = rows = list(csv.reader((tmp_path / "t.csv").read_text().splitlines()))
    assert first == ["algorithm", "db", "gain", "low", "high", "ticks", "note"]
    assert rows[1] == ["u1:shared=4,step_size=1", "-7.648", "-0.5", "-0.75", "-0.25", "12", "a & b"]
    assert rows[2] == ["last value", "nan", "", "", "", "", "<script>"]
    records = json.loads(json.dumps(TABLE.json(), allow_nan=False))
    assert records[0]["gain"] == {"mean": -0.5, "low": -0.75, "high": -0.25}
    assert records[1]["db"] is records[1]["gain"] is records[1]["ticks"] is None
    assert records[2]["gain"]["low"] is None


def test_without_some_columns() -> None:
    short = TABLE.without("note", "gain", "ticks")
    assert [column.head for column in short.columns] == ["algorithm", "error"]
    assert short.rows[2] == ["c2", -3.0]


def test_a_column_without_a_heading_is_in_files_alone(tmp_path: Path) -> None:
    columns = (ShownColumn("seed"), ShownColumn("name", "name"), ShownColumn("a", "a", COUNT))
    table = ShownTable(columns, [[7, "x", 12], [8, "y", 3]])
    assert table.text() == "name   a\nx     12\ny      3"
    assert "<td>x</td><td class=n>12</td>" in table.html()
    assert "seed" not in table.html()
    table.csv(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "seed,name,a\n7,x,12\n8,y,3\n"
    assert table.json()[0] == {"seed": 7, "name": "x", "a": 12}


def test_a_short_row_ends_in_words_across_the_page() -> None:
    columns = (
        ShownColumn("name", "name"),
        ShownColumn("a", "a", COUNT),
        ShownColumn("b", "b", COUNT),
    )
    page = ShownTable(columns, [["x", "1 & 2"], ["y", 1000.0, math.nan]]).html()
    assert "<td>x</td><td colspan=2>1 &amp; 2</td>" in page
    assert "<td class=n>1,000</td><td class=n>\u2013</td>" in page


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Estimate(-0.001, -0.2, 0.2, 4), "0.00 ± 0.20"),
        (Estimate(1.5, math.nan, math.nan, 1), "1.50"),
        (Estimate(math.inf, math.nan, math.nan, 1), "diverged"),
        (Estimate(math.nan, math.nan, math.nan, 1), "diverged"),
    ],
)
def test_an_estimate_in_words(found: Estimate, said: str) -> None:
    assert estimated(found) == ESTIMATE.text(found) == said


def test_what_nobody_knows_has_not_diverged() -> None:
    nobody = Estimate(math.nan, math.nan, math.nan, 3)
    assert (GAIN.text(nobody), GAIN.page(nobody)) == ("-", "\u2013")
    assert (ERROR_IF_ANY.text(math.nan), ERROR_IF_ANY.text(math.inf)) == ("-", "diverged")


def test_json_has_no_numbers_that_are_none() -> None:
    assert known({"a": [math.inf, 1], "b": (math.nan, "x", None)}) == {
        "a": [None, 1],
        "b": [None, "x", None],
    }
