import json
import shlex
import subprocess
import sys

import pytest

from paofed.algorithms import ALGORITHMS
from paofed.cli import VERBS, main, parser_of
from paofed.errors import TraceError


@pytest.mark.parametrize("verb", VERBS)
def test_help_ends_with_an_example(verb: str) -> None:
    text = parser_of(verb).format_help()
    assert text.rstrip().splitlines()[-1].startswith(f"example: paofed {verb}")


def test_no_verb_and_unknown_verb(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in ([], ["repaly"]):
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert stop.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_algorithms_lists_the_registry(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algorithms"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ALGORITHMS)
    assert main(["algorithms", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["pso-fed"] == {"subset": "required", "shared": 4, "coordinated": True}
    assert list(listed) == list(ALGORITHMS)


@pytest.mark.parametrize(
    ("stop", "code", "text"),
    [
        (KeyboardInterrupt, 130, "paofed algorithms: interrupted"),
        (TraceError("no"), 2, "error: no"),
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
