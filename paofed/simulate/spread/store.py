"""Finished units as files in a folder, written whole or not at all: a second start finds them."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from paofed.archives import load_arrays, save_arrays
from paofed.errors import FileError
from paofed.files import make_folder, require_folder
from paofed.forms import Contents, Form
from paofed.simulate.results.result import RunRecord
from paofed.simulate.spread.claims import Claims
from paofed.simulate.spread.units import WorkUnit

_FORM = Contents(
    arrays={
        "runs": Form("iu", "R"),
        "about": Form("U"),
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
_log = logging.getLogger(__name__)


class FinishedUnit(NamedTuple):
    """The records of a unit by run, and the type of processor that computed them."""

    records: Mapping[int, RunRecord]
    cpu: str


class UnitStore:
    """A folder of finished units; while the store is open, it may claim units to be computed."""

    def __init__(self, folder: Path) -> None:
        require_folder(folder)
        make_folder(folder)
        self._folder, self._claims, self._told = folder, Claims(folder), False
        self._damaged: set[str] = set()

    def __enter__(self) -> Self:
        self._claims.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._claims.__exit__()

    def has(self, unit: WorkUnit) -> bool:
        """Whether a unit is in the store, and was not found to be damaged."""
        return unit.key not in self._damaged and self._path(unit).exists()

    def load(self, unit: WorkUnit) -> FinishedUnit | None:
        """Read a unit; None if it is not in the store, or damaged."""
        if not self.has(unit):
            return None
        try:
            return _loaded(self._path(unit), unit.runs)
        except FileError as error:
            _log.warning("%s; it is computed again", error)
            self._damaged.add(unit.key)
            return None

    def save(self, unit: WorkUnit, finished: FinishedUnit, about: Mapping[str, object]) -> None:
        """Write a unit, and give its claim back; if that fails, say so once and go on."""
        records = [finished.records[index] for index in unit.runs]
        arrays = {
            name: np.stack(parts)
            for name, parts in zip(RunRecord._fields, zip(*records, strict=True), strict=True)
        }
        told = json.dumps({**about, "cpu": finished.cpu})
        held = {"runs": np.array(unit.runs), "about": np.array(told), **arrays}
        try:
            save_arrays(self._path(unit), held, _FORM)
        except (OSError, FileError) as error:  # a full disk, say; the computed unit is still used
            self._tell(error)
        self._claims.release(unit.key)

    def claim(self, unit: WorkUnit) -> bool:
        """Whether this client is to compute a unit.

        That is so if the unit is not in the store, and no other client shows signs of computing it.
        """
        try:
            if self.has(unit) or not self._claims.take(unit.key):
                return False
        except OSError as error:
            self._tell(error)
            return True  # compute without a claim: twice is better than not at all
        if self.has(unit):  # somebody has just finished the unit and given the claim back
            self._claims.release(unit.key)
            return False
        return True

    def _tell(self, error: Exception) -> None:
        if not self._told:
            self._told = True
            said = error.strerror if isinstance(error, OSError) else error
            _log.warning(
                "%s cannot be written (%s): the work goes on, but what it finds is not kept there",
                self._folder,
                said,
            )

    def _path(self, unit: WorkUnit) -> Path:
        return self._folder / f"{unit.key}.npz"


def _loaded(path: Path, runs: range) -> FinishedUnit:
    arrays = load_arrays(path, _FORM, "a finished unit")
    there, about = arrays.pop("runs").tolist(), str(arrays.pop("about"))
    try:
        cpu = str(json.loads(about)["cpu"])
    except (ValueError, LookupError, TypeError):
        raise FileError(f"{path} is not a finished unit: it does not say of what") from None
    if there != list(runs):
        raise FileError(f"{path} is not a finished unit: it holds other runs")
    rows = zip(*(arrays[name] for name in RunRecord._fields), strict=True)
    return FinishedUnit(dict(zip(runs, map(RunRecord._make, rows), strict=True)), cpu)
