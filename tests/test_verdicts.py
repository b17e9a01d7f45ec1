"""The verdicts of docs/reproduction.md are those of a study: docs/data holds its numbers."""

import csv
import json
import re
import shlex
from pathlib import Path

from paofed.cli import PAOFED
from paofed.experiments.paper.claims import CLAIMS, FULL
from paofed.simulate.results.estimates import Count, Estimate

ROOT = Path(__file__).parents[1]
DOCUMENT = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
DATA = ROOT / "docs" / "data"

# In the order of the document's table: which claim a line is about, what it compares, and where.
LINES = (
    ("local-c-setting-1", "C1 over C0", "I"),
    ("local-u-setting-1", "U1 over U0", "I"),
    ("uncoordinated-setting-1", "U1 over C1", "I"),
    ("uncoordinated-setting-2", "", "II"),
    ("coordinated-ideal", "C1 over U1", "ideal"),
    ("accurate-u1-setting-1", "U1, at the end", "I"),
    ("accurate-c2-setting-1", "C2, at the end", "I"),
    ("accurate-u1-over-time-setting-1", "U1, over the whole run", "I"),
    ("accurate-c2-over-time-setting-1", "C2, over the whole run", "I"),
    ("accurate-u1-setting-2", "U1, at the end", "II"),
    ("accurate-c2-setting-2", "C2, at the end", "II"),
    ("accurate-u1-over-time-setting-2", "U1, over the whole run", "II"),
    ("accurate-c2-over-time-setting-2", "C2, over the whole run", "II"),
    ("poor-0.02-setting-1", "U1 over a subset of 0.02 (equal traffic)", "I"),
    ("poor-0.1-setting-1", "U1 over 0.1, at the end", "I"),
    ("poor-0.5-setting-1", "U1 over 0.5, at the end", "I"),
    ("poor-0.1-equal-traffic", "U1 over 0.1, at equal traffic", "I"),
    ("poor-0.5-equal-traffic", "U1 over 0.5, at equal traffic", "I"),
    ("fewer-4-32-setting-1", "4 over 32", "I"),
    ("fewer-1-4-setting-1", "1 over 4", "I"),
    ("fewer-4-32-setting-2", "4 over 32", "II"),
    ("weight-c1-setting-1", "C2 over C1", "I"),
    ("weight-u1-setting-1", "C2 over U1", "I"),
    ("weight-c1-setting-2", "C2 over C1", "II"),
    ("weight-u1-setting-2", "C2 over U1", "II"),
    ("grows", "C2 over U1", ""),
    ("saved", "counted", "I"),
    ("tenfold-setting-1", "U1, Online-FedSGD", "I"),
    ("tenfold-setting-2", "", "II"),
)


def read(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table_of_verdicts() -> list[list[str]]:
    """The cells of the document's table, without its header."""
    (text,) = re.findall(r"^\| statement \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", DOCUMENT, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]


def difference(row: dict[str, str]) -> str:
    """A claim's number as the document writes it."""
    mean, low, high = (float(row[column]) for column in ("mean", "low", "high"))
    if row["claim"] == "saved":
        return f"{mean:.2f} %"
    if row["claim"].startswith("tenfold"):
        return f"{mean:.1f} dB [{low:.1f}, {high:.1f}], {10 ** (mean / 10):.0f} times"
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"


def test_every_cell_of_the_table_is_in_the_file() -> None:
    rows = {row["claim"]: row for row in read("claims.csv")}
    assert sorted(rows) == sorted(key for key, *_ in LINES)
    shown = []
    for key, compared, setting in LINES:
        row = rows[key]
        verdict = "**holds**" if row["verdict"] == "holds" else row["verdict"]
        grid = f"{row['grid_holds']} / {row['grid_fails']}" if row["grid_cells"] else ""
        shown.append([compared, setting, difference(row), verdict, grid])
    assert [cells[1:] for cells in table_of_verdicts()] == shown


def test_every_verdict_is_that_of_its_interval() -> None:
    for claim, row in zip(CLAIMS, read("claims.csv"), strict=True):
        mean, low, high = (float(row[column]) for column in ("mean", "low", "high"))
        found = Estimate(mean, low, high, int(row["runs"])).above(-claim.level)
        assert row["verdict"] == (Count(*found) if claim.counted else found).verdict


def test_a_statement_stands_beside_the_first_of_its_claims() -> None:
    statements = {claim.key: claim.statement for claim in CLAIMS}
    told = [statements[key] for key, *_ in LINES]
    begins = [before != after for before, after in zip(["", *told], told, strict=False)]
    assert [cells[0] != "" for cells in table_of_verdicts()] == begins


def test_as_much_was_run_as_the_document_says() -> None:
    cells, said = len(FULL.widths) * len(FULL.steps), " ".join(DOCUMENT.split())
    assert {row["runs"] for row in read("claims.csv")} == {str(FULL.runs)}
    assert {row["grid_cells"] for row in read("claims.csv")} == {str(cells), ""}
    assert f"95 % intervals over {FULL.runs} runs" in said
    assert f"how many of its {cells} cells ({FULL.grid_runs} runs each)" in said


def test_what_one_exchange_costs() -> None:
    said = " ".join(DOCUMENT.split())
    assert (
        "U1 and C2 lose at most 0.01 dB in Setting I, and nothing that 100 runs could show in"
        in said
    )
    assert "Online-FedSGD loses 4 to 5 dB." in said
    for row in read("exchanges.csv"):
        mean, low, high = (float(row[column]) for column in ("mean", "low", "high"))
        if row["paper"] == "online-fedsgd":
            assert round(mean) in (4, 5)
        elif row["setting"] == "setting-1":
            assert round(mean, 2) <= 0.01
        else:
            assert low < 0 < high


def test_the_command_and_the_version_that_made_it() -> None:
    about = json.loads((DATA / "about.json").read_text(encoding="utf-8"))
    program, verb, *options = shlex.split(about["command"])
    assert (program, verb) == ("paofed", "reproduce")
    given = PAOFED.parser_of("reproduce").parse_args(options)
    assert (given.runs, given.seed, given.quick) == (FULL.runs, 0, False)
    assert set(about["versions"]) >= {"python", "paofed", "numpy", "numba"}


def test_the_document_says_where_the_numbers_are() -> None:
    for name in ("claims.csv", "exchanges.csv", "about.json"):
        assert f"data/{name})" in DOCUMENT
