"""A sweep as it is asked for: in TOML, with the place of every mistake."""

from pathlib import Path
from typing import Any

import pytest

from paofed.algorithms import algorithm
from paofed.errors import InputError
from paofed.experiments.sweep.asked import asked_for, described, is_sweep, load, to_toml
from paofed.experiments.sweep.axes import Span
from tests.natures import small_scenario

TEXT = """\
scenario = "small.toml"
algorithms = ["pao-fed-u1", "online-fedsgd"]
runs = 3
seed = 7

[over]
step_size = [0.1, 0.4]
shared = [1, 4]
loss.up = [0.0, 0.2]
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(small_scenario().to_toml(), encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(TEXT, encoding="utf-8")
    return tmp_path / "sweep.toml"


def test_a_file_says_all_and_options_stand_in_its_place(written: Path) -> None:
    asked = load(written)
    assert asked.scenario == small_scenario()  # found beside the file, wherever one is
    assert asked.words == ["pao-fed-u1", "online-fedsgd"]
    assert (asked.runs, asked.seed, asked.fresh, asked.random) == (3, 7, 0, None)
    assert asked.axes == {"step_size": (0.1, 0.4), "shared": (1, 4), "loss.up": (0.0, 0.2)}
    assert len(asked.layout.points) == 8 + 4
    again = load(written, runs=5, random=4)
    assert (again.runs, again.seed, again.random) == (5, 7, 4)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    over = {"step_size": {"from": 0.1, "to": 1.6}, "loss.up": [0.0, 0.5], "exchange": ["live"]}
    asked = asked_for(small_scenario(), "pao-fed-u1", over, random=6, seed=3, fresh=2)
    about = {
        "methods": asked.words, "runs_requested": asked.runs, "seed": asked.seed,
        "random": asked.random, "fresh_requested": asked.fresh, "axes": described(asked.axes),
    }  # fmt: skip
    (tmp_path / "small.toml").write_text(small_scenario().to_toml(), encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(to_toml(about, "small.toml"), encoding="utf-8")
    again = load(tmp_path / "sweep.toml")
    assert again.axes["step_size"] == Span(0.1, 1.6, "log")
    assert again == asked


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("runs = 3", "rnus = 3", ":3: unknown key 'rnus': did you mean 'runs'"),
        ("runs = 3", "runs = 0", ":3: runs is 0: expected a whole number from 1 on"),
        ("runs = 3", "runs = 'x'", ":3: runs is 'x': expected a whole number from 1 on"),
        ("seed = 7", "seed = -7", ":4: seed -7 is out of range"),
        ("seed = 7", "random = 0", ":4: random is 0: expected a whole number from 1 on"),
        ("seed = 7", "seed = [", "not valid TOML"),
        ("[over]", "[under]", ":6: unknown key 'under' (known: scenario, "),
        ('scenario = "small.toml"\n', "", ": scenario is missing: expected the name of a preset"),
        ("small.toml", "smal.toml", ":1: unknown scenario"),
        ('"small.toml"', "1", ":1: scenario is 1: expected the name of a preset or of a file"),
        ("online-fedsgd", "online-fedsdg", ":2: unknown algorithm 'online-fedsdg': did you mean"),
        ('"online-fedsgd"', "2", ":2: algorithms holds 2: expected names"),
        ("online-fedsgd", "pao-fed-u1", ":2: pao-fed-u1 is given twice"),
        ("step_size = [0.1, 0.4]", "step_size = 0.1", ":7: step_size is 0.1: expected a list"),
        ("step_size = [0.1, 0.4]", "step_size = [0.1, -1]", ":7: pao-fed-u1 step_size=-1 shared=1"),
        ("step_size = [0.1, 0.4]", "step_szie = [0.1]", ":7: unknown key 'step_szie'"),
        ("step_size = [0.1, 0.4]", "step_size = {from = 0.1, to = 1}", ":7: step_size goes from"),
        ("step_size = [0.1, 0.4]", "step_size = {from = 0.1}", ":7: step_size.to is missing"),
        ("shared = [1, 4]", "shared = [1, 99]", ":8: pao-fed-u1 step_size=0.1 shared=99 loss.up=0"),
        ("up = [0.0, 0.2]", "up = [2]", ":9: loss.up=2: loss.up is 2: expected at most 1"),
        ("loss.up = [0.0, 0.2]", "loss.left = [0.1]", ":9: loss.left=0.1: unknown key 'left'"),
        ("online-fedsgd", "pao-fed-u2:aside=yes", ":2: pao-fed-u2:aside=yes"),
        ("loss.up = [0.0, 0.2]", "ticks = [10]", ":6: ticks=10: stream.samples asks for"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_place(written: Path, old: str, new: str, told: str) -> None:
    assert old in TEXT
    written.write_text(TEXT.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load(written)
    assert str(caught.value).startswith(str(written))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_a_sweep_is_told_from_a_scenario_s(written: Path) -> None:
    assert is_sweep(written)
    assert not is_sweep(written.with_name("small.toml"))
    assert not is_sweep("setting-1")
    assert not is_sweep("nowhere.toml")


@pytest.mark.parametrize(
    ("methods", "over", "told"),
    [
        ([], {"shared": [1]}, "no algorithm was given"),
        (["pao-fed-u1", "pao-fed-u1"], {"shared": [1]}, "pao-fed-u1 is given twice"),
        (
            ["ace:rate=0.1,max_age=5", "ace:max_age=5,rate=0.10"],
            {"features": [12, 24]},
            "ace:rate=0.1,max_age=5 and ace:max_age=5,rate=0.10 are the same: give each",
        ),
        (
            ["pao-fed-u1", algorithm("pao-fed-u1", shared=2)],
            {"shared": [1, 2]},
            "pao-fed-u1:shared=2 and pao-fed-u1 shared=2 are one algorithm, pao-fed-u1:shared=2",
        ),
        (["pao-fed-u1"], {}, "over is {}: expected keys"),
        (["pao-fed-u1"], ["shared"], r"over is \['shared'\]: expected keys"),
        ([3], {"shared": [1]}, "3 is no algorithm"),
    ],
)
def test_mistakes_in_python(methods: Any, over: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        asked_for(small_scenario(), methods, over)
