"""What a result hands on from Python, as the commands do: page, advice, predictor, fleet."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed import Result, Scenario, TableResult, predictor
from paofed.cli import main
from paofed.errors import FileError, InputError
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.model.predictor import FleetPredictor
from paofed.report.run.advice import advise
from paofed.report.run.advice_words import sentences
from paofed.report.run.page_files import PAGE
from paofed.simulate.montecarlo import run
from paofed.world.table.door import read
from tests.cli import table_runs
from tests.cli.table_runs import LINEUP, final
from tests.drawing import as_svg_alone
from tests.natures import small_scenario

WITHOUT_TABLE = (
    "^this result is a run over setting-1, which has no table: expected one over a table, "
    "whose columns devices measure$"
)
ALIKE = {"epoch": 0, "start": 1.0, "from_time": None}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scenario, TableResult]:
    return table_runs.made(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def synthetic() -> Result:
    return run(small_scenario(), "pao-fed-u1", engine="reference", workers=1)


def test_a_page_is_the_one_of_the_command(synthetic: Result, tmp_path: Path) -> None:
    saved, mine, theirs = tmp_path / "r.npz", tmp_path / "a" / "mine", tmp_path / "theirs"
    synthetic.save(saved)
    with as_svg_alone():
        assert synthetic.report(str(mine), "mqtt", saved) == mine / "report.html"
        assert main(["result", str(saved), "--report", str(theirs), "--tariff", "mqtt"]) == 0
    written = {path.name: path.read_bytes() for path in mine.iterdir()}
    assert written == {path.name: path.read_bytes() for path in theirs.iterdir()}
    assert {"report.html", "errors.csv"} < written.keys() <= set(PAGE)
    assert b"mqtt" in written["errors.csv"]


def test_json_is_what_the_command_prints(
    ran: tuple[Scenario, TableResult],
    synthetic: Result,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for result in (ran[1], synthetic):
        result.save(tmp_path / "r.npz")
        for tariff in ("payload", "mqtt"):
            assert main(["result", str(tmp_path / "r.npz"), "--json", "--tariff", tariff]) == 0
            assert capsys.readouterr().out == f"{result.to_json(tariff)}\n"


def test_advice_is_a_record_that_prints_as_sentences(
    ran: tuple[Scenario, TableResult], synthetic: Result
) -> None:
    result = ran[1]
    advice = result.advice
    assert advice == advise(result)
    assert str(advice).splitlines() == list(sentences(advice))
    with pytest.raises(FileError, match=WITHOUT_TABLE):
        _ = synthetic.advice


@pytest.mark.parametrize("name", [LINEUP[0], None])
def test_a_predictor_is_what_the_command_predicts_with(
    name: str | None,
    ran: tuple[Scenario, TableResult],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It sees the readings of the table as the command does, whose rows stand in another order."""
    scenario, result = ran
    model = result.predictor(name)
    best = min(LINEUP, key=lambda one: final(result, one, "server"))
    assert (model.w == result.models[0, LINEUP.index(name or best)]).all()
    result.save(tmp_path / "run.npz")
    words = ["predict", str(tmp_path / "run.npz"), "--input", scenario.table.file]
    assert main([*words, *(["--algorithm", name] if name else [])]) == 0
    told = np.array([float(text) for text in capsys.readouterr().out.splitlines() if text])
    mine = model.measured(read(scenario.table).x)
    apart = abs(told[:, np.newaxis] / mine - 1).min(axis=0)
    assert len(mine) > 60
    assert apart.max() < 1e-8  # nine digits are printed


def test_readings_by_name(ran: tuple[Scenario, TableResult]) -> None:
    """JSON takes the model elsewhere, where it predicts the same."""
    model = ran[1].predictor()
    assert [asked.name for asked in model.inputs] == ["a", "y[n-1]", "wind", "time", "a[n-2]"]
    reading = {"a": 21.0, "a[n-2]": 18.0, "y[n-1]": 2.0, "wind": "SW", "time": 1.715e9}
    found = model.predict(reading)
    assert -1 < found.value < 20
    assert (found.low, found.high) == (None, None)
    assert predictor(model.to_json().encode()).predict(reading) == found


def test_what_has_no_predictor(ran: tuple[Scenario, TableResult], synthetic: Result) -> None:
    with pytest.raises(FileError, match=WITHOUT_TABLE):
        synthetic.predictor()
    with pytest.raises(InputError, match=r"^this result: unknown algorithm 'pao-fed-u1'"):
        ran[1].predictor("pao-fed-u1")


def test_a_predictor_at_a_prompt(ran: tuple[Scenario, TableResult]) -> None:
    model = ran[1].predictor()
    assert isinstance(model, FleetPredictor)
    assert repr(model) == (
        f"<FleetPredictor of '{ran[0].name}', epoch 0, tick {ran[0].ticks}: "
        "y from a, y[n-1], wind, time, a[n-2]; 16 features>"
    )


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], {}),
        (["--model", "final", "--algorithm", LINEUP[2]], {"model": "final", "name": LINEUP[2]}),
        (["--tick", "60", "--clip", "none"], {"tick_seconds": 60.0, "clip": None}),
    ],
)
def test_a_fleet_is_the_one_of_the_command(
    words: list[str], given: dict[str, Any], ran: tuple[Scenario, TableResult], tmp_path: Path
) -> None:
    """All but what tells a fleet from every other: its epoch, and when it begins."""
    theirs = tmp_path / "theirs"
    ran[1].save(tmp_path / "run.npz")
    made = ["fleet", "init", str(theirs), "--from", str(tmp_path / "run.npz"), "--name", "mine"]
    assert main([*made, "--security", "none", *words]) == 0
    settings = Settings(name="mine", security="none")
    mine = ran[1].fleet(tmp_path / "mine", settings=settings, **given)
    agreed = []
    for fleet in (mine, Fleet(theirs)):
        with fleet.store() as store:
            server = store.recover()
        agreed.append((replace(server.manifest, **ALIKE), server.w.tobytes()))
        assert fleet.settings == settings
    assert agreed[0] == agreed[1]


def test_a_fleet_has_the_name_of_its_folder(
    ran: tuple[Scenario, TableResult], tmp_path: Path
) -> None:
    fleet = ran[1].fleet(str(tmp_path / "greenhouse"))
    assert (fleet.settings.name, fleet.settings.security) == ("greenhouse", "certificate")


def test_what_no_fleet_can_be_made_of(
    ran: tuple[Scenario, TableResult], synthetic: Result, tmp_path: Path
) -> None:
    folder = tmp_path / "fleet"
    with pytest.raises(FileError, match=WITHOUT_TABLE):
        synthetic.fleet(folder)
    with pytest.raises(InputError, match=r"^unknown model to begin with 'last'"):
        ran[1].fleet(folder, model="last")
    with pytest.raises(InputError, match=r"cannot be changed"):
        ran[1].fleet(folder, features=7)
    with pytest.raises(InputError, match=r"'stepsize': did you mean 'step_size'"):
        ran[1].fleet(folder, stepsize=0.2)
    for tick in (0, "a minute"):
        with pytest.raises(InputError, match=r"tick_seconds is .*: expected a finite number above"):
            ran[1].fleet(folder, tick_seconds=tick)
    assert not folder.exists()
