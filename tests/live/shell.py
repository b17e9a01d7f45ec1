"""Documents that are followed word for word in one shell, with the programs they need."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from tests.live.brokers import PATIENCE
from tests.system import needs
from tests.test_docs import ROOT, blocks, commands, require_shown

_MARK = "--- paofed: the command above has ended ---"


def _end_session(session: int) -> None:
    """Kill whatever a shell has left, background jobs among them."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone meanwhile
            if os.getsid(int(path.name)) == session:
                os.kill(int(path.name), signal.SIGKILL)


def follow(
    document: str,
    folder: Path,
    elsewhere: Callable[[str], str],
    programs: Sequence[str] = ("mosquitto",),
    heading: str | None = None,
) -> None:
    """Do what a document says; `elsewhere` moves commands and files to ports of our own.

    With a `heading`, only what stands below this heading is done.
    """
    needed = [str(Path(needs(program)).parent) for program in programs]
    script, shown = ["set -m", "exec 2>&1"], []
    for block in blocks(document):
        if heading is not None and block.heading != heading:
            continue
        if block.file:
            (folder / block.file).write_text(elsewhere(block.text), encoding="utf-8")
        elif block.kind == "console":
            for command, output in commands(block):
                script += [elsewhere(command), f"echo '{_MARK}'"]
                shown.append((command, output))
    places = [str(Path(sys.executable).parent), *needed, os.environ["PATH"]]
    with (folder / "shell.log").open("w+") as out:  # no pipe: a program left over would hold it
        shell = subprocess.Popen(
            ["/bin/bash"],
            cwd=folder,
            env={**os.environ, "PATH": os.pathsep.join(places), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=out,
            text=True,
            start_new_session=True,
        )
        try:
            shell.communicate("\n".join(script) + "\n", timeout=5 * PATIENCE)
        finally:
            _end_session(shell.pid)
            shell.wait()
        parts = (folder / "shell.log").read_text().split(f"{_MARK}\n")
    assert len(parts) == len(shown) + 1
    for (command, output), printed in zip(shown, parts, strict=False):
        if " error: " not in output:
            assert not re.search(r"error:|Error", printed), f"{command}: {printed}"
        require_shown(output, printed, f"{document}: {command}")
