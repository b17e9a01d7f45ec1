"""`paofed theory` as a user meets it."""

import csv
import json
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.world.realize import realize
from tests.natures import small_scenario

ALGORITHMS = ["pao-fed-u1", "online-fed:subset=0.5,step_size=0.2"]


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(small_scenario().to_toml())
    return str(path)


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "trace.npz"
    realize(small_scenario(), seed=2).save(path)
    return str(path)


def test_a_page_for_people(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["theory", small]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    title, steps, methods, *reached = out.rstrip("\n").split("\n\n")
    assert title == f"{small}, world 0: 12 clients, 24 features"
    assert "bound of Theorem I, set by client " in steps
    assert "above this, single steps expand on average" in steps
    assert "  1  up to this, no single step expands" in steps
    assert "any sharing converges" not in steps
    header, *rows = methods.splitlines()
    assert header.split("  ")[0] == "algorithm"
    assert "averaged" not in header
    names = ["online-fedsgd", "pao-fed-u1", "pao-fed-c2"]
    assert [row.split()[0] for row in rows] == names
    assert [row.split()[1] for row in rows] == ["0.4"] * 3
    assert main(["theory", small, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["algorithms"]
    for line, name, record in zip(reached, names, printed, strict=True):
        text = ", ".join(f"{db} dB {n}" for db, n in record["ticks_to_each_db"].items())
        assert line == f"{name}, tick after which its mean is at: {text}"  # the same ticks


def test_json_for_programs(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["theory", small, "--algorithm", *ALGORITHMS, "--seed", "3", "--world", "1"]
    assert main([*arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {key: printed[key] for key in ("scenario", "seed", "world")} == {
        "scenario": small,
        "seed": 3,
        "world": 1,
    }
    assert printed["moments_standard_error"] == 0.0
    assert printed["guaranteed_below"] is None
    assert printed["never_expands_up_to"] == 1.0
    assert printed["expands_on_average_above"] < printed["bound"]
    assert 0 <= printed["bound_set_by_client"] < 12
    assert printed["warnings"] == []
    assert "numpy" in printed["versions"]
    assert [line["algorithm"] for line in printed["algorithms"]] == ALGORITHMS
    u1, fed = printed["algorithms"]
    assert (u1["step_size"], fed["step_size"]) == (0.4, 0.2)
    assert u1["contacts_per_tick"] == pytest.approx(2 * fed["contacts_per_tick"])
    assert u1["coordinates_per_tick"] == pytest.approx(8 * u1["contacts_per_tick"])
    assert u1["bytes_per_tick"] == pytest.approx(32 * u1["contacts_per_tick"])
    for line in printed["algorithms"]:
        assert 0.9 < line["growth_per_tick"] < 1
        assert "averaged_model_db" not in line
        reached = {int(db): tick for db, tick in line["ticks_to_each_db"].items()}
        assert all(db >= line["mean_model_db"] for db in reached)
        assert set(reached.values()) <= {49, 99, 149}


def test_curves_as_a_table_and_bytes_under_a_tariff(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Expected bytes are those of so many contacts."""
    words = ["theory", small, "--algorithm", "pao-fed-u1", "--json", "--tariff", "coap"]
    assert main([*words, "--every", "40", "--csv", str(tmp_path / "theory.csv")]) == 0
    told = json.loads(capsys.readouterr().out)
    (line,) = told["algorithms"]
    assert told["tariff"] == "coap"
    assert line["bytes_per_tick"] == pytest.approx((32 + 42 + 40) * line["contacts_per_tick"])
    rows = rows_of(tmp_path / "theory.csv")
    assert list(rows[0]) == ["algorithm", "tick", "mean_model_db"]
    assert [int(row["tick"]) for row in rows] == [39, 79, 119, 149]
    assert float(rows[-1]["mean_model_db"]) == pytest.approx(line["mean_model_db"], abs=1e-12)


def rows_of(table: Path) -> list[dict[str, str]]:
    with table.open() as file:
        return list(csv.DictReader(file))


def test_runs_beside_in_json_in_a_table_and_in_a_figure(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, figure = tmp_path / "theory.csv", tmp_path / "theory.png"
    words = ["theory", small, "--algorithm", *ALGORITHMS, "--runs", "5", "--every", "40"]
    assert main([*words, "--csv", str(table), "--figure", str(figure), "--json"]) == 0
    printed, rows = json.loads(capsys.readouterr().out), rows_of(table)
    assert figure.read_bytes().startswith(b"\x89PNG")
    keys = ["mean_model_db", "averaged_model_db", "learning_curve_db"]
    assert list(rows[0]) == ["algorithm", "tick", *keys]
    places = [(row["algorithm"], int(row["tick"])) for row in rows]
    assert places == [(name, tick) for name in ALGORITHMS for tick in (39, 79, 119, 149)]
    for line, last in zip(printed["algorithms"], rows[3::4], strict=True):
        assert line["averaged_model_db"] < line["learning_curve_db"]
        assert line["averaged_model_db"] == pytest.approx(line["mean_model_db"], abs=1.0)
        for key in keys:
            assert float(last[key]) == pytest.approx(line[key], abs=1e-12)
    assert main(words) == 0
    out = capsys.readouterr().out
    header = next(line for line in out.splitlines() if line.startswith("algorithm"))
    assert "averaged model (dB)  learning curve (dB)" in header


def test_a_trace_is_estimated_from(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["theory", trace, "--algorithm", "pao-fed-u1:step_size=0.3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        f"{trace}, as recorded: 12 clients, 24 features\n\nmoments estimated from samples: "
    )
    assert main(["theory", trace, "--json", "--every", "10"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert 0 < printed["moments_standard_error"] < 0.1
    for line in printed["algorithms"]:
        assert line["step_size"] == 0.4
        assert line["mean_model_db"] < 1


def test_traces_and_their_scenario_agree(
    small: str, trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """150 ticks of one run: rates and moments that are close, not equal."""
    lines = []
    for source in (small, trace):
        assert main(["theory", source, "--seed", "2", "--algorithm", "pao-fed-u1", "--json"]) == 0
        lines.append(json.loads(capsys.readouterr().out)["algorithms"][0])
    law, seen = lines
    assert seen["contacts_per_tick"] == pytest.approx(law["contacts_per_tick"], rel=0.2)
    assert seen["mean_model_db"] == pytest.approx(law["mean_model_db"], abs=1.5)


def test_inputs_that_hardly_overlap_have_a_step_size_that_is_guaranteed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a very narrow kernel, features of different frequencies are not correlated."""
    path = tmp_path / "narrow.toml"
    path.write_text(small_scenario(features=4, kernel_width=0.05).to_toml())
    assert main(["theory", str(path), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["guaranteed_below"] == pytest.approx(printed["bound"], rel=0.1)
    assert main(["theory", str(path)]) == 0
    assert "below this, any sharing converges in the mean" in capsys.readouterr().out


def test_warnings_are_told_beside_the_result(
    small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["theory", small, "--every", "5", "--algorithm", "pao-fed-u1"]
    arguments += ["online-fedsgd:step_size=1.5", "online-fedsgd:step_size=90"]
    assert main([*arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines() == json.loads(out)["warnings"]
    words = [
        "online-fedsgd:step_size=1.5: step size 1.5 lets single steps expand",
        "online-fedsgd:step_size=90: the mean diverges, by a factor of ",
        "online-fedsgd:step_size=90: step size 90 is not below the bound ",
    ]
    assert all(line.startswith(text) for line, text in zip(err.splitlines(), words, strict=True))
    assert json.loads(out)["algorithms"][2]["mean_model_db"] is None

    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert err.count("\n") == 3
    last = next(line for line in out.splitlines() if line.startswith(f"{words[1][:26]} "))
    assert last.split()[3] == "diverged"
    assert out.splitlines()[-1] == f"{words[1][:26]}, tick after which its mean is at: none"


def test_a_trace_in_which_nobody_is_ever_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    idle = small_scenario(availability={"kind": "bernoulli", "probabilities": (0.0,)})
    realize(idle).save(tmp_path / "idle.npz")
    assert main(["theory", str(tmp_path / "idle.npz"), "--json"]) == 0
    for line in json.loads(capsys.readouterr().out)["algorithms"]:
        assert line["bytes_per_tick"] == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["SMALL", "--runs", "-1"], "runs is -1: expected at least 0"),
        (["SMALL", "--every", "0"], "every is 0: expected at least 1"),
        (["TRACE", "--runs", "2"], "is a trace, one run that was: --runs needs a scenario"),
        (["SMALL", "--algorithm", "pao-fed-u9"], "unknown algorithm 'pao-fed-u9'"),
        (["SMALL", "--algorithm", "online-fed:subset=4"], "picks a fixed number of clients (4)"),
        (["SMALL", "--algorithm", "pao-fed-u1:shared=25"], "the model has only 24 features"),
        (["SMALL", "--seed", "-1"], "seed -1"),
        (["SMALL", "--csv", "no/such/place.csv"], "is not a directory"),
        (["LARGE"], "need 2.4 GB of correlation matrices"),
        (["nowhere.toml"], "unknown scenario 'nowhere.toml'"),
        (["SHORT"], "client 0 has 5 samples: its moments need at least 10"),
    ],
)
def test_bad_input_is_one_line_and_nothing_written(
    arguments: list[str],
    text: str,
    small: str,
    trace: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    large, short = tmp_path / "large.toml", tmp_path / "short.npz"
    large.write_text(small_scenario(features=5000).to_toml())
    few = small_scenario(ticks=5, stream={"samples": (5,)})
    realize(few).save(short)
    files = {"SMALL": small, "TRACE": trace, "LARGE": str(large), "SHORT": str(short)}
    before = sorted(tmp_path.rglob("*"))
    words = [files.get(word, word) for word in arguments]
    if "--csv" not in words and "--figure" not in words:
        words += ["--csv", "out.csv", "--figure", "out.png"]
    try:
        code = main(["theory", *words])
    except SystemExit as stop:
        code = int(str(stop.code))
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("paofed theory: error: ")
    assert err.count("\n") == 1
    assert text in err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("kernel_width", "1e-06", "too much for the integrals of theory"),
        ("centre", "[1e150, 1e150]", "stream.centre.0 is 1e+150: expected at most 1e+06"),
        ("variance", "[1.0, 1e308]", "stream.variance.1 is 1e+308: expected at most 1e+12"),
    ],
)
def test_numbers_that_nothing_can_be_computed_with_are_one_line(
    key: str, value: str, told: str, small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(small)
    lines = path.read_text().splitlines()
    path.write_text("\n".join(f"{key} = {value}" if f"{key} =" in i[:14] else i for i in lines))
    assert main(["theory", small, "--algorithm", "pao-fed-u1"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert told in err
