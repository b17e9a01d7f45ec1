"""What decides the digits of a number beside the question: the program, and the processor.

Jobs that were computed by another program are different jobs. Jobs computed on another type of
processor are the same jobs, but their last digits may differ: so each job says where it was
computed.
"""

import hashlib
import platform
from functools import cache
from pathlib import Path

from paofed.digest import digest
from paofed.errors import InputError
from paofed.simulate.results.outcome import versions

# The rooms of the package whose code decides numbers.
DECIDING = ("core", "algorithms", "world", "simulate")
_BESIDE = ("durations.py",)  # reads the lengths of ticks that a table's texts give
_SHOWN = 12  # digits of a digest that people are shown


def content(value: object) -> str:
    """Return a digest of what a value is; `program` says what the package's own rooms are."""
    try:
        return digest(value, known=[f"paofed.{room}" for room in DECIDING])
    except InputError as error:
        raise InputError(
            f"{error}, so nothing that depends on it can be kept in a store: run without one"
        ) from error


@cache
def program() -> dict[str, str]:
    """Return the versions of everything that decides numbers; of Python, the first two numbers."""
    found = versions()
    return {
        **found,
        "python": ".".join(platform.python_version_tuple()[:2]),
        "paofed": f"{found.get('paofed', 'not installed')} (sources {_sources()[:_SHOWN]})",
    }


def require_program(expected: dict[str, str]) -> None:
    """Refuse to compute for a client that has another program than this worker."""
    here = program()
    others = [
        f"{name} {here.get(name, 'none')} instead of {version}"
        for name, version in expected.items()
        if here.get(name) != version
    ]
    if others:
        raise InputError(
            f"the worker on {host()} has {', '.join(others)}: install there what is installed here"
        )


@cache
def processor() -> str:
    """Return the type of this machine's processor, as it names itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # another system than Linux
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(filter(None, named), platform.processor() or platform.machine() or "unknown")


def host() -> str:
    """Return the name of this machine."""
    return platform.node()


@cache
def _sources() -> str:
    """Return a digest of the package's own code, as far as it decides numbers."""
    root, found = Path(__file__).parents[2], hashlib.sha256()
    rooms = (path for room in DECIDING for path in (root / room).rglob("*.py"))
    for path in sorted([*rooms, *(root / name for name in _BESIDE)]):
        said = path.relative_to(root).as_posix().encode(), path.read_bytes()
        found.update(b"".join(len(part).to_bytes(8) + part for part in said))
    return found.hexdigest()
