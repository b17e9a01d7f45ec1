"""`paofed plan`: from a scenario to a file and commands that work."""

import json
import shlex
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest

from paofed.algorithms.setup import Setup
from paofed.cli import main
from paofed.experiments.experiment import Experiment
from paofed.experiments.plan import plan as module
from paofed.experiments.plan.field import Candidate
from paofed.experiments.plan.use import commands
from paofed.live.journal.store import Store
from paofed.live.protocol.served import own_options
from paofed.simulate.results.result import Result
from tests.effort import long
from tests.experiments.plan.plans import a_plan, small_fleet
from tests.live.own_method import CALM

Capture = pytest.CaptureFixture[str]
ONE = ["--algorithm", "pao-fed-u1:shared=2"]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "ROUNDS", (4, 2, 2))
    monkeypatch.setattr("paofed.experiments.plan.screening._POINTS", 64)  # a look, not a judgement
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.toml"
    path.write_text(small_fleet(tick=None).to_toml(), encoding="utf-8")
    return path


def planned(*options: str) -> dict[str, Any]:
    """Make a plan, and return what it says as JSON has it."""
    arguments = ["--tick", "30min", "--budget", "2kB/day/device", *ONE, *options]
    assert main(["plan", "small.toml", *arguments]) == 0
    told: dict[str, Any] = json.loads(Path("plan/plan.json").read_text(encoding="utf-8"))
    return told


@pytest.mark.usefixtures("file")
def test_a_plan_ends_in_a_scenario_that_can_be_run(capsys: Capture) -> None:
    told = planned("--exchange", "single")
    out, err = capsys.readouterr()
    assert told["sentence"] in out
    assert "error" not in err
    assert told["chosen"]["candidate"] in Path("plan/plan.html").read_text(encoding="utf-8")
    assert Path("plan/plan.png").stat().st_size > 1000
    (command,) = (line for line in out.splitlines() if line.startswith("paofed "))
    assert main([*shlex.split(command)[1:], "--out", "r.npz"]) == 0
    result = Result.load("r.npz")
    assert result.algorithms == [told["chosen"]["candidate"]]
    assert result.provenance["scenario"]["tick"] == "30min"


@pytest.mark.usefixtures("file")
@long
def test_a_plan_is_the_same_as_json_and_from_a_store(capsys: Capture) -> None:
    told = planned("--exchange", "single")
    for _ in range(2):  # computed, and read
        capsys.readouterr()
        planned("--exchange", "single", "--json", "--store", "units")
        assert json.loads(capsys.readouterr().out) == told


@pytest.mark.usefixtures("file")
@long
def test_a_plan_ends_in_a_fleet(capsys: Capture) -> None:
    told = planned()
    assert told["chosen"]["guards"] is not None
    out = capsys.readouterr().out
    _, init, device = [line for line in out.splitlines() if line.startswith("paofed ")]
    require_fleet(init, told["chosen"]["candidate"])
    share = told["scenario"].get("contacts")
    used = "" if share is None else f" --contacts {share:g}"
    assert device == f"paofed device run DEVICE.json{used}"


