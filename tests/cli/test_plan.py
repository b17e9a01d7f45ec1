"""`paofed plan`: from a scenario to a file and commands that work."""

import json
import shlex
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.journal.store import Store
from paofed.planning import plan as module
from paofed.simulate.results.result import Result
from tests.planning.plans import small_fleet

Capture = pytest.CaptureFixture[str]
ONE = ["--algorithm", "pao-fed-u1:shared=2"]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "ROUNDS", (4, 2, 2))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.toml"
    path.write_text(small_fleet(tick=None).to_toml(), encoding="utf-8")
    return path


def test_a_plan_ends_in_a_scenario_and_a_fleet(file: Path, tmp_path: Path, capsys: Capture) -> None:
    arguments = [str(file), "--tick", "30min", "--budget", "2kB/day/device", *ONE]
    assert main(["plan", *arguments]) == 0
    out, err = capsys.readouterr()
    assert "nothing tried within that budget is better by more than" in out or "was worse" in out
    assert "error" not in err
    page = (tmp_path / "plan" / "plan.html").read_text(encoding="utf-8")
    told = json.loads((tmp_path / "plan" / "plan.json").read_text(encoding="utf-8"))
    assert told["chosen"]["candidate"] in page
    assert told["chosen"]["guards"] is not None
    planned = tomllib.loads((tmp_path / "plan" / "plan.toml").read_text(encoding="utf-8"))
    assert planned["tick"] == "30min"
    lines = [shlex.split(line) for line in out.splitlines() if line.startswith("paofed ")]
    run, init, device = lines
    assert main([*run[1:], "--out", "r.npz"]) == 0
    assert Result.load("r.npz").algorithms == [told["chosen"]["candidate"]]
    named = " ".join(init[1:]).replace("NAME ...", "a --input b").replace("NAME", "y")
    assert main(named.split()) == 0
    with closing(Store.open(Path("FLEET"))) as store:
        manifest = store.manifest()
    assert (manifest.shared, manifest.tick_seconds) == (2, 1800.0)
    assert f"step_size={manifest.step_size}" in told["chosen"]["candidate"]
    assert ("clip=6.0" in told["chosen"]["candidate"]) == (manifest.clip == 6.0)
    share = planned.get("contacts")
    assert device[4:] == ([] if share is None else ["--contacts", f"{share:g}"])


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
        (["--budget", "much"], "budget is 'much': expected bytes (B, kB, MB, GB) in a time"),
        (["--error", "good"], "error is 'good': expected decibels"),
        (["--error=-7dB", "--tariff", "pigeon"], "unknown tariff 'pigeon'"),
        (["--error=-7dB", "--tick", "soon"], "--tick is 'soon': expected a length"),
        (["--error=-7dB", "--contacts", "2"], "--contacts is 2.0: input should be less than"),
        (["--error=-7dB", "--workers", "0"], "workers is 0: expected a whole number from 1 on"),
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
