"""Ports of the tests: no two of them get the same one, in however many processes."""

import socket
import subprocess
import sys
from pathlib import Path

from tests import ports

ROOT = Path(__file__).parents[1]


def test_a_port_is_given_once_and_can_be_opened() -> None:
    found = [ports.free_port() for _ in range(20)]
    assert len({*found}) == 20
    with socket.create_server(("127.0.0.1", found[0])) as server:
        assert server.getsockname()[1] == found[0]


def test_another_process_gets_no_port_of_this_one() -> None:
    """Nor does it wait for one: where one port is left, it is told that there is none."""
    port = ports.free_port()
    ask = f"from tests import ports; ports._FIRST = {port}; ports._LAST = {port + 1}; "
    done = subprocess.run(  # noqa: S603 (our own words)
        [sys.executable, "-c", ask + "ports.free_port()"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"all ports from {port} to {port + 1} are in use" in done.stderr