def require_fleet(command: str, word: str) -> None:
    """Make the fleet of a command, with names filled in, and hold it against what was planned."""
    named = command.replace("NAME ...", "a --input b").replace("NAME", "y")
    assert main(named.split()[1:]) == 0
    with closing(Store.open(Path("FLEET"))) as store:
        manifest = store.epochs.manifest()
    setup = Setup.of(word)
    row, options = setup.row, setup.values
    assert (manifest.algorithm, manifest.shared) == (row, options["shared"])
    assert (manifest.step_size, manifest.tick_seconds) == (options["step_size"], 1800.0)
    assert (manifest.clip, manifest.bound) == (options.get("clip"), options.get("bound"))
    own = {key: options[key] for key in own_options(row) if key in options}
    assert manifest.options == (own or None)
    does, planned = manifest.row.describe(), setup.algorithm().describe()
    assert all(does[part] == planned[part] for part in ("downlink", "uplink", "server", "learner"))


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    "word",
    [
        "pao-fed-u2:shared=3,step_size=0.7,exchange=live",
        "pao-fed-c1:shared=2,step_size=1.2,exchange=live,clip=6.0,aside=true,bound=6.0",
        "quantised:bits=8,down_bits=8,shared=4,step_size=0.4,exchange=live",
        "fed-async:alpha=0.1,shared=4,step_size=0.4,exchange=live,bound=6.0",
        "pao-fed-u1:shared=2,step_size=10.0,exchange=live,learner=rls,forgetting=0.9",
        "pao-fed-u1:shared=2,step_size=0.4,exchange=live,learner=lms,clip=4.0,aside=false",
    ],
)
def test_whatever_is_planned_can_be_a_fleet(word: str) -> None:
    scenario = small_fleet(tick="30min")
    _, init, device = commands(a_plan(scenario, Candidate(Setup.of(word), 0.25)), "plan.toml")
    require_fleet(init, word)
    assert device == "paofed device run DEVICE.json --contacts 0.25"


def test_without_a_tick_a_daily_budget_is_refused(file: Path, capsys: Capture) -> None:
    assert main(["plan", str(file), "--budget", "2kB/day/device", *ONE]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "needs to know how long a tick is, and small does not say: give --tick 1h" in err
    assert not Path("plan").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "a plan needs a budget, as in 2kB/day/device, or an error, as in -7dB"),
        (["--budget", "much"], "--budget is 'much': expected bytes (B, kB, MB, GB) in a time"),
        (["--error=-7dB", "--tick", "soon"], "--tick is 'soon': expected a length"),
        (["--error=-7dB", "--contacts", "2"], "--contacts is 2.0: expected at most 1"),
    ],
)
def test_what_is_wrong_is_one_line(
    options: list[str], says: str, file: Path, capsys: Capture
) -> None:
    assert main(["plan", str(file), *ONE, *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err
    assert not Path("plan").exists()


@pytest.mark.parametrize(
    ("word", "changes", "says"),
    [
        ("pao-fed-u1:staleness=0.5", {}, "pao-fed-u1: no manifest says staleness"),
        ("pao-fed-u1:divisor=coverage", {}, "pao-fed-u1: no manifest says divisor"),
        ("pao-fed-u1:max_age=500", {}, "the manifest's max_age is 500: expected 0 to 200"),
        ("pao-fed-u1", {"max_age": 300}, "the manifest's max_age is 300: expected 0 to 200"),
        ("pao-fed-u1:learner=weighed", {}, "has not learned to weigh forecasters yet"),
        (
            "wordy.py:calm:way=left",
            {},
            "options is {'way': 'left'}: expected numbers for part, way",
        ),
        ("wordy.py:calm:way=yes", {}, "options is {'way': True}: expected numbers for part, way"),
    ],
)
def test_what_no_fleet_can_serve_is_refused_before_anything_is_run(
    word: str,
    changes: dict[str, Any],
    says: str,
    file: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forbidden(*_: object, **__: object) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr(Experiment, "run", forbidden)
    file.write_text(small_fleet(tick=None, **changes).to_toml(), encoding="utf-8")
    Path("wordy.py").write_text(CALM.replace("part=0.5)", "part=0.5, way=None)"), encoding="utf-8")
    assert main(["plan", "small.toml", "--budget", "100kB/run", "--algorithm", word]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "no live fleet can serve" in err
    assert says in err
    with pytest.raises(AssertionError):  # which a simulation alone may be planned with
        main(["plan", "small.toml", "--budget=100kB/run", "--exchange=single", "--algorithm", word])


@pytest.mark.usefixtures("file")
def test_an_interrupt_tells_what_is_known(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the race, before anything is judged: nothing is written."""

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "guard", stopped)
    arguments = ["plan", "small.toml", "--budget", "100kB/run", *ONE]
    assert main(arguments) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert "not judged on fresh worlds" in err
    assert err.endswith("paofed plan: interrupted\n")
    assert not Path("plan").exists()
