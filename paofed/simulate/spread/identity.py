"""What decides the digits of a number beside the question: the program, and the processor.

Units that were computed by another program are different units. Units computed on another type of
processor are the same units, but their last digits may differ: so each unit says where it was
computed.
"""

import hashlib
import platform
from functools import cache
from pathlib import Path

from paofed.errors import InputError
from paofed.simulate.results.result import versions

# The rooms of the package whose code decides numbers.
DECIDING = ("core", "algorithms", "world", "simulate")
_SHOWN = 12  # digits of a digest that people are shown


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
    for path in sorted(path for room in DECIDING for path in (root / room).rglob("*.py")):
        said = path.relative_to(root).as_posix().encode(), path.read_bytes()
        found.update(b"".join(len(part).to_bytes(8) + part for part in said))
    return found.hexdigest()
