"""A result for a paper: curves of every run, tables of xarray and LaTeX, and what to cite."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paofed.algorithms import OURS
from paofed.errors import InputError
from paofed.simulate.montecarlo import run
from paofed.simulate.results.citing import ALWAYS, cited, entries
from paofed.simulate.results.result import Result
from paofed.simulate.results.runs import SENT_COLUMNS
from tests.natures import small_scenario

ROOT = Path(__file__).parents[3]
NAMES = ["online-fedsgd", "pao-fed-u1:shared=2"]
UNPUBLISHED = {"cached-mean", "wide-down"}  # their documents say so


@pytest.fixture(scope="module")
def result() -> Result:
    return run(small_scenario(), NAMES, runs=3, first=4, engine="reference", workers=1)


def test_every_point_of_every_run_is_a_row(result: Result) -> None:
    table = result.to_pandas("run_curves", "mqtt")
    assert list(table.columns[:6]) == ["algorithm", "world", "run", "tick", "mse", "db"]
    assert len(table) == result.mse.size
    for name in NAMES:
        for number, (world, run_) in enumerate(result.places):
            mine = table[(table.algorithm == name) & (table.world == world) & (table.run == run_)]
            np.testing.assert_array_equal(mine.tick, result.ticks)
            np.testing.assert_array_equal(mine.mse, result.run_curves(name)[number])
            wire = result.run_wire(name, "mqtt")
            np.testing.assert_array_equal(mine.wire_up, wire.up[number])


def test_a_dataset_of_xarray_holds_the_same(result: Result) -> None:
    found = result.to_xarray("mqtt")
    assert dict(found.sizes) == {"algorithm": 2, "run": 3, "tick": result.ticks.size}
    assert set(found.data_vars) == {"mse", "db", *SENT_COLUMNS}
    assert found.run.values.tolist() == found.world.values.tolist() == [4, 5, 6]
    for name in NAMES:
        mine = found.sel(algorithm=name)
        np.testing.assert_array_equal(mine.mse, result.run_curves(name))
        np.testing.assert_allclose(mine.db, 10 * np.log10(mine.mse))
        sent = result.run_sent_by_column(name, "mqtt")
        for column in SENT_COLUMNS:
            np.testing.assert_array_equal(mine[column], sent[column])
    long = found.mse.to_series().sort_index()
    tidy = result.to_pandas("run_curves").set_index(["algorithm", "world", "tick"]).mse.sort_index()
    np.testing.assert_array_equal(long.to_numpy(), tidy.to_numpy())
    assert json.loads(found.attrs["provenance"]) == json.loads(json.dumps(result.provenance))


def test_a_table_for_latex_has_paired_intervals(result: Result) -> None:
    lines = result.to_latex("online-fedsgd", "mqtt").splitlines()
    gain = result.compare(NAMES[1], NAMES[0])
    first, second = lines[7:9]
    assert lines[5] == (r"method & error (dB) & gain over \texttt{online-fedsgd} (dB) & sent \\")
    assert first.startswith(rf"\texttt{{online-fedsgd}} & ${result.final(NAMES[0]).db:.2f}$ &  & ")
    assert f"${gain.mean:.2f}$ [${gain.low:.2f}$, ${gain.high:.2f}$]" in second
    assert second.startswith(r"\texttt{pao-fed-u1:shared=2} & $")
    assert re.fullmatch(r".* & \d+(\.\d)?~k?B \\\\", second)
    assert result.to_latex(tariff="mqtt").splitlines() == lines
    with pytest.raises(InputError, match="unknown algorithm 'fedsgd'"):
        result.to_latex("fedsgd")


def test_without_any_error_nothing_has_diverged(result: Result) -> None:
    exact = replace(result, mse=np.zeros_like(result.mse))
    for shown in (exact.to_latex(), repr(exact), exact._repr_html_()):
        assert re.search("[-\u2212]inf", shown)
    assert "diverged" not in repr(exact) + exact._repr_html_()


def test_names_cannot_break_latex_and_diverged_runs_are_told(result: Result) -> None:
    named = [{"name": name} for name in ("a_b:x=5%&{}", r"c\d")]
    mse = result.mse.copy()
    mse[:, 1, -1] = np.inf
    strange = replace(result, mse=mse, provenance={**result.provenance, "algorithms": named})
    table = strange.to_latex()
    assert r"\texttt{a\_b:x=5\%\&\{\}}" in table
    assert r"\texttt{c\textbackslash{}d} & diverged & diverged" in table
    alone = replace(
        strange, mse=result.mse[:1], traffic=result.traffic[:1],
        provenance={**strange.provenance, "runs_finished": [4]},
    )  # fmt: skip
    assert "nan" not in alone.to_latex()


def test_what_ran_is_cited(result: Result) -> None:
    found = result.cite()
    assert re.findall(r"^@\w+\{(.+),$", found, re.MULTILINE) == ["paofed", "gauthier2022resource"]
    assert f"version = {{{result.provenance['versions']['paofed']}}}" in found
    more = cited(["fed-async:shared=4", "mine", "triggered"], "1.2")
    assert "eprint = {1903.03934}" in more
    assert "miskowicz2006send" in more
    assert "han2015stochastic" in more
    assert "% mine: no publication is known here" in more
    assert "version = {1.2}" in more
    placed = cited(
        ["a/mine.py:block", "a/mine.py:block:every=5", "package.module:ace:every=5"], "1"
    )
    assert re.findall(r"^% (.+): no publication", placed, re.MULTILINE) == [
        "a/mine.py:block",
        "package.module:ace",
    ]


def test_every_published_method_has_an_entry_and_every_entry_a_method() -> None:
    known = {*OURS}
    about = set().union(*entries().values())
    assert known - about == UNPUBLISHED
    assert about - known == {ALWAYS}
    for entry in entries():
        assert entry.count("{") == entry.count("}")
        assert re.match(r"@\w+\{\w+,\n  title = \{.+\},\n  author = \{.+\},\n", entry)


def test_entries_agree_with_the_documents_and_with_citation_cff() -> None:
    methods = (ROOT / "docs/methods.md").read_text(encoding="utf-8")
    entry = {key: one for one in entries() for key in re.findall(r"@\w+\{(\w+),", one)}
    for key, one in entry.items():
        if (number := re.search(r"eprint = \{(.+)\}", one)) and not key.startswith("g"):
            assert f"arXiv {number[1]}" in methods, key
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    software, paper = entry["paofed"], entry["gauthier2022resource"]
    for field in ("title", "license"):
        assert _field(software, field) in re.findall(rf"^{field}: (.+)$", citation, re.MULTILINE)
    (name,) = re.findall(r"^  - name: (.+)$", citation, re.MULTILINE)
    assert _field(software, "author") == f"{{{name}}}"
    (title,) = re.findall(r"^  title: (.+)$", citation, re.MULTILINE)
    people = re.findall(r"family-names: (.+)\n +given-names: (.+)$", citation, re.MULTILINE)
    assert _field(paper, "title") == title
    assert _field(paper, "author").split(" and ") == [", ".join(one) for one in people]
    assert f"year: {_field(paper, 'year')}\n" in citation
    assert f"arxiv.org/abs/{_field(paper, 'eprint')}\n" in citation


def _field(entry: str, name: str) -> str:
    (found,) = re.findall(rf"^  {name} = \{{(.+)\}},?$", entry, re.MULTILINE)
    return str(found)
