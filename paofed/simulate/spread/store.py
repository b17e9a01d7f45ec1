"""Finished units as files in a folder, written whole or not at all: a second start finds them.

The units of a task are in a folder of their own, named by the task's key; their files are named by
their runs. Units need not be cut alike: clients that cut otherwise see from the names which runs
are finished, and which others compute.

Who computes which unit is told by claims, small files beside the units, also on a disk that is
shared. A claim is a file that only one process can create. The process that holds a claim writes
into it every few seconds. A claim that nobody writes into any more is dead, and another process
takes it over. So the worst that can happen is that two processes compute the same unit, with the
same numbers. The clocks of two machines are never compared.
"""

import json
import logging
import os
import re
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from paofed.archives import load_arrays, save_arrays
from paofed.errors import FileError
from paofed.files import make_folder, require_folder
from paofed.forms import Contents, Form
from paofed.parts import checksum, require_part
from paofed.simulate.results.result import RunRecord
from paofed.simulate.spread.identity import host
from paofed.simulate.spread.units import MOST

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


_FORM = Contents(
    arrays={
        "runs": Form("iu", "R"),
        "about": Form("U"),
        "key": Form("U"),
        "checksum": Form("U"),
        "mse": Form("f", "RAP"),
        "traffic": Form("iuf", "RA7P"),
        "models": Form("f", "RAD"),
        "over_time": Form("f", "RA2Q"),
        "cells": Form("f", "RA25C"),
    },
    sizes={
        "R": "runs",
        "A": "algorithms",
        "P": "points of a curve",
        "D": "features",
        "Q": "points of sums",
        "C": "cells",
    },
    may_be_none="QC",
)
_NAME = re.compile(r"(\d{1,12})-(\d{1,12})", re.ASCII)  # the first run of a unit, and the last
_log = logging.getLogger(__name__)

_Version = tuple[int, int] | None  # of a file: when it was written, and its size


class FinishedUnit(NamedTuple):
    """The records of a unit by run, the type of processor that computed them, and how long."""

    records: Mapping[int, RunRecord]
    cpu: str
    seconds: float  # 0 for a unit that was read from a file


class UnitStore:
    """The finished units of one task; while the store is open, it may claim units to compute."""

    def __init__(self, folder: Path, key: str) -> None:
        """Open the folder of the task with this key in the folder of a store."""
        require_folder(folder)
        make_folder(folder / key)
        self._store, self._folder, self._key = folder, folder / key, key
        self._claims, self._told = Claims(self._folder), False
        # By unit: which version of the unit's file could not be read.
        self._damaged: dict[str, _Version] = {}

    def __enter__(self) -> Self:
        self._claims.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._claims.__exit__()

    def finished(self, runs: Collection[int]) -> Iterator[FinishedUnit]:
        """Yield the units that hold any of some runs; those that cannot be read are left out.

        Such a unit is told, unless other units hold its runs. Its file stays: it may be whole, and
        fail to be read for want of memory, rights or open files. `save` replaces the file.
        """
        wanted, failed = {*runs}, dict[Path, FileError]()
        for path in sorted(self._finished()):
            if wanted.isdisjoint(_runs_of(path.stem)):
                continue
            version = _version(path)
            try:
                unit = _loaded(path, self._key)
            except FileError as error:
                failed[path], self._damaged[path.stem] = error, version
            else:
                wanted -= unit.records.keys()
                yield unit
        for path, why in failed.items():
            if not wanted.isdisjoint(_runs_of(path.stem)):
                _log.warning("%s; it is computed again", why)

    def save(self, unit: range, finished: FinishedUnit, about: Mapping[str, object]) -> None:
        """Write a unit, and give its claim back; if that fails, say so once and go on."""
        records = [finished.records[index] for index in unit]
        arrays = {
            name: np.stack(parts)
            for name, parts in zip(RunRecord._fields, zip(*records, strict=True), strict=True)
        }
        told = json.dumps({**about, "cpu": finished.cpu})
        held = {"runs": np.array(unit), "about": np.array(told), **arrays}
        sealed = {
            "key": np.array(self._key),
            "checksum": np.array(checksum(self._key, _content(held))),
        }
        try:
            save_arrays(self._folder / f"{_name_of(unit)}.npz", held | sealed, _FORM)
        except (OSError, FileError) as error:  # a full disk, say; the computed unit is still used
            self._tell(error)
        self._claims.release(_name_of(unit))

    def taken(self) -> set[int]:
        """Return the runs that others compute, or that are finished."""
        try:
            # In this order: a client writes a unit before it gives the claim on the unit back.
            others = self._claims.others()
            done = [path.stem for path in self._finished()]
        except OSError as error:
            self._tell(error)
            return set()
        return {*chain.from_iterable(map(_runs_of, others + done))}

    def claim(self, unit: range) -> bool:
        """Whether this client is to compute a unit.

        That is so if none of its runs is in the store, and no other client shows signs of computing
        any of them. Two clients that claim the same runs at once may both be refused.
        """
        try:
            if not self._claims.take(_name_of(unit)):
                return False
        except OSError as error:
            self._tell(error)
            return True  # compute without a claim: twice is better than not at all
        if self.taken().isdisjoint(unit):
            return True
        self._claims.release(_name_of(unit))
        return False

    def _finished(self) -> list[Path]:
        found = self._folder.glob("*.npz")
        return [path for path in found if _runs_of(path.stem) and not self._is_damaged(path)]

    def _is_damaged(self, path: Path) -> bool:
        """Whether this file could not be read; a file that was replaced since is looked at anew."""
        return path.stem in self._damaged and self._damaged[path.stem] == _version(path)

    def _tell(self, error: Exception) -> None:
        if not self._told:
            self._told = True
            said = error.strerror if isinstance(error, OSError) else error
            _log.warning(
                "%s cannot be written (%s): the work goes on, but what it finds is not kept there",
                self._store,
                said,
            )


def _version(path: Path) -> _Version:
    """Return what changes when a damaged file is replaced; None for a file that is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _name_of(unit: range) -> str:
    return f"{unit.start}-{unit.stop - 1}"


def _runs_of(name: str) -> range:
    """Return the runs that the name of a unit's file says; none for any other name."""
    said = _NAME.fullmatch(name)
    found = range(int(said[1]), int(said[2]) + 1) if said else range(0)
    return found if len(found) <= MOST else range(0)


def _content(arrays: Mapping[str, NDArray[Any]]) -> Iterator[bytes]:
    """Yield all that a checksum covers: names, types, shapes and values of the arrays."""
    for name in sorted(arrays):
        array = arrays[name]
        yield f"{name} {array.dtype.str} {array.shape}".encode()
        yield array.tobytes()


def _loaded(path: Path, key: str) -> FinishedUnit:
    arrays = load_arrays(path, _FORM, "a finished unit")
    there = {f"{name}_there": str(arrays.pop(name)) for name in ("key", "checksum")}
    require_part(path, key, _content(arrays), **there)
    runs, about = arrays.pop("runs").tolist(), str(arrays.pop("about"))
    if runs != list(_runs_of(path.stem)):
        raise FileError(f"{path} is not this part of the work: it holds other runs")
    try:
        cpu = str(json.loads(about)["cpu"])
    except (ValueError, LookupError, TypeError, RecursionError):
        raise FileError(f"{path} is not a finished unit: it does not say of what") from None
    rows = zip(*(arrays[name] for name in RunRecord._fields), strict=True)
    return FinishedUnit(dict(zip(runs, map(RunRecord._make, rows), strict=True)), cpu, 0.0)
