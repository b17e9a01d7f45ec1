"""docs/operating-a-fleet.md, followed word for word in one shell."""

import os
import subprocess
import sys
from pathlib import Path

from paofed.live.trials.processes import free_port
from tests.system import needs
from tests.test_docs import blocks, commands, require_shown

DOCUMENT = "docs/operating-a-fleet.md"
_MARK = "--- paofed: the command above has ended ---"


def test_the_first_five_minutes(tmp_path: Path) -> None:
    mosquitto = Path(needs("mosquitto"))
    script, shown = ["set -m", "exec 2>&1"], []
    for block in blocks(DOCUMENT):
        if block.file:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "console":
            for command, output in commands(block):
                script += [_elsewhere(command), f"echo '{_MARK}'"]
                shown.append((command, output))
    places = [str(Path(sys.executable).parent), str(mosquitto.parent), os.environ["PATH"]]
    shell = subprocess.Popen(
        ["/bin/bash"],
        cwd=tmp_path,
        env={**os.environ, "PATH": os.pathsep.join(places)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, _ = shell.communicate("\n".join(script) + "\n", timeout=180)
    finally:
        shell.kill()
        shell.communicate()
    parts = out.split(f"{_MARK}\n")
    assert len(parts) == len(shown) + 1
    for (command, output), printed in zip(shown, parts, strict=False):
        assert "error:" not in printed, f"{command}: {printed}"
        require_shown(output, printed, f"{DOCUMENT}: {command}")
    assert "stopped in good order" in (tmp_path / "server.log").read_text()


def _elsewhere(command: str) -> str:
    """On ports of our own: the usual ones may be in use here."""
    if command.startswith("paofed fleet init"):
        command += f" --port {free_port()} --http 127.0.0.1:{free_port()}"
    return command
