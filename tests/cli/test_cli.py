import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest

from lab.commands import LAB
from paofed import __version__
from paofed.algorithms import OURS
from paofed.cli import PAOFED, main
from paofed.cli.program import Program, warnings_said
from paofed.errors import PaofedWarning, TraceError

VERBS = PAOFED.verbs
ACTIONS = [f"{verb} {action}" for verb in VERBS for action in PAOFED.actions_of(verb)]
COMMANDS = [
    *((PAOFED, verb) for verb in VERBS if not PAOFED.actions_of(verb)),
    *((PAOFED, action) for action in ACTIONS),
    *((LAB, verb) for verb in LAB.verbs),
]


def test_help_ends_with_an_example_that_can_be_parsed() -> None:
    for program, verb in COMMANDS:
        parser = program.parser_of(verb)
        example = parser.format_help().rstrip().splitlines()[-1]
        assert example.startswith("example: ")
        _, called, words = f"{example} ".partition(f"{program.name} {verb} ")
        assert called, example
        assert parser.parse_known_only(shlex.split(words)).run is not None


def helped(
    words: list[str], capsys: pytest.CaptureFixture[str], program: Program = PAOFED
) -> list[str]:
    with pytest.raises(SystemExit) as stop:
        program.main(words)
    assert stop.value.code == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.rstrip().splitlines()


def under_titles(lines: list[str]) -> dict[str, list[str]]:
    """The names that a help lists, by the titles above them."""
    found: dict[str, list[str]] = {}
    for line in lines[lines.index("") + 1 :]:
        if re.fullmatch(r"[a-z ]+:", line):
            names = found.setdefault(line.rstrip(":"), [])
        elif re.match(r"  [a-z]", line):
            names.append(line.split()[0])
    return found


