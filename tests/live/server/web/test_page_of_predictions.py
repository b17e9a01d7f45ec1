"""docs/predictions.md, followed word for word in a shell, beside a server of its own."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from paofed.live.device.device import Device
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.network.in_process import Hub
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import Quantity
from paofed.live.server.status import asked
from tests.live.brokers import PATIENCE, next_tick, now_manifest, served, until
from tests.live.model.models import plain_model
from tests.ports import free_port
from tests.system import needs
from tests.test_docs import DOCUMENTS, ROOT, blocks, commands, require_shown, rows, section

DOCUMENT = "docs/predictions.md"
_MARK = "--- the command above has ended ---"


def greenhouse() -> Manifest:
    """As `paofed fleet init` makes it in docs/operating-a-fleet.md."""
    inputs = (
        Quantity(name="temperature", offset=20.0, scale=10.0),
        Quantity(name="hour", offset=12.0, scale=6.0),
    )
    target = Quantity(name="load", offset=300.0, scale=100.0).limited()
    limited = tuple(number.limited() for number in inputs)
    return now_manifest(features=40, shared=4, epoch=0, inputs=limited, target=target)


def teach(device: Device, seed: int) -> None:
    random = np.random.default_rng(seed)
    until(lambda: device.contact(PATIENCE) and device.knows_fleet())
    for _ in range(3):
        for temperature, hour in random.uniform([10.0, 0.0], [30.0, 24.0], (50, 2)).tolist():
            device.learn([temperature, hour], 300.0 + 4.0 * temperature + hour)
        next_tick(device)
        assert device.contact(PATIENCE)


def followed(folder: Path, port: int) -> list[tuple[str, str, str]]:
    """Every command, what is shown below it, and what it printed."""
    console = (block for block in blocks(DOCUMENT) if block.kind == "console")
    shown = [pair for block in console for pair in commands(block)]
    script = ["exec 2>&1"]
    for command, _ in shown:
        script += [command.replace("127.0.0.1:9883", f"127.0.0.1:{port}"), f"echo; echo '{_MARK}'"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/bash"],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "no_proxy": "*"},
        input="\n".join(script),
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
        check=False,
    )
    parts = done.stdout.split(f"{_MARK}\n")
    assert len(parts) == len(shown) + 1
    return [(*pair, printed) for pair, printed in zip(shown, parts, strict=False)]


def without_version(text: str) -> str:
    return re.sub(r'"version": "[0-9a-f]{16}"', '"version": ""', text)


def test_the_page_word_for_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("curl")
    hub, port = Hub(), free_port()
    settings = Settings(name="greenhouse", security="none", http=f"127.0.0.1:{port}")
    fleet = Fleet.create(tmp_path / "greenhouse", settings, greenhouse())
    with served(fleet, transport=hub) as server:
        files = list(fleet.add(["north-wall", "south-wall"]))
        until(lambda: (status := asked(settings)) is not None and len(status.devices) == 2)
        for seed, file in enumerate(files):
            with Device(file, transport=hub) as device:
                teach(device, seed)
        server.settle()  # what was heard counts, and nothing changes any more
        printed = followed(tmp_path, port)
    for command, shown, real in printed:
        require_shown(without_version(shown), without_version(real), f"{DOCUMENT}: {command}")
    monkeypatch.chdir(tmp_path)
    (python,) = (block.text for block in blocks(DOCUMENT) if block.kind == "python")
    (expected,) = (block.text for block in blocks(DOCUMENT) if block.kind == "text")
    with redirect_stdout(io.StringIO()) as out:
        exec(python, {})  # noqa: S102 (our own documents)
    assert out.getvalue() == expected


def test_what_is_said_of_the_interval_was_measured() -> None:
    """The table of the page is from data/intervals.csv, which `python -m lab intervals` wrote."""
    lines = section(DOCUMENTS[DOCUMENT], "## The interval").splitlines()
    table = [
        line.strip("| ").split(" | ") for line in lines if line.startswith(("| setting", "| air"))
    ]
    with (ROOT / "docs/data/intervals.csv").open(encoding="utf-8") as file:
        measured = [
            [
                row["scenario"],
                row["quarter"],
                f"{int(row['readings']):,}",
                *(
                    f"{float(row[name]):.1%}".replace("%", " %")
                    for name in ("held", "least", "most")
                ),
            ]
            for row in csv.DictReader(file)
        ]
    assert table == [row for row in measured if row in table]
    assert {row[0] for row in table if row[1] == "all"} == {row[0] for row in measured}


def test_every_key_of_the_model_is_documented() -> None:
    text = section(DOCUMENTS[DOCUMENT], "## Take the model")
    named = {word for key in rows(text) for word in re.findall(r"\w+", key)}
    assert named == set(json.loads(plain_model().predictor.to_json()))
