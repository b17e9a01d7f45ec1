"""Methods by name from outside, as a user meets them: run, replay, theory, algorithms."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import paofed
from paofed.algorithms import OURS
from paofed.algorithms.setup import resolve
from paofed.cli import main
from paofed.simulate.engines.reference import replay
from paofed.simulate.results.result import Result
from tests.algorithms.outside import install, write_methods
from tests.effort import long, some
from tests.natures import small_scenario, small_trace


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a scenario, a trace and a file of methods."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.chdir(tmp_path)
    small = small_scenario(ticks=40, stream={"samples": (20, 40)})
    Path("small.toml").write_text(small.to_toml())
    small_trace(1, features=12).save(Path("trace.npz"))
    write_methods(tmp_path)


UNCOMPILED = """
def learn_in_words(state, z, y, mu, tick, *, words=False):
    return learn(state, z, y, mu, tick)


uncompiled = replace(calm, name="in words", learner=Learner(init=begin, learn=learn_in_words))
"""


def test_run_takes_methods_of_a_file_and_says_where_they_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Path("mine.py").open("a") as file:
        file.write(UNCOMPILED)
    usual = ["mine.py:calm:step_size=0.2", "mine.py:masked:keep=0.5"]
    own = [*some(usual, everyday=0), "mine.py:uncompiled"]
    words = ["run", "small.toml", "--runs", "2", "--workers", "2", "--json", "--out", "out.npz"]
    assert main([*words, "--algorithm", *own, "pao-fed-u1"]) == 0
    out, err = capsys.readouterr()
    names = [line["algorithm"] for line in json.loads(out)["algorithms"]]
    assert names == [*own, "pao-fed-u1"]
    result = Result.load(Path("out.npz"))
    refused = result.provenance["refused"]
    assert set(refused) == {"mine.py:uncompiled"}
    notes = [f"the reference engine takes {name}: {refused[name]}" for name in refused]
    assert [line for line in err.splitlines() if " engine takes " in line] == notes
    engines = dict(zip(result.algorithms, result.provenance["engines"], strict=True))
    assert {name for name, engine in engines.items() if engine != "fast"} == set(refused)


def outcome(*options: str) -> tuple[np.ndarray, dict[str, object]]:
    words = ["replay", "trace.npz", "--algorithm", "mine.py:masked", "--out", "out.npz", *options]
    assert main(words) == 0
    with np.load("out.npz") as file:
        return file["mse"], json.loads(str(file["provenance"]))


def test_the_seed_of_a_replay_is_that_of_what_a_method_draws() -> None:
    (usual, said), (other, said_there) = outcome(), outcome("--seed", "7")
    assert (said["seed"], said_there["seed"]) == (0, 7)
    assert (usual == outcome("--seed", "0")[0]).all()
    assert (usual != other).any()
    expected = replay(small_trace(1, features=12), resolve("mine.py:masked"), seed=7)
    np.testing.assert_array_equal(other, expected.mse)


BAD = {
    "run small.toml --algorithm mine.py:clam": "unknown name in mine.py 'clam': did you mean 'calm",
    "run small.toml --algorithm their.py:calm": "their.py:calm: their.py cannot be read: No such",
    "run small.toml --algorithm mine.py:calm --csv mine.py": "mine.py is given twice",
    "replay trace.npz --algorithm mine.py:odd --out o.npz": "mine.py:odd made int: expected",
    "replay trace.npz --algorithm mine.py:calm --seed -1 --out o.npz": "seed -1 is out of range",
    "theory small.toml --algorithm mine.py:calm": "mine.py:calm has rules of its own",
}


@pytest.mark.parametrize(("words", "text"), BAD.items())
def test_bad_input_is_one_line_and_exit_code_2(
    words: str, text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    assert main(words.split()) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"paofed {words.split()[0]}: error: ")
    assert text in err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def paofed_with(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the program where a folder holds installed packages."""
    home = Path(paofed.__file__).parents[1]
    return subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-m", "paofed", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (home, site)))},
    )


@long
def test_packages_that_bring_methods_are_listed_and_run(tmp_path: Path) -> None:
    site = tmp_path / "site"
    entries = {
        "acme-calm": "acme.methods:calm",
        "acme-masked": "acme.methods:masked",
        "acme-bad": "acme.methods:nothing",
        "pao-fed-u1": "acme.methods:calm",
    }
    install(site, "acme", entries)
    listed = paofed_with(site, "algorithms")
    lines = [line.split() for line in listed.stdout.splitlines()]
    assert lines[0] == ["algorithm", "options", "(default)", "brought", "by"]
    assert ["acme-calm", "acme", "1.2"] in lines
    assert ["acme-masked", "keep", "(0.3),", "step_size", "(0.25)", "acme", "1.2"] in lines
    bad, usurper = listed.stderr.splitlines()
    assert bad.startswith("acme-bad of acme 1.2 (acme.methods:nothing) raised AttributeError: mod")
    assert usurper == "acme 1.2 brings 'pao-fed-u1', a name of paofed's own: paofed's is used"
    found = json.loads(paofed_with(site, "algorithms", "--json").stdout)
    assert list(found) == [*OURS, "acme-calm", "acme-masked"]
    assert found["acme-masked"] == {"keep": 0.3, "step_size": 0.25, "brought by": "acme 1.2"}

    words = ["run", "small.toml", "--runs", "2", "--workers", "2", "--engine", "reference"]
    done = paofed_with(site, *words, "--algorithm", "acme-calm:max_age=3", "acme.methods:masked")
    assert done.returncode == 0, done.stderr
    for name in ("acme-calm:max_age=3", "acme.methods:masked"):
        assert any(line.startswith(name) for line in done.stdout.splitlines())


def test_packages_are_not_looked_for_where_the_registry_has_the_name() -> None:
    code = (
        "import sys\n"
        "from paofed.algorithms.setup import resolve\n"
        "resolve('pao-fed-u1:shared=8')\n"
        "sys.exit('importlib.metadata' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 (our own program)
