"""A fleet's broker and server as processes on this machine, for trials, measurements and tests.

The processes end with whoever started them, however that ends.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from paofed.errors import InputError
from paofed.files import write_text
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.mosquitto import CONFIGURATION, FOLDER, LOCAL, handles_reload

# Folders of daemons that may not be in PATH.
_PLACES = ("/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin")
_STARTING = 60.0  # seconds that a broker may take, on a busy machine
_STOPPING = 60.0
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG, on Linux
_NATS = """\
server_name: "{name}"
listen: "{local}:-1"
jetstream {{ store_dir: "{folder}/nats" }}
mqtt {{ listen: "{local}:{port}" }}
"""


def find_broker() -> str | None:
    """Return the path of a broker's program: mosquitto, or else nats-server from its wheel."""
    beside = str(Path(sys.executable).parent)
    places = os.pathsep.join((os.environ.get("PATH", os.defpath), *_PLACES, beside))
    return shutil.which("mosquitto", path=places) or shutil.which("nats-server", path=places)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((LOCAL, 0))
        return int(probe.getsockname()[1])


# The process itself asks the kernel to be ended with its parent, before it becomes the program: in
# a child of a process with threads, nothing else is safe between fork and exec (no preexec_fn).
_TETHERED = f"""\
import ctypes, os, sys
try:
    ctypes.CDLL(None).prctl({_DIE_WITH_PARENT}, {int(signal.SIGKILL)})
except (OSError, AttributeError):
    pass  # another system than Linux: it ends when it is told to
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


def start(words: list[str], log: Path | None = None, cwd: Path | None = None) -> "Process":
    """Start a program, by its path, that ends with the thread that starts it.

    Its output goes to the file `log`, or nowhere.
    """
    tethered = [sys.executable, "-I", "-S", "-c", _TETHERED, str(os.getpid())]
    with (Path(os.devnull) if log is None else log).open("ab") as output:
        return subprocess.Popen(  # noqa: S603 (programs that we name ourselves)
            [*tethered, *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=cwd,
            start_new_session=True,  # Ctrl-C is for the process that started it
        )


Process = subprocess.Popen[bytes]


def end(process: Process) -> int:
    """Ask a process to end, and kill it after a while; return its exit code."""
    process.terminate()
    try:
        return process.wait(_STOPPING)
    except subprocess.TimeoutExpired:
        return kill(process)


def kill(process: Process) -> int:
    """End a process as a power cut would; return its exit code."""
    process.kill()
    return process.wait()


class LocalBroker:
    """A broker for one fleet, started and killed at will."""

    def __init__(self, fleet: Fleet, program: str | None = None) -> None:
        found = program or find_broker()
        if found is None:
            raise InputError(
                "there is no broker on this machine: install mosquitto, or nats-server with "
                "pip install 'paofed[demo]'"
            )
        self.program = found
        self.log = fleet.folder / FOLDER / "broker.log"
        self._fleet = fleet
        self._process: Process | None = None
        if self.is_nats and fleet.settings.security != "none":
            raise InputError("nats-server is set up for trials on one machine: security none")

    @property
    def is_nats(self) -> bool:
        """Whether the broker is nats-server, for want of mosquitto."""
        return Path(self.program).name == "nats-server"

    @property
    def pid(self) -> int:
        """The process number of the running broker."""
        if self._process is None:
            raise InputError("the broker is not running")
        return self._process.pid

    def start(self) -> None:
        """Start the broker and wait until it listens, and can be told to read its files again."""
        place = (self._fleet.folder / FOLDER).resolve()
        configuration = place / CONFIGURATION
        settings = self._fleet.settings
        if self.is_nats:
            configuration = place / "nats.conf"
            text = _NATS.format(name=settings.name, folder=place, port=settings.port, local=LOCAL)
            write_text(configuration, text)
        self._process = start([self.program, "-c", str(configuration)], self.log)
        ends = time.monotonic() + _STARTING
        while not (self._listens() and self._can_be_told()):
            if self._process.poll() is not None or time.monotonic() > ends:
                self.kill()
                raise InputError(f"the broker did not start: see {self.log}")
            time.sleep(0.02)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((LOCAL, self._fleet.settings.port)) == 0

    def _can_be_told(self) -> bool:
        return not Path("/proc").is_dir() or handles_reload(self.pid)

    def kill(self) -> None:
        """End the broker as a power cut would: all it has to do is pass messages on."""
        if self._process is not None:
            kill(self._process)
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def serve(fleet: Fleet, log: Path | None = None) -> Process:
    """Start a fleet's server."""
    return start([sys.executable, "-m", "paofed", "fleet", "serve", str(fleet.folder)], log)
