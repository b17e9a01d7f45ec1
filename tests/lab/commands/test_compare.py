import json
from itertools import product
from pathlib import Path

import pytest

from lab.commands import main
from paofed.report.comparison.page import PAO_FED, load
from tests.lab.compare.plans import SMALL


def words(folder: Path, *more: str) -> list[str]:
    file = folder / "small.toml"
    file.write_text(SMALL.replace("features = 24", "features = 64"))
    out = str(folder / "out")
    return ["compare", str(file), "--entrants", "online-fed", "--quick", "--out", out, *more]


def test_a_comparison_is_written_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(tmp_path)) == 0
    said, out = capsys.readouterr().out, tmp_path / "out"
    budgets = [tuple(line.split()[1:3]) for line in said.splitlines()[1:7]]
    assert budgets == list(product(("payload,", "mqtt,"), ("quarter", "same", "tenfold")))
    assert "least error" in said
    assert "mean dB" in said
    files = ["about.json", "compare-1.png", "compare-1.svg", "compare-2.png", "compare-2.svg",
             "compare.csv", "compare.html", "jobs"]  # fmt: skip
    assert sorted(path.name for path in out.iterdir()) == files
    command = json.loads((out / "about.json").read_text())["command"]
    assert command.endswith(
        "--runs 2 --seed 0 --tariffs payload,mqtt --entrants online-fed --quick"
    )
    times = {path: path.stat().st_mtime_ns for path in (out / "jobs").rglob("*.npz")}
    assert main(words(tmp_path)) == 0
    assert capsys.readouterr().out == said
    assert times == {path: path.stat().st_mtime_ns for path in (out / "jobs").rglob("*.npz")}
    assert main(words(tmp_path, "--seed", "1")) == 2
    assert "was made by" in capsys.readouterr().err


MINE = """
from dataclasses import replace
from paofed import algorithm
from paofed.core.selection import Windows

def block(*, size: int = 2):
    return replace(algorithm("pao-fed-u1"), downlink=Windows(size, coordinated=True))
"""


def test_entrants_of_one_s_own_choose_from_grids_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    own = "--own mine.py:block size=1,4 step_size=0.1,0.5 --own pao-fed-c2:shared=2"
    given = words(tmp_path, "--tariffs", "payload", *own.split())
    given[given.index("online-fed")] = "pao-fed-u"
    assert main(given) == 0
    chosen: dict[str, set[str]] = {}
    for one in load(tmp_path / "out" / "compare.csv"):
        chosen.setdefault(one.entrant, set()).add(one.word)
    assert set(chosen) == {*PAO_FED, "mine.py-block", "pao-fed-c2-shared-2"}
    tried = {f"mine.py:block:size={m},step_size={mu}" for m in (1, 4) for mu in (0.1, 0.5)}
    assert chosen["mine.py-block"] <= tried
    assert chosen["pao-fed-c2-shared-2"] == {"pao-fed-c2:shared=2"}
    command = json.loads((tmp_path / "out" / "about.json").read_text())["command"]
    assert command.endswith(f"--entrants pao-fed-u {own} --quick")


def test_settings_of_one_name_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = words(tmp_path)
    assert main([*given[:2], *given[1:]]) == 2
    assert "settings are small, small: expected each name once" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--own", "online-fed"), "online-fed is an entrant already: name each of them once"),
        (("--own", "fed-async", "beta=1,2"), "unknown option 'beta'"),
        (("--own", "fed-async", "alpha=1,0.5", "alpha=0.1"), "expected each option once"),
        (("--own", "fed-async", "alpha=0.1..0.6"), "alpha=0.1..0.6 is a span: expected values"),
        (
            ("--own", "fed-async", "shared=1,2,3,4,5", "alpha=0.1,0.2,0.3,0.4,0.5"),
            "fed-async has 25 candidates: expected at most 24, as many as every other entrant",
        ),
        (("--own", "pao-fed-u1", "shared=99"), "pao-fed-u1 has no window of at most 64 in"),
        (("--own", "pao-fed-u1:shared=99"), "shared is 99, but the model has only 64 features"),
        (("--tariffs", "mqtt,mqtt"), "tariffs is 'mqtt,mqtt': expected each of them once"),
        (("--tariffs", "post"), "unknown tariff 'post'"),
        (("--runs", "1"), "runs is 1: expected a whole number from 2 on"),
        (("--seed", "-1"), "seed"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], text: str
) -> None:
    assert main(words(tmp_path, *more)) == 2
    assert text in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
