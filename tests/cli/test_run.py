"""`paofed run`, `result`, `scenario`, `trace` and `reproduce` as a user meets them."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paofed.cli import main
from paofed.simulate.results.result import Result
from paofed.world.names import PRESETS
from paofed.world.scenario import Scenario
from paofed.world.trace import Trace
from tests.natures import small_scenario as scenario


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(scenario().to_toml())
    return str(path)


def test_a_table_for_people(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", small, "--runs", "2"]) == 0
    out = capsys.readouterr().out
    assert "setting-1, 2 runs" in out
    lines = out.splitlines()
    header = next(line for line in lines if line.startswith("algorithm"))
    assert "error (dB)" in header
    assert "bytes up" in header
    for name in ("online-fedsgd", "online-fed:subset=0.2", "pso-fed:subset=0.2", "pao-fed-u2"):
        assert any(line.startswith(name) for line in lines)


def test_json_for_programs_and_files_for_later(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, table, figure = (tmp_path / name for name in ("r.npz", "r.csv", "r.png"))
    arguments = ["run", small, "--runs", "3", "--seed", "4", "--every", "50", "--json"]
    arguments += ["--algorithm", "pao-fed-u1", "pao-fed-u1:shared=8,step_size=0.2"]
    arguments += ["--out", str(out), "--csv", str(table), "--figure", str(figure)]
    assert main(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["runs"] == 3
    names = [line["algorithm"] for line in printed["algorithms"]]
    assert names == ["pao-fed-u1", "pao-fed-u1:shared=8,step_size=0.2"]
    result = Result.load(out)
    assert result.ticks.tolist() == [49, 99, 149]
    assert result.provenance["algorithms"][1]["step_size"] == 0.2
    assert len(table.read_text().splitlines()) == 1 + 2 * 3
    assert figure.read_bytes().startswith(b"\x89PNG")

    assert main(["result", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == printed


def test_types_of_processors_are_told_where_there_are_several(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.npz"
    assert main(["run", small, "--runs", "3", "--algorithm", "pao-fed-u1", "--out", str(out)]) == 0
    assert "processors" not in capsys.readouterr().err
    result = Result.load(out)
    cpus = {"Alpha": [0, 2], "Beta": [1]}
    replace(result, provenance={**result.provenance, "cpus": cpus}).save(out)
    assert main(["result", str(out)]) == 0
    said = capsys.readouterr().err
    assert "computed on 2 types of processors, whose last digits may differ: " in said
    assert "Alpha (2 runs); Beta (1 run)" in said


def test_bytes_under_a_tariff(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, figure = tmp_path / "r.npz", tmp_path / "t.svg"
    words = ["run", small, "--runs", "2", "--tariff", "mqtt", "--traffic-figure", str(figure)]
    assert main([*words, "--out", str(out), "--algorithm", "pao-fed-u1"]) == 0
    first, _, header, line = capsys.readouterr().out.splitlines()
    assert "coordinates, messages and bytes by tariff mqtt, mean of a run" in first
    assert " ".join(header.split()).endswith("messages up messages down bytes up bytes down")
    assert "MQTT on TCP, stays connected" in figure.read_text()
    result = Result.load(out)
    messages = result.run_traffic("pao-fed-u1").messages_up[:, -1].mean()
    assert line.split()[5] == f"{messages:,.0f}"
    # The same result by another tariff; and none is as if nobody had asked.
    assert main(["result", str(out), "--tariff", "up=10,contact_down=7", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["tariff"]["name"] == "up=10,contact_down=7"
    (found,) = told["algorithms"]
    assert found["wire_up"] == found["payload_up"] + 10 * messages
    assert found["wire_down"] == found["payload_down"] + 7 * messages
    plain = []
    for more in ([], ["--tariff", "payload"]):
        assert main(["result", str(out), *more]) == 0
        plain.append(capsys.readouterr().out)
    assert plain[0] == plain[1]
    assert "messages" not in plain[0]


def test_divergence_is_a_word_and_not_the_end(
    small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", small, "--algorithm", "pao-fed-u1", "online-fedsgd:step_size=90"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "online-fedsgd:step_size=90 diverged in 1 of 1 run, first at tick" in err
    assert "diverged" in out
    assert "pao-fed-u1 " in out


@pytest.fixture
def drifting(tmp_path: Path) -> str:
    path = tmp_path / "drifting.toml"
    path.write_text(scenario(stream={"drifts": (60, 145)}).to_toml())
    return str(path)


def test_a_second_table_tells_of_drifts(drifting: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", drifting, "--algorithm", "pao-fed-u1", "online-fedsgd:step_size=90"]
    assert main([*arguments, "--runs", "2"]) == 0
    *_, first, second = capsys.readouterr().out.rstrip("\n").split("\n\n")
    assert len(first.splitlines()) == 3
    header, *rows = (line.split("  ") for line in second.splitlines())
    words = [[cell.strip() for cell in row if cell] for row in (header, *rows)]
    assert words[0] == ["algorithm", "drift", "before (dB)", "worst (dB)", "ticks to recover"]
    assert [row[:2] for row in words[1:3]] == [["pao-fed-u1", "60"], ["pao-fed-u1", "145"]]
    assert float(words[1][3]) > float(words[1][2])
    wild = "online-fedsgd:step_size=90"
    assert words[3] == [wild, "60", "diverged", "diverged", "not yet"]


def test_drifts_that_the_curve_does_not_show(
    drifting: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", drifting, "--algorithm", "pao-fed-u1", "--every", "100"]) == 0
    assert capsys.readouterr().out.splitlines()[-2].split()[:3] == ["pao-fed-u1", "60", "-"]


def test_json_tells_of_drifts(
    drifting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "run",
        drifting,
        "--json",
        "--algorithm",
        "pao-fed-u1",
        "online-fedsgd:step_size=90",
    ]
    assert main([*arguments, "--out", str(tmp_path / "r.npz")]) == 0
    printed = json.loads(capsys.readouterr().out)
    learned, wild = (line["recovery"] for line in printed["algorithms"])
    assert [drift["tick"] for drift in learned] == [60, 145]
    assert wild[0] == {"tick": 60, "before_db": None, "worst_db": None, "ticks": None}
    assert main(["result", str(tmp_path / "r.npz"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == printed


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["setting-3"], "did you mean 'setting-"),
        (
            ["--algorithm", "pao-fed-u1", "setting-1"],
            "no SCENARIO was given (it stands first: --algorithm",
        ),
        (["setting-1", "--algorithm", "pao-fed-u1:shard=4"], "unknown option 'shard'"),
        (["setting-1", "--runs", "0"], "runs is 0"),
        (["setting-1", "--seed", "-1"], "seed -1"),
        (["setting-1", "--out", "no/such/place.npz"], "is not a directory"),
        (["setting-1", "--workers", "0"], "workers is 0"),
        (["setting-1", "--step", "3"], "did you mean --step-size?"),
        (["setting-1", "--step-size", "-1"], "--step-size is -1.0: expected more than 0\n"),
        ([], "no SCENARIO was given (it stands first: --algorithm takes all the words after it)"),
        (["setting-1", "--figure", "curves.xyz"], "expected one that ends in .png, .svg, .pdf"),
        (["setting-1", "--algorithm", "pso-fed:subset=2,coordinated=ja"], "coordinated is 'ja'"),
    ],
)
def test_bad_input(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["run", *arguments])
    except SystemExit as stop:
        code = int(str(stop.code))
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("paofed run: error: ")
    assert err.count("\n") == 1
    assert text in err


def test_scenario_show_and_check(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "show", "setting-2"]) == 0
    shown = capsys.readouterr().out
    assert Scenario.parse(shown, "shown") == Scenario.load("setting-2")
    assert main(["scenario", "show", "ideal", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["delay"] == {"kind": "none"}
    assert main(["scenario", "check", small]) == 0
    assert "is valid: 12 clients, 150 ticks" in capsys.readouterr().out
    Path(small).write_text("clients = 3\n")
    assert main(["scenario", "check", small]) == 2
    assert "is missing" in capsys.readouterr().err


def test_the_presets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "list"]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(PRESETS)
    assert all(len(line.split()) > 5 for line in lines)  # what each of them is
    assert main(["scenario", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["setting-1"] == "The paper's Setting I: poor availability, short delays."
    assert main(["scenario", "list", "ideal"]) == 2
    assert "list takes no scenario: leave out ideal" in capsys.readouterr().err


def test_a_scenario_that_is_not_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither verb has an option --algorithm that could have taken its word."""
    assert main(["scenario", "show"]) == 2
    said = "no SCENARIO was given, and no --table FILE: expected a TOML file or a preset"
    assert capsys.readouterr().err.startswith(f"paofed scenario: error: {said} (setting-1, ")
    with pytest.raises(SystemExit):
        main(["trace", "--out", "t.npz"])
    assert capsys.readouterr().err.endswith("are required: SCENARIO\n")


