"""lab/interpretations/README.md says what a study found: docs/data holds its numbers."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest

from lab.commands import LAB
from lab.interpretations.amount import FULL
from lab.interpretations.interpretations import AS_U1, INTERPRETATIONS
from lab.interpretations.study import LABELS, STATEMENTS
from paofed.simulate.results.estimates import Estimate

ROOT = Path(__file__).parents[3]
DATA = ROOT / "docs" / "data"
DOCUMENT = (ROOT / "lab" / "interpretations" / "README.md").read_text(encoding="utf-8")


def read(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


ROWS = {(row["statement"], row["reading"]): row for row in read("readings.csv")}


def cell(row: dict[str, str]) -> str:
    """A mean as the document writes it: bold where the statement holds, in brackets where open."""
    mean = f"{round(float(row['mean']), 2) + 0.0:.2f}"
    return {"holds": f"**{mean}**", "does not hold": mean}.get(row["verdict"], f"({mean})")


def table() -> str:
    """The table of the document: a line for each interpretation, a column for each comparison."""
    lines = [f"| interpretation | {' | '.join(LABELS.values())} |", "|---|" + "---|" * len(LABELS)]
    for interpretation in INTERPRETATIONS:
        cells = [cell(ROWS[key, interpretation.key]) for key in LABELS]
        lines.append(f"| `{interpretation.key}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def steps() -> str:
    """The table of step sizes that were chosen for equal starts, by setting."""
    chosen = [row for row in read("readings-steps.csv") if row["reading"] == "start-as-u1"]
    lines = ["| setting | method | step | error over the first tenth (dB) |", "|---|---|---|---|"]
    lines += [
        f"| {'I' if row['setting'] == 'setting-1' else 'II'} | `{row['algorithm']}` "
        f"| {float(row['step_size']):.3f} | {float(row['start_db']):.2f} |"
        for row in chosen
    ]
    return "\n".join(lines)


def test_every_statement_stands_under_every_interpretation() -> None:
    assert list(ROWS) == [(claim.key, i.key) for claim in STATEMENTS for i in INTERPRETATIONS]
    assert table() in DOCUMENT


def test_the_steps_are_those_that_were_chosen() -> None:
    assert steps() in DOCUMENT


def test_every_verdict_is_that_of_its_interval() -> None:
    for row in ROWS.values():
        mean, low, high = (float(row[column]) for column in ("mean", "low", "high"))
        assert row["verdict"] == Estimate(mean, low, high, int(row["runs"])).verdict


def test_the_default_interpretation_says_what_the_reproduction_says() -> None:
    """Two studies of the same worlds: the same numbers but for the rounding of threads."""
    claims = {row["claim"]: row for row in read("claims.csv")}
    for key in LABELS:
        here, there = ROWS[key, "default"], claims[key]
        assert here["verdict"] == there["verdict"]
        assert float(here["mean"]) == pytest.approx(float(there["mean"]), abs=1e-3)


def test_as_much_was_run_as_the_interpretations_say() -> None:
    for interpretation in INTERPRETATIONS:
        key, runs = interpretation.key, FULL.runs_of(interpretation)
        used = {int(row["runs"]) for (_, one), row in ROWS.items() if one == key}
        assert runs in used
        # Where an interpretation changes nothing, all runs are of the default.
        assert used <= {runs, FULL.runs}, key
        if "+" not in key:
            line = rf"^\| `{re.escape(key)}` \| .* \| {runs} \|$"
            assert re.search(line, DOCUMENT, re.MULTILINE), key


def verdicts(interpretation: str) -> dict[str, str]:
    return {key: ROWS[key, interpretation]["verdict"] for key in LABELS}


def test_what_the_document_says_it_means() -> None:
    """The sentences, each as what must be true of the numbers."""
    in_one = [key for key in LABELS if key.startswith("accurate") and key.endswith("setting-1")]
    fewer = [key for key in LABELS if key.startswith("fewer")]
    for key in in_one:
        assert verdicts("best-steps")[key] == "does not hold"
        assert verdicts("start-as-u1")[key] == verdicts("send-first")[key] == "holds"
    slow = verdicts("slow-start")
    assert {key for key in LABELS if slow[key] != "holds"} == {"grows", "weight-u1-setting-2"}
    wide = verdicts("wider+slow-start")
    assert {key for key in LABELS if wide[key] != "holds"} == {"grows"}
    assert all(
        ROWS["grows", interpretation.key]["verdict"] != "holds"
        for interpretation in INTERPRETATIONS
    )
    assert verdicts("weighed-steps")["weight-u1-setting-2"] == "holds"
    for interpretation in INTERPRETATIONS[: INTERPRETATIONS.index(AS_U1)]:
        for key in (*in_one, *fewer):
            assert verdicts(interpretation.key)[key] == "does not hold", (key, interpretation.key)
    for key in ("later-than", "all-late", "plain-mean"):
        assert verdicts(key)["accurate-u1-setting-2"] != "does not hold"
    assert "holds" not in (
        verdicts("indices")["local-c-setting-1"],
        verdicts("coverage")["local-u-setting-1"],
    )
    for key in ("local-c-setting-1", "local-u-setting-1"):
        usual, rested = (float(ROWS[key, name]["mean"]) for name in ("default", "resting"))
        assert 0 < rested < usual


def test_the_command_and_the_version_that_made_it() -> None:
    about = json.loads((DATA / "readings-about.json").read_text(encoding="utf-8"))
    words = shlex.split(about["command"])
    assert words[:4] == ["python", "-m", "lab", "interpretations"]
    given = LAB.parser_of("interpretations").parse_args(words[4:])
    assert (given.runs, given.seed, given.quick) == (FULL.runs, 0, False)
    assert set(about["versions"]) >= {"python", "paofed", "numpy", "numba"}
    assert about["command"] in DOCUMENT


def test_the_documents_lead_there() -> None:
    anchor = "reproduction.md#other-interpretations-of-the-paper)"
    assert anchor in (ROOT / "README.md").read_text(encoding="utf-8")
    summary = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert "`lab/interpretations/README.md`" in summary
    numbers = re.findall(r"\d\.\d\d \[\d\.\d\d, \d\.\d\d\] dB for", summary)
    assert len(numbers) == 2
    assert all(number in " ".join(DOCUMENT.split()) for number in numbers)
