import io
import json
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from paofed import __version__
from paofed.algorithms import ALGORITHMS, RIVALS
from paofed.cli import VERBS, actions_of, main, parser_of
from paofed.errors import TraceError

ACTIONS = [f"{verb} {action}" for verb in VERBS for action in actions_of(verb)]


@pytest.mark.parametrize("verb", [*(verb for verb in VERBS if not actions_of(verb)), *ACTIONS])
def test_help_ends_with_an_example(verb: str) -> None:
    text = parser_of(verb).format_help()
    example = text.rstrip().splitlines()[-1]
    assert example.startswith("example: ")
    assert f"paofed {verb} " in f"{example} "


def helped(words: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.rstrip().splitlines()


@pytest.mark.parametrize("verb", ["", "fleet", "device", "bench"])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_what_there_is_and_ends_with_an_example(
    verb: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = helped([*verb.split(), option], capsys)
    for name, text in (actions_of(verb) if verb else VERBS).items():
        assert f"  {name:<12}{text}" in lines
    assert lines[-1].startswith("example: ")
    assert f"paofed {verb or 'run'} " in lines[-1]
    assert "ACTION ..." in lines[0] if verb else "VERB ..." in lines[0]


def test_the_examples_can_be_parsed() -> None:
    for verb in ACTIONS:
        example = parser_of(verb).epilog
        assert example is not None
        words = shlex.split(example.partition(f"paofed {verb}")[2])
        assert parser_of(verb).parse_known_only(words).run is not None


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert helped(["--version"], capsys) == [f"paofed {__version__}"]


def test_actions_have_a_file_each() -> None:
    assert actions_of("run") == {}
    groups = {verb for verb in VERBS if actions_of(verb)}
    assert groups == {"fleet", "device", "bench"}
    for verb in groups:
        folder = Path(import_module(f"paofed.cli.{verb}").__path__[0])
        files = {path.stem for path in folder.glob("*.py")} - {"__init__", "folder"}
        assert files == set(actions_of(verb))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "paofed: error: no verb was given (known: run, "),
        (["repaly"], "paofed: error: unknown verb 'repaly': did you mean 'replay'? (known: run, "),
        (["fleet"], "paofed fleet: error: no action was given (known: init, add, gateway, serve, "),
        (
            ["fleet", "verfy", "x"],
            "paofed fleet: error: unknown action 'verfy': did you mean 'verify'? (known: init, ",
        ),
        (["fleet", "--json"], "paofed fleet: error: unknown action '--json'"),
        (["device", "rnu"], "paofed device: error: unknown action 'rnu': did you mean 'run'?"),
        (["device"], "paofed device: error: no action was given (known: run, c)"),
        (
            ["bench"],
            "paofed bench: error: no action was given (known: engines, gpu, spread, ",
        ),
        (["bench", "--live"], "paofed bench: error: unknown action '--live'"),
        (
            ["bench", "engine"],
            "paofed bench: error: unknown action 'engine': did you mean 'engines'?",
        ),
        (["bench", "engines", "--live"], "paofed bench engines: error: unexpected '--live'"),
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


def test_algorithms_lists_the_registry(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algorithms"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in (*ALGORITHMS, *RIVALS))
    assert main(["algorithms", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["pso-fed"] == {"subset": "required", "shared": 4, "coordinated": True}
    assert list(listed) == [*ALGORITHMS, *RIVALS]


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
    assert raw.getvalue().endswith(b"1.00 ? 0.10\n")
