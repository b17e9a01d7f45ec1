"""Files that programs read keep their columns and their keys, to the byte.

`written.json` holds what this test writes today: the header of every CSV with its last line, and
the keys of every JSON, with whole numbers as they are. Other numbers differ from machine to
machine, so that of these only the way in which they are written is held. After a change that was
meant, `python -m tests.test_written` writes the file anew.
"""

import contextlib
import csv
import io
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from paofed.algorithms.setup import Setup
from paofed.cli import main
from paofed.experiments.paper.study import EXCHANGES, ROWS, Cell, Study
from paofed.experiments.paper.theory import theory_beside
from paofed.experiments.plan.field import Candidate
from paofed.experiments.plan.record import FleetPlan
from paofed.world.scenario import Scenario
from tests.drawing import without_drawing
from tests.experiments.paper.test_claims import from_db, made_up
from tests.experiments.plan.plans import a_plan, small_fleet

KEPT = Path(__file__).with_name("written.json")
TINY = """name = "tiny"
ticks = 240
clients = 12
features = 16
kernel_width = 1.0
step_size = 0.4
max_age = 10
test_samples = 40
[stream]
kind = "synthetic"
samples = [60, 120, 180, 240]
drifts = [120]
[availability]
kind = "bernoulli"
probabilities = [0.25, 0.1, 0.025, 0.5]
[delay]
kind = "geometric"
base = 0.2
"""
AIR = Path("paofed/world/presets/air-quality").resolve()
METHODS = ("--algorithm", "pao-fed-u1", "online-fedsgd")
FAULTY = ("tiny.toml", *METHODS, "--runs", "2", "--fault", "scaled:by=10,clients=1")
OVER_AIR = ("air.toml", *METHODS, "--runs", "2", "--cold-starts", "1", "--report", "air")
RACED = ("tiny.toml", "--algorithm", "pao-fed-u1:step_size=auto", "--out", "raced.npz")
SWEPT = ("--over", "step_size=0.2,0.8", "loss.up=0,0.1", "--runs", "3", "--fresh", "2")
SECOND = ("--second", "--best-step", "--every", "100", "--algorithm", "pao-fed-u1")
RUNS: dict[str, tuple[str, ...]] = {
    "run": ("run", *FAULTY, "--report", "ran", "--out", "ran.npz", "--tariff", "mqtt-tls"),
    "result": ("result", "ran.npz", "--csv", "result.csv", "--json"),
    "table": ("run", *OVER_AIR, "--baselines", "last-value,alone,batch-fourier", "--json"),
    "race": ("run", *RACED, "--json"),
    "sweep": ("sweep", "tiny.toml", *METHODS, *SWEPT, "--json"),
    "theory": ("theory", "tiny.toml", *SECOND, "--csv", "theory.csv", "--json"),
    "beside": ("theory", "tiny.toml", "--runs", "3", "--csv", "beside.csv", "--json"),
}


def form(cell: str) -> str:
    """How a cell of a CSV is written: a number that is not whole is a dot among digits."""
    if re.fullmatch(r"-?\d+|inf|-inf|nan|", cell):
        return cell
    try:
        return "0.0" if repr(float(cell)) == cell else f"not as repr writes it: {cell}"
    except ValueError:
        return worded(cell)


def worded(text: str) -> str:
    """A text without its numbers."""
    return re.sub(r"[-+]?\d+(?:[.,]\d+)*", "#", text)


def shape(value: Any) -> Any:
    """The keys of a value in their order, and one of each kind of item in its lists."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        kinds = {json.dumps(shape(item)): None for item in value}
        return [json.loads(kind) for kind in kinds][:2]
    if isinstance(value, str):
        return worded(value)[:40]
    return 0.5 if isinstance(value, float) else value


def of_csv(path: Path) -> list[str]:
    """The header of a CSV, its last line, and how many lines it has."""
    first, *rest = path.read_bytes().decode().split("\n")[:-1]
    return [first, " | ".join(map(form, next(csv.reader([rest[-1]])))), str(len(rest))]


def written(folder: Path) -> dict[str, Any]:
    """What all commands write into a folder, and what they print as JSON."""
    (folder / "tiny.toml").write_text(TINY)
    stream = AIR.with_suffix(".toml").read_text().replace("air-quality.csv.gz", f"{AIR}.csv.gz")
    short = stream.replace('"20d"', '"20d"\nuntil = "2016-05-08"').replace("= 200 ", "= 16 ")
    (folder / "air.toml").write_text(short)
    found: dict[str, Any] = {}
    with contextlib.chdir(folder), without_drawing():  # a page's numbers, and not its figures
        for name, words in RUNS.items():
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                assert main(list(words)) == 0, err.getvalue()
            if "--json" in words:
                found[f"{name} --json"] = shape(json.loads(out.getvalue()))
        (folder / "study").mkdir()
        paper().save(Path("study"))
        found["plan.json"] = shape(plan().as_json())
        found |= {str(p.relative_to(folder)): of_csv(p) for p in sorted(folder.rglob("*.csv"))}
    return found


def plan() -> FleetPlan:
    """A plan that nobody has computed."""
    candidates = [
        Candidate(Setup.of(w), c)
        for w, c in (("pao-fed-u1:shared=2", 1.0), ("pao-fed-c1:clip=4", 0.5))
    ]
    return a_plan(small_fleet(), *candidates)


def paper() -> Study:
    """A study of numbers that are made up, and of theory that is not."""

    def made(names: tuple[str, ...], runs: int) -> Any:
        curves = {n: from_db([[-9.5 - i] * 40] * runs) for i, n in enumerate(names)}
        return made_up(curves, {n: [list(range(1, 41))] * runs for n in names})

    lineup = (*ROWS, *(str(other) for _, other in EXCHANGES))
    settings = ("setting-1", "setting-2")
    results = {name: made(lineup, 2) for name in settings}
    results["ideal"] = made(("pao-fed-c1", "pao-fed-u1"), 2)
    grid = {Cell(1.0, step): {name: made(ROWS, 2) for name in settings} for step in (0.2, 0.4)}
    beside = theory_beside(Scenario.load("tiny.toml"), ["pao-fed-u1"], runs=2, every=100)
    return Study(results, grid, {"the paper's inputs": beside})


def test_what_programs_read_is_written_as_before(tmp_path: Path) -> None:
    known, now = json.loads(KEPT.read_text()), written(tmp_path)
    assert list(now) == list(known)
    as_text = {name: (json.dumps(now[name]), json.dumps(known[name])) for name in known}
    differ = {name: texts for name, texts in as_text.items() if texts[0] != texts[1]}
    assert differ == {}  # the order of keys, too


if __name__ == "__main__":
    os.environ.pop("PAOFED_STORE", None)
    with tempfile.TemporaryDirectory() as place:
        KEPT.write_text(json.dumps(written(Path(place)), indent=1) + "\n")
