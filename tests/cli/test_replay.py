"""`paofed replay` as a user meets it."""

import json
from pathlib import Path

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.algorithms.setup import resolve
from paofed.cli import main
from paofed.simulate.engines.reference import replay
from tests.natures import small_trace


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.npz"
    small_trace(1, features=12).save(path)
    return path


def test_writes_the_published_names(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = trace.with_name("out.npz")
    assert main(["replay", str(trace), "--algorithm", "pao-fed-u1", "--out", str(out)]) == 0
    expected = replay(small_trace(1, features=12), "pao-fed-u1")
    with np.load(out) as file:
        np.testing.assert_array_equal(file["server_model"], expected.server_model)
        np.testing.assert_array_equal(file["mse"], expected.mse)
        assert file["sent_up"].dtype.kind == "i"
        assert (int(file["sent_up"]), int(file["sent_down"])) == (
            expected.sent_up,
            expected.sent_down,
        )
        provenance = json.loads(str(file["provenance"]))
    assert provenance["algorithm"]["name"] == "pao-fed-u1"
    assert len(provenance["trace_sha256"]) == 64
    assert set(provenance["versions"]) >= {"paofed", "numpy", "python"}
    assert "pao-fed-u1" in capsys.readouterr().out


def test_options_mean_what_they_say(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = trace.with_name("out.npz")
    options = (
        "--algorithm pso-fed --shared 5 --step-size 0.3 --max-age 3 --staleness 0.5 --subset 2 "
        "--divisor coverage --uncoordinated --exchange live --engine reference --json"
    )
    assert main(["replay", str(trace), *options.split(), "--out", str(out)]) == 0
    method = algorithm(
        "pso-fed",
        shared=5,
        subset=2,
        coordinated=False,
        step_size=0.3,
        max_age=3,
        staleness=0.5,
        divisor="coverage",
        exchange="live",
    )
    expected = replay(small_trace(1, features=12), method)
    with np.load(out) as file:
        np.testing.assert_array_equal(file["mse"], expected.mse)
    assert json.loads(capsys.readouterr().out)["final_db"] == pytest.approx(expected.final_db)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("pao-fed-u1:shared=8", "pao-fed-u1:shared=8,step_size=0.4,max_age=10"),
        ("pao-fed-u1:step_size=0.2 --shared 8", "pao-fed-u1:shared=8,step_size=0.2,max_age=10"),
        ("online-fed:subset=2 --max-age 3", "online-fed:subset=2,step_size=0.4,max_age=3"),
    ],
)
def test_an_algorithm_is_taken_as_run_takes_it(trace: Path, words: str, expected: str) -> None:
    out = trace.with_name("out.npz")
    name, *options = words.split()
    assert main(["replay", str(trace), "--algorithm", name, *options, "--out", str(out)]) == 0
    with np.load(out) as file:
        described = json.loads(str(file["provenance"]))["algorithm"]
        mse = file["mse"]
    assert described == {**resolve(expected).describe(), "name": name}
    np.testing.assert_array_equal(mse, replay(small_trace(1, features=12), expected).mse)


BAD = [
    ("--algorithm pao-fed-u1:shared=8 --shared 4", "shared is given twice: in 'pao-fed-u1:shared"),
    ("--algorithm pso-fed:subset=2,coordinated=true --uncoordinated", "coordinated is given twice"),
    ("--algorithm pao-fed-u9", "did you mean 'pao-fed-u"),
    ("--algorithm pao-fed-u1 --sharde 3", "did you mean --shared?"),
    ("--algorithm pao-fed-u1 --frobnicate", "unexpected '--frobnicate' (see"),
    ("--algorithm pao-fed-u1 --shared 13", "only 12 features"),
    ("--algorithm pao-fed-u1 --shared four", "--shared is 'four': expected a whole number"),
    ("--algorithm pao-fed-u1 --step-size nan", "--step-size is nan"),
    ("--algorithm online-fed --subset 1.0", "subset is 1.0"),
    ("--algorithm online-fed --subset some", "--subset is 'some': expected a number"),
    ("--algorithm pao-fed-c1 --uncoordinated", "no option 'coordinated'"),
    ("", "required: --algorithm"),
]


@pytest.mark.parametrize(("options", "text"), BAD)
def test_bad_input_is_one_line_and_exit_code_2(
    options: str, text: str, trace: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = trace.with_name("out.npz")
    try:
        code = main(["replay", str(trace), *options.split(), "--out", str(out)])
    except SystemExit as stop:
        code = int(str(stop.code))
    stdout, stderr = capfd.readouterr()
    assert code == 2
    assert stdout == ""
    assert stderr.startswith("paofed replay: error: ")
    assert stderr.count("\n") == 1
    assert text in stderr
    assert sorted(p.name for p in trace.parent.iterdir()) == ["trace.npz"]


def test_divergence_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.npz"
    small_trace(0, ticks=400, features=12).save(path)
    arguments = [
        "--algorithm",
        "online-fedsgd",
        "--step-size",
        "1000",
        "--out",
        str(tmp_path / "o.npz"),
    ]
    assert main(["replay", str(path), *arguments]) == 0
    assert "online-fedsgd diverged at tick" in capsys.readouterr().err
    assert (tmp_path / "o.npz").exists()
    assert main(["replay", str(path), *arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["final_db"] is None
