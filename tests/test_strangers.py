"""Somebody who has a file, and nothing else of ours, has advice in one command.

The fleet and its page in five minutes are in tests/live/fleet/test_operating.py.
"""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from paofed.cli import main
from tests.test_docs import DOCUMENTS, blocks, commands

COMMAND = (
    "paofed run setting-1 --table sheds.csv --device shed --time at --target load "
    "--inputs temperature,humidity --calibration 1d --algorithm pao-fed-u1 --runs 1"
)


def test_a_csv_and_one_command_are_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sheds.csv").write_text("\n".join(readings()) + "\n", encoding="utf-8")
    assert main(shlex.split(COMMAND)[1:]) == 0
    _, found, advice = capsys.readouterr().out.partition("\nwhat to do\n\n")
    assert found
    whether, *_, settings, cost = advice.strip().splitlines()
    assert re.match(r"Taking part (does not pay|pays|changes nothing|cannot be told)", whether)
    assert settings.startswith("The settings: pao-fed-u1, 4 of 20")
    assert re.match(r"The cost of taking part: \d+ B per device and day of payload", cost)


def readings() -> list[str]:
    """Three days of four sheds as somebody's logger would write them, with a gap."""
    rng = np.random.default_rng(0)
    lines = ["shed,at,load,temperature,humidity"]
    for hour in range(72):
        for shed in range(4):
            temperature = 20 + 6 * np.sin(hour / 4 + shed) + rng.normal()
            humidity = 50 + 15 * rng.normal()
            load = 300 + 80 * np.sin(temperature / 8) + humidity / 2 + 5 * rng.normal()
            at = f"2024-05-{1 + hour // 24:02d} {hour % 24:02d}:00"
            if (hour, shed) != (40, 2):
                lines.append(f"shed-{shed},{at},{load:.1f},{temperature:.1f},{humidity:.0f}")
    return lines


def test_that_command_is_one_that_the_documents_show() -> None:
    """With other names of files and columns: no option is needed that they keep to themselves."""
    options = set(re.findall(r"--[a-z-]+", COMMAND))
    shown = [
        command
        for document in DOCUMENTS
        for block in blocks(document)
        if block.kind == "console"
        for command, _ in commands(block)
    ]
    assert any(options <= set(re.findall(r"--[a-z-]+", command)) for command in shown)
