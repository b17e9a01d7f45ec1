"""Ports for programs that are told one and open it later, which no other test takes meanwhile."""

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

_FIRST, _LAST = 15_000, 32_768  # where Linux's own begin
_held: list[int] = []  # open files: each holds a port for this process, as long as it lives


def free_port() -> int:
    """Return a port that nobody listens on, and that no test gets while this process lives.

    A port that the kernel names may be given to somebody else before the program that was told of
    it opens it, or while that program is started again: to any connection of any program. So these
    ports are below those that the kernel names.
    """
    folder = Path(tempfile.gettempdir()) / f"paofed-test-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for port in random.SystemRandom().sample(range(_FIRST, _LAST), _LAST - _FIRST):
        if _hold(folder / str(port)) and _is_free(port):
            return port
    raise OSError(f"all ports from {_FIRST} to {_LAST} are in use")


def _hold(path: Path) -> bool:
    """Lock a file until this process ends, unless somebody else has done so."""
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return False
    _held.append(file)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
