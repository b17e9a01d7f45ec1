"""Work cut into units: a few runs each, with keys from their content."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from paofed.errors import FileError, ScenarioError
from paofed.simulate.engines import engine_of
from paofed.simulate.engines.task import Task
from paofed.simulate.spread.content import digest, file_digest
from paofed.simulate.spread.identity import program
from paofed.world.scenario import Scenario
from paofed.world.worlds import Setting

Files = Mapping[str, str]  # the digest of each file, by its name

# The size of a unit, in numbers that all clients change over all ticks: seconds on one core.
WORK = 1e10
MOST = 100  # the most runs of a unit


class WorkUnit(NamedTuple):
    """Some runs of a task. Two units with the same key have the same numbers."""

    runs: range
    key: str


def runs_per_unit(engine: str, task: Task) -> int:
    """Return how many runs make a unit: the same on every machine, whoever does the work."""
    setting = task.scenario
    numbers = setting.ticks * setting.clients * setting.features * len(task.methods)
    return max(1, min(MOST, int(WORK / (engine_of(engine).cost * numbers))))


def cut(engine: str, task: Task, runs: range, files: Files | None) -> Iterator[WorkUnit]:
    """Cut the runs of a task into units; with `files` None, the units have no keys.

    Units begin at multiples of their size, so that a longer task has the same first units.
    """
    size = runs_per_unit(engine, task)
    common = "" if files is None else _common(engine, task, files)
    start = runs.start
    while start < runs.stop:
        stop = min(runs.stop, (start // size + 1) * size)
        said = f"{common} {start} {stop}".encode()
        yield WorkUnit(range(start, stop), hashlib.sha256(said).hexdigest())
        start = stop


def _common(engine: str, task: Task, files: Files) -> str:
    """Return the part of the key that all units of a task have in common."""
    asked = {
        "engine": engine,
        "setting": _setting(task.scenario, files),
        "methods": digest(list(task.methods)),
        "seed": task.seed,
        "same_world": task.same_world,
        "every": task.every,
        "precision": task.precision,
        "program": program(),
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _setting(setting: Setting, files: Files) -> str:
    """Describe a setting; a file and a function by their content, wherever they are."""
    if not isinstance(setting, Scenario):
        return json.dumps([setting.model_dump(), digest(setting.worlds.trace)])
    text = json.dumps(setting.model_dump())
    for name in files:
        text = text.replace(json.dumps(name), "file")
    return json.dumps([text, *files.values()])


def files_of(setting: Setting) -> Files:
    """Return the digests of the files that a setting names."""
    named = setting.files if isinstance(setting, Scenario) else []
    return {str(path): _content(str(path)) for path in named}


def require_same(files: Files, where: str) -> None:
    """Refuse to go on if a file holds something else than when the work began."""
    for name, expected in files.items():
        if _content(name) != expected:
            raise ScenarioError(
                f"{name} on {where} is another file than it was when the work began: expected the "
                f"same content everywhere, and until the end"
            )


def _content(name: str) -> str:
    try:
        stat = Path(name).stat()
        return _content_since(name, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise FileError(f"{name} cannot be read: {error.strerror}") from None


@lru_cache(maxsize=16)
def _content_since(name: str, _changed: int, _size: int) -> str:
    return file_digest(Path(name))