def test_a_trace_and_its_replay(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.npz"
    assert main(["trace", small, "--seed", "3", "--world", "1", "--out", str(path)]) == 0
    assert "150 ticks of 12 clients" in capsys.readouterr().out
    assert Trace.load(path).clients == 12
    errors = []
    for engine in ("reference", "fast"):
        out = tmp_path / f"{engine}.npz"
        arguments = ["replay", str(path), "--algorithm", "pao-fed-c2", "--engine", engine]
        assert main([*arguments, "--out", str(out)]) == 0
        with np.load(out) as file:
            errors.append(file["mse"])
    np.testing.assert_allclose(errors[0], errors[1], rtol=0, atol=1e-9)


def test_bad_input_of_other_verbs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    out = str(tmp_path / "t.npz")
    for arguments, text in (
        (["trace", "setting-1", "--world", "-1", "--out", out], "index -1 is out of range"),
        (["trace", "setting-1", "--run", "4294967296", "--out", out], "index 4294967296 is out"),
        (["reproduce", "--out", str(tmp_path / "file")], "cannot be made a directory"),
        (["reproduce", "--runs", "0", "--out", str(tmp_path)], "runs is 0"),
        (["result", str(tmp_path / "file")], "truncated, damaged, or something else"),
    ):
        assert main(arguments) == 2
        stdout, stderr = capsys.readouterr()
        assert text in stderr
        assert (stdout, stderr.count("\n")) == ("", 1)
    assert not Path(out).exists()


def test_outputs_need_names_of_their_own(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(small).read_text()
    same = str(Path(small).with_name("same.npz"))
    for arguments in (["--csv", small], ["--out", same, "--csv", same]):
        assert main(["run", small, *arguments]) == 2
        assert "is given twice: every file needs a name of its own" in capsys.readouterr().err
    assert Path(small).read_text() == before
    assert not Path(same).exists()


def test_a_disk_that_is_full_is_one_line() -> None:
    command = [sys.executable, "-m", "paofed", "scenario", "show", "setting-1"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stderr) == (
        2,
        "paofed scenario: error: No space left on device\n",
    )


def test_a_place_that_takes_no_files(capsys: pytest.CaptureFixture[str], small: str) -> None:
    assert main(["run", small, "--csv", "/proc/x.csv"]) == 2
    assert "/proc/x.csv cannot be written" in capsys.readouterr().err
