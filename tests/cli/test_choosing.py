"""`auto` in the place of a value, as a user of `paofed run` meets it."""

import json
from pathlib import Path

import numpy as np
import pytest

import paofed
from paofed.archives import save_arrays
from paofed.cli import main
from paofed.errors import FileError
from paofed.experiments.race.race import race
from paofed.experiments.race.record import Race
from paofed.report.run.page import build
from paofed.simulate.results.result import Result
from paofed.simulate.stopping import Interrupted
from tests.experiments.race.tables import CALIBRATION, readings
from tests.natures import small_scenario
from tests.world.table.tables import write

ASKED = "pao-fed-u1:max_age=auto"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("choosing") / "small.toml"
    path.write_text(small_scenario().to_toml())
    return str(path)


@pytest.fixture(scope="module")
def expected(small: str) -> Race:
    return race(small, ASKED, seed=3)


def test_one_option_of_one_algorithm(
    small: str, expected: Race, tmp_path: Path, capsys: Capture
) -> None:
    """The run is that of the winner; the result says what was chosen, wherever it is shown.

    An algorithm that is given and chosen is one.
    """
    words = ["run", small, "--seed", "3", "--out", str(tmp_path / "r.npz"), "--algorithm", ASKED]
    assert main([*words, "pao-fed-c1", expected.winner]) == 0
    out = capsys.readouterr().out
    result = Result.load(tmp_path / "r.npz")
    assert result.algorithms == [expected.winner, "pao-fed-c1"]
    assert result.provenance["chosen"] == [expected.as_json()]
    again = paofed.run(small, [ASKED, "pao-fed-c1", expected.winner], seed=3)
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "r.npz").read_bytes()
    assert out.rstrip().endswith(expected.sentence)
    page = build(result, {})
    assert expected.sentence in page
    assert expected.tried[-1].candidate in page
    assert main(["result", str(tmp_path / "r.npz"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chosen"] == [expected.as_json()]


def test_a_step_size_for_all_who_have_none(tmp_path: Path, capsys: Capture) -> None:
    """Over a table; baselines have the step size that is best for LMS."""
    csv = write(tmp_path / "t.csv", readings(9))
    columns = ["--device", "device", "--time", "time", "--target", "y", "--inputs", "a,b"]
    words = ["run", "--table", str(csv), *columns, "--calibration", f"{CALIBRATION}h"]
    words += ["--features", "9", "--cold-starts", "0", "--out", str(tmp_path / "r.npz")]
    words += ["--step-size", "auto", "--algorithm", "pao-fed-u1", "online-fedsgd:step_size=0.3"]
    assert main(words) == 0
    assert "chosen on the later half of the calibration period" in capsys.readouterr().out
    result = Result.load(tmp_path / "r.npz")
    (chosen,) = result.provenance["chosen"]
    assert chosen["asked"] == ["pao-fed-u1:step_size=auto"]
    assert result.algorithms == [chosen["winner"], "online-fedsgd:step_size=0.3"]
    step = float(chosen["winner"].rpartition("=")[2])
    assert result.provenance["scenario"]["step_size"] == step


def test_without_enough_to_choose_by(tmp_path: Path, capsys: Capture) -> None:
    csv = write(tmp_path / "t.csv", readings(2))
    columns = ["--device", "device", "--time", "time", "--target", "y", "--inputs", "a,b"]
    words = ["run", "--table", str(csv), *columns, "--features", "9", "--cold-starts", "0"]
    assert main([*words, "--step-size", "auto", "--algorithm", "pao-fed-u1"]) == 0
    said = "pao-fed-u1:step_size=0.4: as usual, since nothing could be chosen: the earlier half"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--step-size", "large"], "argument --step-size: 'large' is neither a number nor auto"),
        (["--algorithm", "pao-fed-u1:bound=auto"], "bound cannot be chosen: auto is for step_size"),
    ],
)
def test_what_cannot_be_chosen_is_one_line(
    small: str, words: list[str], said: str, capsys: Capture
) -> None:
    try:
        code = main(["run", small, *words])
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


@pytest.mark.parametrize("known", [True, False])
def test_an_interrupt_tells_what_is_known(
    small: str, expected: Race, known: bool, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = expected if known else None

    def stopped(*_: object, **__: object) -> None:
        raise Interrupted(race=found)

    monkeypatch.setattr("paofed.experiments.race.race.race", stopped)
    assert main(["run", small, "--algorithm", "pao-fed-u1:shared=auto"]) == 130
    err = capsys.readouterr().err
    assert err.endswith("paofed run: interrupted\n")
    assert (found is not None and str(found) in err) == known


def test_choices_that_are_none_are_no_result(small: str, tmp_path: Path) -> None:
    out = tmp_path / "r.npz"
    assert main(["run", small, "--algorithm", "pao-fed-u1", "--out", str(out)]) == 0
    with np.load(out) as file:
        arrays = dict(file)
    about = {**json.loads(str(arrays["provenance"])), "chosen": [{"sentence": 7}]}
    save_arrays(out, {**arrays, "provenance": np.array(json.dumps(about))})
    with pytest.raises(FileError, match="its choices are not told in words"):
        Result.load(out)
