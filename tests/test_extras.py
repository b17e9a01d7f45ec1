"""Each extra alone: every verb shows its help, its own actions work, and one line says what lacks.

In everyday work all packages of other extras are hidden; CI installs the wheel with each extra into
an environment of its own, which has nothing else.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from paofed.cli import PAOFED
from tests.effort import effort, long
from tests.formats.make import FOLDER as FORMATS
from tests.natures import small_scenario
from tests.test_strangers import COMMAND, readings
from tests.test_wheel import Clean, built

SIMULATOR = (
    *("cloudpickle", "llvmlite", "matplotlib", "numba", "pydantic", "pydantic_core", "scipy"),
    *("threadpoolctl", "polars", "pandas", "xarray", "sklearn", "river", "dask", "distributed"),
)
LIVE = ("cryptography", "jinja2", "markupsafe", "paho")
# Runs commands one after the other in a process that does not find some packages.
DRIVER = """\
import contextlib, io, json, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

hidden, commands = json.loads(sys.argv[1])
sys.meta_path.insert(0, Hidden())
from paofed.cli import main
told = []
for words in commands:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code
    told.append((words, code, out.getvalue(), err.getvalue()))
print(json.dumps(told))
"""
INPUTS = "--input temperature:20:10 --target load:300:100"
FLEET = [
    f"fleet init farm {INPUTS}",
    "fleet add farm north south",
    "fleet gateway farm hall --places 2",
    "fleet status farm",
    "fleet page farm --out page.html",
    "fleet change farm --step-size 0.3 --dry-run",
    "fleet clock farm",
    "fleet firmware farm north",
    "fleet trust farm north",
    "fleet rotate farm north",
    "fleet quarantine farm south",
    "fleet monitoring farm --out monitoring",
    "fleet token farm dashboard --may see",
    "fleet verify farm",
    "fleet model farm --out model.json",
    "fleet export farm --messages messages.csv",
    "fleet rollback farm 0 --dry-run",
    "fleet without farm south --since 0 --dry-run",
    "fleet backup farm farm.tar",
    "fleet restore farm.tar again",
    "fleet repair again",
    "fleet services farm --out units",
    "fleet remove farm south",
]
# Who asks for what without an extra, and the extras that the one line names.
MISSING = {
    "fleet init barn " + INPUTS: "fleet",
    "device run 0-north.json": "device",
    "demo": "sim,fleet,demo",
    "run setting-1": "sim",
    "plan setting-1 --budget 2kB/day/device": "sim",
}


class Told(NamedTuple):
    """What a command told, and its exit code."""

    words: list[str]
    code: int
    out: str
    err: str


def helps() -> list[str]:
    """Every verb and every action, asked for help."""
    actions = {verb: PAOFED.actions_of(verb) for verb in PAOFED.verbs}
    beneath = [f"{verb} {action}" for verb, known in actions.items() for action in known]
    return [f"{command} --help" for command in (*PAOFED.verbs, *beneath)]


def driven(
    python: str, folder: Path, commands: Iterable[str], hidden: Sequence[str] = ()
) -> list[Told]:
    """Run commands in a folder, without some packages."""
    asked = json.dumps([hidden, [command.split() for command in commands]])
    home = {"HOME": str(folder)} if not hidden else {}
    done = subprocess.run(  # noqa: S603 (our own program)
        [python, "-c", DRIVER, asked], cwd=folder, env={**os.environ, **home},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [Told(*one) for one in json.loads(done.stdout)]


def require_success(told: Iterable[Told]) -> None:
    assert [(one.words, one.err) for one in told if one.code] == []


def require_hints(told: Iterable[Told], expected: Iterable[str]) -> None:
    for one, extras in zip(told, expected, strict=True):
        assert one.code == 2, one
        assert one.err.count("\n") == 1, one
        assert one.err.endswith(f"which is not installed: pip install 'paofed[{extras}]'\n"), one


def test_every_verb_shows_its_help_without_any_extra(tmp_path: Path) -> None:
    asked = helps()
    told = driven(sys.executable, tmp_path, asked, (*SIMULATOR, *LIVE))
    require_success(told)
    assert all("usage: paofed" in one.out for one in told)
    assert len(told) > len(PAOFED.verbs) + len(PAOFED.actions_of("fleet"))


def test_a_missing_extra_is_named_once_and_rightly(tmp_path: Path) -> None:
    told = driven(sys.executable, tmp_path, MISSING, (*SIMULATOR, *LIVE))
    require_hints(told, MISSING.values())


def test_a_fleet_needs_nothing_of_the_simulator(tmp_path: Path) -> None:
    """Every action but `serve`, which runs until it is stopped."""
    assert {command.split()[1] for command in FLEET} == set(PAOFED.actions_of("fleet")) - {"serve"}
    some = FLEET[: effort(everyday=6, thorough=len(FLEET))]
    require_success(driven(sys.executable, tmp_path, some, SIMULATOR))


def test_a_module_that_only_other_systems_have(tmp_path: Path) -> None:
    """As on Windows, where no extra would help."""
    (told,) = driven(sys.executable, tmp_path, ["run setting-1"], ("fcntl",))
    assert told.code == 2
    assert told.err.endswith("paofed needs Linux or macOS\n")
    assert "pip" not in told.err


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("built"))[1]


def at_work(extras: str, folder: Path) -> list[str]:
    """Documented commands for which these extras are enough."""
    model = FORMATS / "model-1.npz"
    (folder / "seen.csv").write_text("a,b,c,d\n" + "0.1,0.2,0.3,0.4\n")
    (folder / "small.toml").write_text(small_scenario().to_toml(), encoding="utf-8")
    (folder / "sheds.csv").write_text("\n".join(readings()) + "\n", encoding="utf-8")
    quickly = "--engine reference"
    commands = ["algorithms", f"device c {model} --out kit"]
    if "device" in extras:
        commands += ["gateway --example tasmota"]
    if "fleet" in extras:
        commands += FLEET
    if "sim" in extras:
        commands += [
            "scenario show setting-1",
            f"run small.toml --algorithm pao-fed-u1 --runs 2 --out run.npz {quickly}",
            "result run.npz --figure curves.png --report page",
            "trace small.toml --out trace.npz",
            "replay trace.npz --algorithm pao-fed-u1 --out outcome.npz --engine reference",
            "theory small.toml --algorithm pao-fed-u1",
            f"sweep small.toml --algorithm pao-fed-u1 --over shared=1,2 {quickly}",
        ]
    if "table" in extras:
        commands += [f"{COMMAND.removeprefix('paofed ')} {quickly} --cold-starts 0"]
    return commands


@long
@pytest.mark.parametrize("extras", ["", "device", "fleet", "sim", "sim,table"])
def test_an_extra_in_an_environment_of_its_own(extras: str, wheel: Path, tmp_path: Path) -> None:
    clean = Clean(sys.executable, tmp_path / "clean")
    clean.install(f"{wheel}[{extras}]" if extras else str(wheel))
    folder = tmp_path / "work"
    folder.mkdir()
    require_success(driven(clean.python, folder, [*helps(), *at_work(extras, folder)]))
    if "device" in extras:  # nobody answers, but everything that a device needs is there
        lone = "device run 0-north.json --join-within 0.1"
        require_success(driven(sys.executable, folder, FLEET[:2]))
        (folder / "0-north.json").write_bytes((folder / "farm/devices/0-north.json").read_bytes())
        (told,) = driven(clean.python, folder, [lone])
        assert "the fleet was not reached" in told.err
    lacking = {"device": {"fleet", "sim"}, "fleet": {"sim"}, "": {"fleet", "device", "sim"}}
    asked = {c: e for c, e in MISSING.items() if {e} & lacking.get(extras, {"fleet", "device"})}
    require_hints(driven(clean.python, folder, asked), asked.values())
