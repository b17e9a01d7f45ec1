"""`paofed fleet` as an operator meets it: what a command prints, and the line that refuses it."""

from pathlib import Path

import pytest

from paofed.cli import main

Capsys = pytest.CaptureFixture[str]
NUMBERS = ("--input", "a", "--input", "b:0.5:2", "--target", "y:10:4")
UNTOLD = "no broker runs with these files here: start it, or have it read them (kill -HUP)\n"


def done(capsys: Capsys, *words: object, warns: str = "") -> str:
    """What an action prints that succeeds, and on stderr."""
    assert main(["fleet", *map(str, words)]) == 0
    out, err = capsys.readouterr()
    assert err == warns
    return out


def refusal(capsys: Capsys, *words: object) -> str:
    """The one line of an action that fails."""
    try:
        code = main(["fleet", *map(str, words)])
    except SystemExit as stop:
        code = int(str(stop.code))
    out, err = capsys.readouterr()
    assert (code, err.count("\n")) == (2, 1)
    prefix = f"paofed fleet {words[0]}: error: "
    assert err.startswith(prefix)
    assert out == "" or words[0] == "add"
    return err.removeprefix(prefix).rstrip("\n")


def founded(place: Path) -> Path:
    """A fleet that shows its health nowhere, with two devices."""
    small = ("--features", "8", "--shared", "2", "--tick", "60", "--http", "")
    assert main(["fleet", "init", str(place), *NUMBERS, *small]) == 0
    assert main(["fleet", "add", str(place), "north", "south"]) == 0
    return place


def said_by_status(capsys: Capsys, folder: Path, *words: str) -> list[str]:
    """What is said of a fleet, but for its ticks: those of these fleets are ahead of the clock."""
    lines = done(capsys, "status", folder, *words).splitlines()
    return [line for line in lines if not line.startswith("PROBLEM      ticks are ")]
