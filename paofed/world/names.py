"""The names that a scenario's file may hold: they can be offered where no scenario can be read.

Everything else about scenarios needs pydantic, an optional package; this file needs nothing.
"""

from importlib.resources import files
from pathlib import Path
from typing import Literal

PRESETS = ("setting-1", "setting-2", "ideal", "small", "air-quality")
StartKind = Literal["zeros", "calibration"]
NewcomersKind = Literal["windows", "whole"]
Duplicates = Literal["refuse", "first", "last"]
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")  # cells that hold no value


def source_of(name: str | Path) -> Path:
    """Return the file of a preset, or the path itself; the file may not exist."""
    if str(name) in PRESETS:
        return Path(str(files("paofed.world"))) / "presets" / f"{name}.toml"
    return Path(name)
