import io
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
from paofed.algorithms import ALGORITHMS, RIVALS
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


@pytest.mark.parametrize(("program", "verb"), COMMANDS)
def test_help_ends_with_an_example_that_can_be_parsed(program: Program, verb: str) -> None:
    parser = program.parser_of(verb)
    example = parser.format_help().rstrip().splitlines()[-1]
    assert example.startswith("example: ")
    _, called, words = f"{example} ".partition(f"{program.name} {verb} ")
    assert called
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


@pytest.mark.parametrize("verb", ["", "fleet", "device"])
@pytest.mark.parametrize("form", ["{}", "{} -h", "{} --help", "help {}"])
def test_help_lists_what_there_is_and_ends_with_an_example(
    verb: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = helped(form.format(verb).split(), capsys)
    for name, text in (PAOFED.actions_of(verb) if verb else VERBS).items():
        assert f"  {name:<12}{text}" in lines
    assert lines[-1].startswith("example: ")
    assert f"paofed {verb or 'run'} " in lines[-1]
    assert "ACTION ..." in lines[0] if verb else "VERB ..." in lines[0]


def under_titles(lines: list[str]) -> dict[str, list[str]]:
    """The names that a help lists, by the titles above them."""
    found: dict[str, list[str]] = {}
    for line in lines[lines.index("") + 1 :]:
        if re.fullmatch(r"[a-z ]+:", line):
            names = found.setdefault(line.rstrip(":"), [])
        elif re.match(r"  [a-z]", line):
            names.append(line.split()[0])
    return found


def test_verbs_are_shown_by_what_they_are_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert under_titles(helped(["--help"], capsys)) == {
        "options": [],
        "simulate": ["run", "sweep", "plan", "theory", "scenario", "trace", "replay", "result",
                     "algorithms", "reproduce"],
        "fleets": ["fleet", "device", "gateway", "predict", "demo"],
    }  # fmt: skip


def test_actions_of_a_fleet_are_shown_by_what_an_operator_wants(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = under_titles(helped(["fleet", "--help"], capsys))
    assert list(shown) == ["options", "set up", "run", "watch", "change", "repair"]
    assert shown["set up"][:2] == ["init", "add"]
    assert "serve" in shown["run"]
    assert "status" in shown["watch"]
    assert "rotate" in shown["change"]
    assert "restore" in shown["repair"]


def test_the_laboratory_has_a_help_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    lines = helped([], capsys, LAB)
    assert lines[0] == "usage: python -m lab VERB ..."
    assert [name for names in under_titles(lines).values() for name in names] == list(LAB.verbs)
    assert helped(["help", "chaos"], capsys, LAB)[0].startswith("usage: python -m lab chaos ")


@pytest.mark.parametrize("verb", ["run", "fleet init"])
def test_help_on_one_verb_or_action(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = helped(["help", *verb.split()], capsys)
    assert lines == helped([*verb.split(), "--help"], capsys)
    assert lines[0].startswith(f"usage: paofed {verb} ")


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
        (["train"], "paofed: error: unknown verb 'train' (known: run, "),
        (["learn", "--help"], "paofed: error: unknown verb 'learn' (known: run, "),
        (["help", "learn"], "paofed: error: unknown verb 'learn' (known: run, "),
        (["repaly"], "paofed: error: unknown verb 'repaly': did you mean 'replay'? (known: run, "),
        (
            ["fleet", "verfy", "x"],
            "paofed fleet: error: unknown action 'verfy': did you mean 'verify'? (known: init, ",
        ),
        (["fleet", "--json"], "paofed fleet: error: unknown action '--json'"),
        (["device", "rnu"], "paofed device: error: unknown action 'rnu': did you mean 'run'?"),
        (["run", "--live"], "paofed run: error: unexpected '--live'"),
        (["chaos"], "paofed: error: unknown verb 'chaos' (known: run, "),
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


def test_the_laboratory_says_what_is_unknown_in_the_same_way(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words, says in (
        (["engine"], "python -m lab: error: unknown verb 'engine': did you mean 'engines'?"),
        (["engines", "--live"], "python -m lab engines: error: unexpected '--live'"),
    ):
        with pytest.raises(SystemExit) as stop:
            LAB.main(words)
        assert stop.value.code == 2
        assert capsys.readouterr().err.startswith(says)


def test_algorithms_lists_the_registry(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algorithms"]) == 0
    text = capsys.readouterr().out
    assert main(["algorithms", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    said = {name: options.pop("in short") for name, options in listed.items()}
    assert listed["pso-fed"] == {"subset": "required", "shared": 4, "coordinated": True}
    assert list(listed) == [*ALGORITHMS, *RIVALS]
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


HEAVY = {"numba", "scipy", "matplotlib", "pydantic", "polars"}
LIGHT = [
    *("run", "sweep", "scenario", "trace", "replay", "result", "theory", "algorithms", "predict"),
    *("plan", "reproduce"),
]


def test_help_waits_for_no_package_of_the_simulator() -> None:
    """Nor does it need them: each of these verbs is asked for its help, all in one process."""
    code = (
        "import io, sys, contextlib; from paofed.cli import main\n"
        "for verb in sys.argv[1].split(','):\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "        main([verb, '--help'])\n"
        f"    heavy = {HEAVY} & sys.modules.keys()\n"
        "    assert not heavy, (verb, heavy)"
    )
    done = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-c", code, ",".join(LIGHT)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = (
        f"{shlex.quote(sys.executable)} -m paofed algorithms --json | true; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)  # noqa: S603, S607
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_letter_that_the_terminal_lacks_does_not_end_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["algorithms"]) == 0
    sys.stdout.write("1.00 \N{PLUS-MINUS SIGN} 0.10\n")
    sys.stdout.flush()
    assert raw.getvalue().endswith(b"1.00 \\xb1 0.10\n")
