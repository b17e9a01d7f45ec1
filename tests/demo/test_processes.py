"""Processes that end with whoever started them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from paofed.demo import processes
from paofed.demo.processes import LocalBroker, end, kill, start
from paofed.live.fleet.mosquitto import handles_reload
from tests.live.brokers import PATIENCE, until
from tests.live.folders import create
from tests.ports import free_port

# Starts a program in a process with threads, says its number, and waits.
_PARENT = """\
import shutil, sys, threading, time
from pathlib import Path
from paofed.demo.processes import start
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
process = start([shutil.which("sleep"), "60"])
while Path(f"/proc/{process.pid}/comm").read_text() != "sleep\\n":
    time.sleep(0.01)
print(process.pid, flush=True)
time.sleep(60)
"""


def test_a_program_ends_with_the_one_that_started_it() -> None:
    if not Path("/proc").is_dir():
        pytest.skip("needs Linux")
    parent = subprocess.Popen(  # noqa: S603 (our own words)
        [sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True
    )
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
    finally:
        parent.kill()
        parent.communicate()
    until(lambda: not alive(pid))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_one_whose_parent_is_gone_by_then_never_begins(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    orphan = [sys.executable, "-I", "-S", "-c", processes._TETHERED, "1", "/bin/touch", str(begun)]
    subprocess.run(orphan, check=True)  # noqa: S603 (our own words)
    assert not begun.exists()


def test_what_it_says_goes_to_a_file(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import os, sys; print(os.getcwd(), sys.argv[1:])", "a b", ""]
    assert start(words, tmp_path / "log", tmp_path).wait(PATIENCE) == 0
    assert (tmp_path / "log").read_text() == f"{tmp_path.resolve()} ['a b', '']\n"


@pytest.mark.parametrize(("does", "number"), [(end, signal.SIGTERM), (kill, signal.SIGKILL)])
def test_it_can_be_ended(does: object, number: signal.Signals) -> None:
    process = start([sys.executable, "-c", "import time; time.sleep(60)"])
    assert callable(does)
    assert does(process) == -number
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


# A broker that listens a while before it handles the signal SIGHUP, as mosquitto does.
_LISTENS_FIRST = """\
#!{python} -IS
import signal, socket, sys, time
configuration = open(sys.argv[2]).read()
server = socket.create_server(("127.0.0.1", int(configuration.split("listener ")[1].split()[0])))
time.sleep(0.2)
signal.signal(signal.SIGHUP, lambda *_: None)
time.sleep(60)
"""


def test_a_broker_that_has_started_can_be_told_to_read_its_files(tmp_path: Path) -> None:
    program = tmp_path / "broker"
    program.write_text(_LISTENS_FIRST.format(python=sys.executable))
    program.chmod(0o700)
    fleet = create(tmp_path, "none", port=free_port())
    with LocalBroker(fleet, str(program)) as broker:
        assert handles_reload(broker.pid)
