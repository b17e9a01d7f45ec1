import json
from pathlib import Path

import pytest

from paofed.cli import main
from tests.report.compare.plans import SMALL


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
    assert "on the front" in said
    assert "pao-fed-u1:shared=" in said
    files = ["about.json", "compare-1.png", "compare-1.svg", "compare-2.png", "compare-2.svg",
             "compare.csv", "compare.html", "units"]  # fmt: skip
    assert sorted(path.name for path in out.iterdir()) == files
    command = json.loads((out / "about.json").read_text())["command"]
    assert command.endswith(
        "--runs 2 --seed 0 --tariffs payload,mqtt --entrants online-fed --quick"
    )
    times = {path: path.stat().st_mtime_ns for path in (out / "units").iterdir()}
    assert main(words(tmp_path)) == 0
    assert capsys.readouterr().out == said
    assert times == {path: path.stat().st_mtime_ns for path in (out / "units").iterdir()}
    assert main(words(tmp_path, "--seed", "1")) == 2
    assert "was made by" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--entrants", "gossip"), "unknown entrant 'gossip'"),
        (("--tariffs", "mqtt,mqtt"), "tariffs is 'mqtt,mqtt': expected each of them once"),
        (("--tariffs", "post"), "unknown tariff 'post'"),
        (("--runs", "1"), "runs is 1: expected a whole number from 2 on"),
        (("--seed", "-1"), "seed"),
        (("--workers", "0"), "workers is 0: expected a whole number from 1 on"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], text: str
) -> None:
    assert main(words(tmp_path, *more)) == 2
    assert text in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
