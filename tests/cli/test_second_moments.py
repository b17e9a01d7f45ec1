"""`paofed theory --second` as a user meets it."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from paofed.cli import main
from paofed.experiments.paper.theory import PARTS, PREDICTED
from paofed.report.paper import foretelling
from paofed.theory.foresight import foresee
from tests.natures import small_scenario

FEW = {"features": 12, "ticks": 80}
SAMPLES = (30, 50, 70)


@pytest.fixture
def free(tmp_path: Path) -> str:
    """A short scenario whose inputs are independent in time."""
    path = tmp_path / "free.toml"
    scenario = small_scenario(**FEW, stream={"memory": (0.0, 0.0), "samples": SAMPLES})
    path.write_text(scenario.to_toml())
    return str(path)


@pytest.fixture
def tied(tmp_path: Path) -> str:
    """The same with inputs that hardly change from tick to tick."""
    path = tmp_path / "tied.toml"
    stream = {"memory": (0.98, 0.98), "centre": (0.0, 0.0), "samples": SAMPLES}
    scenario = small_scenario(**FEW, stream=stream)
    path.write_text(scenario.to_toml())
    return str(path)


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[Any, list[str]]:
    """What the command prints as JSON, and its lines for people beside."""
    assert main(["theory", *arguments, "--second", "--json"]) == 0
    out, err = capsys.readouterr()
    return json.loads(out), err.splitlines()


def test_learning_curves_beside_runs(
    free: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, figure = tmp_path / "theory.csv", tmp_path / "theory.png"
    words = [free, "--algorithm", "pao-fed-u1", "online-fedsgd", "--runs", "100", "--every", "20"]
    printed, err = told([*words, "--csv", str(table), "--figure", str(figure)], capsys)
    assert err == printed["warnings"] == []
    assert figure.read_bytes().startswith(b"\x89PNG")
    with table.open() as file:
        rows = list(csv.DictReader(file))
    for line in printed["algorithms"]:
        second = line["second_moments"]
        mine = [row for row in rows if row["algorithm"] == line["algorithm"]]
        last = mine[-1]
        for row in mine:  # the parts are all of the error
            total = sum(float(row[part]) for part in PARTS)
            assert 10 ** (float(row[PREDICTED]) / 10) == pytest.approx(total)
        for key in (PREDICTED, "largest_gap_db", *PARTS):
            assert float(last[key]) == pytest.approx(second[key], abs=1e-12)
        late = [row for row in mine if int(row["tick"]) >= 50]
        gaps = [float(row[PREDICTED]) - float(row["learning_curve_db"]) for row in late]
        assert second["largest_gap_db"] == pytest.approx(max(gaps, key=abs), abs=1e-12)
        assert abs(second["largest_gap_db"]) < 0.2 + 4 * second["largest_gap_standard_error"]
        assert second["largest_gap_at_tick"] in (59, 79)
        assert second["refused"] is False
        assert second[PREDICTED] > line["mean_model_db"]
    windows, whole = (line["second_moments"] for line in printed["algorithms"])
    assert windows["stable_step"] == pytest.approx(
        foresee(free).stable_step("pao-fed-u1").step, rel=1e-9
    )
    assert 0 <= windows["stable_step_set_by_client"] < 12
    assert whole["stable_step_set_by_client"] is None
    assert "best_step" not in windows


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of an algorithm is computed once, however often it is shown."""
    known: dict[str, foretelling.Foreseen] = {}
    compute = foretelling.predicted

    def predicted(foresight: Any, method: Any, **options: Any) -> foretelling.Foreseen:
        if method.name not in known:
            known[method.name] = compute(foresight, method, **options)
        return known[method.name]

    monkeypatch.setattr(foretelling, "predicted", predicted)


