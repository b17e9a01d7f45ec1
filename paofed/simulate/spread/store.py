"""Finished jobs as files in a folder, written whole or not at all: a second start finds them.

The jobs of a task are in a folder of their own, named by the task's key; their files are named by
their runs. Jobs need not be cut alike: clients that cut otherwise see from the names which runs
are finished. Several clients may use one folder at once, on a disk that is shared, too: each takes
what is missing in an order of its own and looks into the folder before each job, so that they
seldom compute the same job. Where two do, they find the same numbers.

A file may be damaged, edited, or that of another task under this task's name. So it holds the key
of its task, and a checksum over the key and all of its content. A job whose file fails either
comparison is computed again.
"""

import json
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.archives import load_arrays, save_arrays
from paofed.digest import digest
from paofed.errors import FileError
from paofed.files import make_folder, require_folder
from paofed.forms import Contents, Form
from paofed.simulate.results.outcome import RunRecord
from paofed.simulate.spread.jobs import MOST

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
_NAME = re.compile(r"(\d{1,12})-(\d{1,12})", re.ASCII)  # the first run of a job, and the last
_log = logging.getLogger(__name__)


class FinishedJob(NamedTuple):
    """The records of a job by run, the type of processor that computed them, and how long."""

    records: Mapping[int, RunRecord]
    cpu: str
    seconds: float  # 0 for a job that was read from a file


class JobStore:
    """The finished jobs of one task."""

    def __init__(self, folder: Path, key: str) -> None:
        """Open the folder of the task with this key in the folder of a store."""
        require_folder(folder)
        make_folder(folder / key)
        self._store, self._folder, self._key = folder, folder / key, key
        self._told = False
        self._unread = set[Path]()  # files of jobs that could not be read

    @property
    def runs(self) -> set[int]:
        """The runs that are finished, whoever finished them."""
        return {*chain.from_iterable(_runs_of(path.stem) for path in self._finished())}

    def finished(self, runs: Collection[int]) -> Iterator[FinishedJob]:
        """Yield the jobs that hold any of some runs; those that cannot be read are left out.

        Such a job is told, unless other jobs hold its runs. Its file stays: it may be whole, and
        fail to be read for want of memory, rights or open files. `save` replaces the file.
        """
        wanted, failed = {*runs}, dict[Path, FileError]()
        for path in sorted(self._finished()):
            if wanted.isdisjoint(_runs_of(path.stem)):
                continue
            try:
                job = _loaded(path, self._key)
            except FileError as error:
                failed[path] = error
                self._unread.add(path)
            else:
                wanted -= job.records.keys()
                yield job
        for path, why in failed.items():
            if not wanted.isdisjoint(_runs_of(path.stem)):
                _log.warning("%s; it is computed again", why)

    def save(self, job: FinishedJob, about: Mapping[str, object]) -> None:
        """Write a job; if that fails, say so once and go on."""
        runs, records = zip(*sorted(job.records.items()), strict=True)
        arrays = {
            name: np.stack(parts)
            for name, parts in zip(RunRecord._fields, zip(*records, strict=True), strict=True)
        }
        told = json.dumps({**about, "cpu": job.cpu})
        held = {"runs": np.array(runs), "about": np.array(told), **arrays}
        sealed = {
            "key": np.array(self._key),
            "checksum": np.array(_checksum(self._key, held)),
        }
        path = self._folder / f"{runs[0]}-{runs[-1]}.npz"
        try:
            save_arrays(path, held | sealed, _FORM)
        except (OSError, FileError) as error:  # a full disk, say; the computed job is still used
            self._tell(error)
        else:
            self._unread.discard(path)

    def _finished(self) -> Iterable[Path]:
        found = {path for path in self._folder.glob("*.npz") if _runs_of(path.stem)}
        return found - self._unread

    def _tell(self, error: Exception) -> None:
        if not self._told:
            self._told = True
            said = error.strerror if isinstance(error, OSError) else error
            _log.warning(
                "%s cannot be written (%s): the work goes on, but what it finds is not kept there",
                self._store,
                said,
            )


def _runs_of(name: str) -> range:
    """Return the runs that the name of a job's file says; none for any other name."""
    said = _NAME.fullmatch(name)
    found = range(int(said[1]), int(said[2]) + 1) if said else range(0)
    return found if len(found) <= MOST else range(0)


def _checksum(key: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a checksum over a key, and over names, types, shapes and values of arrays."""
    return digest((key, *(part for name in sorted(arrays) for part in (name, arrays[name]))))


def _loaded(path: Path, key: str) -> FinishedJob:
    arrays = load_arrays(path, _FORM, "a finished job")
    key_there, checksum_there = str(arrays.pop("key")), str(arrays.pop("checksum"))
    if key_there != key:
        raise FileError(f"{path} is not this piece of the work: it holds the key of another")
    if checksum_there != _checksum(key, arrays):
        raise FileError(f"{path} is damaged or was edited: its checksum is not that of its content")
    runs, about = arrays.pop("runs").tolist(), str(arrays.pop("about"))
    if runs != list(_runs_of(path.stem)):
        raise FileError(f"{path} is not this piece of the work: it holds other runs")
    try:
        cpu = str(json.loads(about)["cpu"])
    except (ValueError, LookupError, TypeError, RecursionError):
        raise FileError(f"{path} is not a finished job: it does not say of what") from None
    rows = zip(*(arrays[name] for name in RunRecord._fields), strict=True)
    return FinishedJob(dict(zip(runs, map(RunRecord._make, rows), strict=True)), cpu, 0.0)
