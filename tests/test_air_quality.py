"""The air-quality tutorial on the whole file: what its last section says of four years is true.

The file is too large to ship: PAOFED_BEIJING_AIR names it where it is there. The sample that is
shipped goes through the rest of the tutorial in tests/test_docs.py.
"""

import os
import re
import shlex

import pytest

from paofed import Result
from paofed.cli import main
from paofed.report.gains import newcomers
from tests.test_docs import DOCUMENTS, section

FOUR_YEARS = section(DOCUMENTS["docs/tutorial-air-quality.md"], "## Four years")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The command of the tutorial, with two maps instead of twenty."""
    file = os.environ.get("PAOFED_BEIJING_AIR")
    if not file:
        pytest.skip("PAOFED_BEIJING_AIR does not name the whole Beijing air-quality file")
    folder = tmp_path_factory.mktemp("beijing")
    block = re.search(r"^```sh\n(.*?)^```$", FOUR_YEARS, re.MULTILINE | re.DOTALL)
    assert block is not None
    words = shlex.split(block[1].replace("\\\n", " "))[1:]
    for option, value in (("--table", file), ("--runs", "2"), ("--report", str(folder / "page"))):
        words[words.index(option) + 1] = value
    words[1:1] = ["--out", str(folder / "result.npz")]
    assert main(words) == 0
    assert (folder / "page" / "report.html").stat().st_size > 100_000
    return Result.load(folder / "result.npz")


def stated(name: str) -> list[float]:
    """The numbers of a row of the tutorial's tables."""
    row = re.search(rf"^\| `?{re.escape(name)}`? \|(.*)\|$", FOUR_YEARS, re.MULTILINE)
    assert row is not None, f"no row {name!r}"
    return [float(number) for number in re.findall(r"(?<![\d.])-?\d+\.\d+", row[1])]


def test_the_file_is_the_one(result: Result) -> None:
    assert result.progressive is not None
    assert result.progressive.devices.size == 12
    assert int(result.ticks[-1]) + 1 == 35_064 - 365 * 24


def test_errors_are_as_stated(result: Result) -> None:
    judged = result.progressive
    assert judged is not None
    for name in result.algorithms:
        device, server = (judged.final(name, whose).db for whose in ("device", "server"))
        # Two maps instead of twenty: their mean strays by a tenth of a decibel at most.
        stated_device, _, stated_server, _ = stated(name)[:4]
        assert device == pytest.approx(stated_device, abs=0.4 if "online" in name else 0.1)
        assert server == pytest.approx(stated_server, abs=0.3)
    for name in judged.baselines:
        assert judged.final(name, "baseline").db == pytest.approx(stated(name)[0], abs=0.1)


def test_what_an_independent_check_found(result: Result) -> None:
    """Other code, other maps, constants from all years before 2016: within two tenths of a dB."""
    judged = result.progressive
    assert judged is not None
    assert judged.final("pao-fed-u1", "device").db == pytest.approx(-10.4, abs=0.1)
    assert judged.final("alone", "baseline").db == pytest.approx(-10.35, abs=0.15)
    assert judged.final("last value", "baseline").db == pytest.approx(-8.9, abs=0.2)
    assert judged.final("pao-fed-u1", "server").db == pytest.approx(-6.0, abs=0.3)
    assert judged.final("batch linear", "baseline").db == pytest.approx(-4.1, abs=0.3)
    assert judged.final("batch fourier", "baseline").db == pytest.approx(-6.3, abs=0.4)


def test_newcomers_gain_by_the_whole_model(result: Result) -> None:
    assert result.cold_start is not None
    rows = {"whole": "begins with the whole model, gain over that",
            "windows": "begins with nothing, takes part, gain over that",
            "old": "was there all along, gain over that"}  # fmt: skip
    for found in newcomers(result.cold_start):
        if found.name == "pao-fed-u1":
            said = stated(rows[found.way])[::3]  # means, without the ends of their intervals
            assert [gain.mean for gain in found.gains] == pytest.approx(said, abs=0.25)
        if found.way == "whole" and found.name.startswith(("pao-fed", "pso-fed")):
            day, week, _ = found.gains
            assert day.low > 0, found.name
            assert week.low > 0, found.name