@pytest.mark.usefixtures("once")
def test_tables_for_people_with_the_best_step_and_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    brief = small_scenario(
        **{**FEW, "ticks": 40}, stream={"memory": (0.0, 0.0), "samples": (15, 25, 35)}
    )
    path = tmp_path / "brief.toml"
    path.write_text(brief.to_toml())
    words = [str(path), "--algorithm", "pao-fed-u1:shared=6", "--best-step", "--steady-state"]
    assert main(["theory", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    *_, title, table = out.rstrip("\n").split("\n\n")
    assert title == "second moments, after the last tick"
    header, line = table.splitlines()
    assert "learning curve (dB)  largest gap (dB)  noise of tests  residual of the map" in header
    assert "best step  learning curve there (dB)  gap there (dB)  lost by it (dB)  ste" in header
    assert header.endswith("  steady state (dB)  gap of that (dB)")
    *_, stable, best, there, gap, _, error, lost, _, _, end, _, _, _ = line.split()
    assert float(best) < float(stable) < 3
    assert float(there) < 3
    assert abs(float(gap)) < 0.5
    assert float(error) > 0
    assert 0 <= float(lost) < 0.5
    printed, lines = told(words, capsys)
    second = printed["algorithms"][0]["second_moments"]
    assert second["steady_state_db"] == pytest.approx(float(end), abs=0.005)
    assert second["steady_state_db"] < second[PREDICTED]
    assert second["refused"] is False
    assert abs(second["largest_gap_db"]) <= 0.5
    assert second["largest_gap_runs"] >= 16
    assert lines == []


def test_a_step_that_is_not_stable_is_one_line(
    tied: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["theory", tied, "--algorithm", "pao-fed-u1:step_size=3"]
    for asked in ("--second", "--best-step", "--steady-state"):
        assert main([*words, asked]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err == (
            "paofed theory: error: pao-fed-u1:step_size=3 has no learning curve with step size 3: "
            "from 1.87 on it is not stable in the mean square; take a smaller step size\n"
        )


@pytest.mark.usefixtures("once")
def test_a_curve_that_is_far_off_is_refused_in_words(
    tied: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Inputs that hardly change teach little, and theory takes them for new ones."""
    table = tmp_path / "theory.csv"
    words = [tied, "--algorithm", "pao-fed-u1", "--runs", "60"]
    printed, err = told([*words, "--csv", str(table)], capsys)
    second = printed["algorithms"][0]["second_moments"]
    assert err == printed["warnings"]
    assert second["refused"] is True
    assert second["largest_gap_db"] < -0.5
    gap = f"{second['largest_gap_db']:+.2f} ± {second['largest_gap_standard_error']:.2f}"
    (warning,) = err
    assert warning == (
        f"pao-fed-u1: the predicted learning curve is refused: at tick 79 it is {gap} dB from 60 "
        "runs, more than 0.5; take a smaller step size, more frequent contacts or inputs with less "
        "memory, or simulate"
    )
    assert [second[key] for key in (PREDICTED, *PARTS)] == [None] * 5
    with table.open() as file:
        row = list(csv.DictReader(file))[-1]
    assert [row[key] for key in (PREDICTED, *PARTS)] == ["nan"] * 5
    assert float(row["largest_gap_db"]) == pytest.approx(second["largest_gap_db"])
    assert main(["theory", *words, "--second"]) == 0
    line = capsys.readouterr().out.splitlines()[-1].split()
    assert line[:8] == ["pao-fed-u1", "refused", *gap.split(), "-", "-", "-"]


def test_interrupted_it_shows_what_is_finished(
    free: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finish = foretelling.predicted

    def first_alone(foresight: Any, method: Any, **options: Any) -> foretelling.Foreseen:
        if method.name != "pao-fed-u1":
            raise KeyboardInterrupt
        return finish(foresight, method, **options)

    monkeypatch.setattr(foretelling, "predicted", first_alone)
    words = ["theory", free, "--algorithm", "pao-fed-u1", "pao-fed-c2", "--second", "--json"]
    assert main(words) == 130
    out, err = capsys.readouterr()
    first, second = json.loads(out)["algorithms"]
    assert first["second_moments"][PREDICTED] < 3
    assert second["second_moments"] is None
    assert second["mean_model_db"] < 3
    assert "interrupted: this is what was finished" in err


@pytest.mark.parametrize(
    ("algorithm", "changes", "text"),
    [
        ("pao-fed-u1:clip=2.0", {}, "theory knows linear rules alone; leave out clip"),
        ("fed-async", {}, "has rules of its own"),
        ("online-fedsgd:exchange=single", {}, "theory knows the spread of the exchange 'paper'"),
        ("pao-fed-u1", {"newcomers": "whole"}, "newcomers is 'whole', expected 'windows'"),
        ("pao-fed-u1:learner=rls", {}, "theory knows LMS steps alone"),
        ("online-fed:subset=4", {}, "theory needs a subset that is a fraction"),
        ("pao-fed-u1", {"loss": {"up": 0.1}}, "theory knows no loss"),
    ],
)
def test_what_theory_does_not_know_is_one_line(
    algorithm: str,
    changes: dict[str, Any],
    text: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text(small_scenario(**{"features": 12, "ticks": 150, **changes}).to_toml())
    assert main(["theory", str(path), "--algorithm", algorithm, "--second"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("paofed theory: error: ")
    assert text in err
