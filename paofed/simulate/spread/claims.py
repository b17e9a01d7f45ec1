"""Who computes which unit, told by small files beside the units, also on a disk that is shared.

A claim is a file that only one process can create. The process that holds a claim writes into it
every few seconds. A claim that nobody writes into any more is dead, and another process takes it
over. So the worst that can happen is that two processes compute the same unit, with the same
numbers. The clocks of two machines are never compared.
"""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from paofed.simulate.spread.identity import host

BEAT = 5.0  # seconds between two signs of life
DEAD_AFTER = 60.0  # seconds without a sign of life after which a claim is dead


class Claims:
    """The claims on units that this client holds, and what it has seen of other clients' claims."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owner = f"{_machine()} {os.getpid()}"
        self._held: set[str] = set()
        self._lock = threading.Lock()
        # By unit: the text of a claim, and since when it has that text.
        self._seen: dict[str, tuple[str, float]] = {}
        self._over = threading.Event()
        self._beating = threading.Thread(target=self._beat, daemon=True, name="claims")

    def __enter__(self) -> Self:
        self._beating.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._beating.join()
        for key in list(self._held):
            self.release(key)

    def take(self, key: str) -> bool:
        """Claim a unit, unless somebody holds it who shows signs of life."""
        path = self._path(key)
        if path.exists() and self._is_dead(key):
            path.unlink(missing_ok=True)
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            return False
        with self._lock:
            self._held.add(key)
        with os.fdopen(handle, "w") as file:
            file.write(f"{self._owner} 0\n")
        return True

    def others(self) -> list[str]:
        """Return what other clients hold who show signs of life; claims of the dead are removed."""
        with self._lock:
            own = {*self._held}
        found = [path.stem for path in self._folder.glob("*.claim") if path.stem not in own]
        dead = {key for key in found if self._is_dead(key)}
        for key in dead:
            self._path(key).unlink(missing_ok=True)
        return [key for key in found if key not in dead]

    def release(self, key: str) -> None:
        """Give a claim back: the unit is finished, or will not be."""
        with self._lock:
            if key not in self._held:
                return
            self._held.remove(key)
        with suppress(OSError):
            self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.claim"

    def _is_dead(self, key: str) -> bool:
        """Whether the holder's process has ended, or has shown no sign of life for long.

        How long is measured by our own clock.
        """
        try:
            # Opening the file makes a shared disk look for its newest content.
            text = self._path(key).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        owner, _, _ = text.rpartition(" ")
        machine, _, process = owner.rpartition(" ")
        if machine == _machine() and process.isdecimal() and not _is_there(int(process)):
            return True
        before, since = self._seen.get(key, (None, 0.0))
        if before != text:  # also a claim that was made just now, and not written into yet
            self._seen[key] = text, time.monotonic()
            return False
        return time.monotonic() - since > DEAD_AFTER

    def _beat(self) -> None:
        beats = 0
        while not self._over.wait(BEAT):
            beats += 1
            with self._lock:
                held = list(self._held)
            for key in held:
                # A claim that is no longer there was taken over by another process: do not make it
                # again.
                with suppress(OSError), self._path(key).open("r+") as file:
                    file.write(f"{self._owner} {beats}\n")


def _machine() -> str:
    """Return a text that tells this machine, since its start, and container from others."""
    parts = [host()]
    with suppress(OSError):  # these files exist on Linux alone
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return "/".join(parts)


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process belongs to another user
        return True
    return True
