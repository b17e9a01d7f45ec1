"""Builds the device in C for this machine and for boards."""

import os
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from paofed.device_c.kit import LIBRARY, SOURCES, source
from tests.system import lacks, needs

HERE = Path(__file__).parent
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Wshadow", "-Wpedantic")
STRICT = ("-std=c99", *WARNINGS, "-Werror")
SANITIZERS = (
    "-g",
    "-O1",
    "-fsanitize=address,undefined,float-divide-by-zero",
    "-fno-sanitize-recover=all",
)
NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}  # the library has no heap, and looking takes seconds
# Room for every fleet that the tests try.
LARGEST = {"FEATURES": 40, "SHARED": 40, "BLOCK": 160, "INPUTS": 6, "SEEN": 6}
LARGEST |= {"TWO_SPEED": 1, "DRAWS": 1, "FEW_BITS": 1, "TRANSFORMS": 0, "PAST": 0, "REACH": 0}
# One input, the time, and a target that is looked back at.
SMALL_SEEING = LARGEST | {"FEATURES": 8, "TRANSFORMS": 1, "PAST": 1, "REACH": 2}


def run(words: list[str]) -> str:
    """Run a program that must succeed; returns what it printed."""
    done = subprocess.run(  # noqa: S603 (compilers, and what they made)
        words, capture_output=True, text=True, check=False, env={**os.environ, **NO_LEAKS}
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def sizes(values: dict[str, int]) -> str:
    """A header of sizes alone."""
    lines = [f"#define PAOFED_{name} {value}" for name, value in values.items()]
    return "\n".join(["#ifndef PAOFED_FLEET_H", "#define PAOFED_FLEET_H", *lines, "#endif", ""])


def unpacked(folder: Path, fleet: str) -> list[str]:
    """Write the library and a header into a folder; returns the paths of its C files."""
    for name in SOURCES:
        (folder / name).write_text(source(name), encoding="utf-8")
    (folder / "paofed_fleet.h").write_text(fleet, encoding="utf-8")
    return [str(folder / name) for name in LIBRARY]


@lru_cache
def _workshop() -> tempfile.TemporaryDirectory[str]:
    """A folder of this process, which goes with it."""
    return tempfile.TemporaryDirectory(prefix="paofed-c-")


@lru_cache
def host_program(name: str, *flags: str, fleet: str = sizes(LARGEST)) -> str:
    """Build one of the C files beside this one for this machine; returns the program's path.

    `fleet` is a header: of sizes alone, or all of one fleet.
    """
    compiler = needs("gcc")
    folder = Path(_workshop().name)
    files = unpacked(folder, fleet)
    program = str(folder / f"{name}-{len(list(folder.iterdir()))}")
    own = [f"-I{folder}", str(HERE / f"{name}.c")]
    run([compiler, *STRICT, *(flags or SANITIZERS), *own, *files, "-o", program])
    return program


def require_libmosquitto() -> None:
    """Skip a test where there is no libmosquitto to build with, or fail it in CI."""
    words = [needs("gcc"), "-x", "c", "-fsyntax-only", "-include", "mosquitto.h", os.devnull]
    if subprocess.run(words, capture_output=True, check=False).returncode:  # noqa: S603
        lacks("needs the system package libmosquitto-dev")