@pytest.mark.parametrize("verb", ["", "fleet"])
def test_help_lists_what_there_is_and_ends_with_an_example(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = helped([verb] if verb else [], capsys)
    for name, text in (PAOFED.actions_of(verb) if verb else VERBS).items():
        assert f"  {name:<12}{text}" in lines
    groups = PAOFED._groups_of(verb) if verb else PAOFED.groups
    shown = {title: list(known) for title, known in groups.items()}
    assert under_titles(lines) == {"options": [], **shown}
    assert lines[-1].startswith("example: ")
    assert f"paofed {verb or 'run'} " in lines[-1]
    assert "ACTION ..." in lines[0] if verb else "VERB ..." in lines[0]
    for form in ("{} -h", "{} --help", "help {}"):
        assert helped(form.format(verb).split(), capsys) == lines


def test_the_laboratory_has_a_help_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    lines = helped([], capsys, LAB)
    assert lines[0] == "usage: python -m lab VERB ..."
    assert [name for names in under_titles(lines).values() for name in names] == list(LAB.verbs)
    assert helped(["help", "chaos"], capsys, LAB)[0].startswith("usage: python -m lab chaos ")


def test_help_on_one_action(capsys: pytest.CaptureFixture[str]) -> None:
    lines = helped(["help", "fleet", "init"], capsys)
    assert lines == helped(["fleet", "init", "--help"], capsys)
    assert lines[0].startswith("usage: paofed fleet init ")


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert helped(["--version"], capsys) == [f"paofed {__version__}"]


def test_commands_have_a_file_each_or_are_in_that_of_their_group() -> None:
    assert PAOFED.actions_of("run") == {}
    several = {verb for verb in PAOFED.verbs if PAOFED.actions_of(verb)}
    assert several == {"fleet", "device"}
    files = {f"paofed.cli.{verb}": PAOFED.actions_of(verb) for verb in several}
    for name, known in {**files, "lab.commands": LAB.verbs}.items():
        package = import_module(name)
        homes = getattr(package, "HOMES", {})
        found = {path.stem for path in Path(package.__path__[0]).glob("*.py")} - {"__init__"}
        assert found == {homes.get(action, action) for action in known}
        for home in {*homes.values()}:
            here = {action for action in known if homes.get(action) == home}
            assert import_module(f"{name}.{home}").COMMANDS.keys() == here


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["help", "learn"], "paofed: error: unknown verb 'learn' (known: run, "),
        (["repaly"], "paofed: error: unknown verb 'repaly': did you mean 'replay'? (known: run, "),
        (
            ["fleet", "verfy", "x"],
            "paofed fleet: error: unknown action 'verfy': did you mean 'verify'? (known: init, ",
        ),
        (["fleet", "--json"], "paofed fleet: error: unknown action '--json'"),
        (["run", "--live"], "paofed run: error: unexpected '--live'"),
        (["fleet", "folder"], "paofed fleet: error: unknown action 'folder'"),
    ],
)
def test_what_is_missing_or_unknown_is_told_with_the_nearest(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(says)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("run setting-1 --runs 0", "--runs is 0: expected a whole number from 1 on"),
        ("run setting-1 --cold-starts -1", "--cold-starts is -1: expected a whole number"),
        ("run setting-1 --seed -1", "--seed -1 is out of range"),
        ("run setting-1 --baselines alone", "--baselines is 'alone': expected none"),
        ("plan setting-1 --budget much", "--budget is 'much': expected bytes"),
        ("plan setting-1 --error=7dB", "--error is 7 dB: expected one below 0 dB"),
        ("plan setting-1 --error=-7dB --tolerance -1", "--tolerance is -1.0: expected a number"),
        ("plan setting-1 --error=-7dB --tariff up=x", "--tariff up=x: up is 'x': expected bytes"),
        ("sweep setting-1 --algorithm pao-fed-u1 --over shared=4 --runs 0", "--runs is 0:"),
        ("theory setting-1 --every 0", "--every is 0: expected at least 1"),
        ("reproduce --theory-ticks 0", "--theory-ticks is 0: expected a whole number"),
        ("replay no.npz --out x.npz --algorithm pao-fed-u1 --max-age -1", "--max-age is -1:"),
        # The option `shared` was not given, only one of that name of the algorithm.
        ("replay no.npz --out x.npz --algorithm pao-fed-u1:shared=0", "shared is 0: expected"),
        (
            "fleet init x --input a --target b --shared 900",
            "--shared is 900, but the model has only",
        ),
        ("fleet init x --input a --target b --tick 0.0001", "--tick is 0.0001: expected at least"),
    ],
)
def test_an_error_names_the_option_as_it_was_typed(
    words: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.partition("error: ")[2].startswith(says)
    assert not list(tmp_path.iterdir())


def test_algorithms_lists_the_registry(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algorithms"]) == 0
    text = capsys.readouterr().out
    assert main(["algorithms", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    said = {name: options.pop("in short") for name, options in listed.items()}
    assert listed["pso-fed"] == {"subset": "required", "shared": 4, "coordinated": True}
    assert list(listed) == [*OURS]
    for name, words in said.items():
        assert re.search(rf"^{name}\b.*\n    {re.escape(words)}$", text, re.MULTILINE)
    assert all(map(str.strip, said.values()))
    assert len(set(said.values())) == len(said)  # no two are told alike


@pytest.mark.parametrize(
    ("stop", "code", "text"),
    [
        (KeyboardInterrupt, 130, "paofed algorithms: interrupted"),
        (TraceError("no"), 2, "error: no"),
        (OSError(28, "No space left on device"), 2, "error: No space left on device"),
        (OSError("odd"), 2, "error: odd"),
    ],
)
def test_how_a_verb_ends(
    stop: BaseException,
    code: int,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_: object) -> int:
        raise stop

    monkeypatch.setattr("paofed.cli.algorithms.run", fail)
    assert main(["algorithms"]) == code
    assert text in capsys.readouterr().err


def test_a_warning_is_said_once_whoever_else_catches_warnings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with warnings_said():
        for _ in range(3):
            warnings.warn("this will take long", PaofedWarning, stacklevel=1)
            with warnings.catch_warnings():  # as numba does whenever it compiles
                warnings.simplefilter("ignore")
    assert capsys.readouterr().err == "this will take long\n"


def test_a_character_that_the_output_cannot_show_is_no_error() -> None:
    """In ASCII there is neither ± nor the letters of a file's name."""
    code = (
        "import sys; from paofed.cli import algorithms, main\n"
        "algorithms.run = lambda _: print('1 \\u00b1 2 \\u2212 3') or 0\n"
        "assert main(['algorithms']) == 0; sys.exit(main(['scenario', 'check', '\\u00f6.toml']))"
    )
    done = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii:strict"},
    )  # fmt: skip
    assert done.stdout == "1 \\xb1 2 \\u2212 3\n"
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "unknown scenario '\\xf6.toml'" in done.stderr


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = (
        f"{shlex.quote(sys.executable)} -m paofed algorithms --json | true; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)  # noqa: S603, S607
    assert (done.stdout, done.stderr) == ("0\n", "")
