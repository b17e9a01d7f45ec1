"""Work cut into jobs of a few runs each, as many as take seconds; and the key of all its jobs."""

import hashlib
import json
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from paofed.errors import FileError, ScenarioError
from paofed.files import file_digest
from paofed.simulate.engines import engine_of
from paofed.simulate.engines.task import Task
from paofed.simulate.spread.identity import content, program
from paofed.world.scenario import Scenario
from paofed.world.worlds import Setting

Files = Mapping[str, str]  # the digest of each file, by its name

SECONDS = 5.0  # how long the runs of a job shall take
MOST = 64  # the most runs of a job


class JobSize:
    """How many runs make a job: one until the first is finished, then as many as take SECONDS.

    What a run takes is measured, since no formula knows what anybody's method costs. The shortest
    measurement counts: the first runs may wait for a compiler.
    """

    def __init__(self, engine: str) -> None:
        # A card plays many runs in the time of one.
        self._each = 0.0 if engine_of(engine).on_card else SECONDS

    def learn(self, runs: int, seconds: float) -> None:
        """Take into account how long some runs took together."""
        self._each = min(self._each, seconds / runs)

    @property
    def runs(self) -> int:
        """How many runs the next job has."""
        return MOST if self._each * MOST <= SECONDS else max(1, int(SECONDS / self._each))


def cut(runs: Iterable[int], size: JobSize) -> Iterator[range]:
    """Cut ascending runs into jobs, each as large as `size` says when the job is asked for."""
    waiting = deque(runs)
    while waiting:
        start = stop = waiting[0]
        most = start + size.runs
        while waiting and waiting[0] == stop < most:
            stop += 1
            waiting.popleft()
        yield range(start, stop)


def around(run: int, missing: Container[int], size: JobSize) -> range:
    """Return the job that a missing run belongs to, as far as its other runs are missing, too.

    Jobs begin at multiples of their size, so that clients of one store cut alike.
    """
    first = run - run % size.runs
    start, stop = run, run + 1
    while start > first and start - 1 in missing:
        start -= 1
    while stop < first + size.runs and stop in missing:
        stop += 1
    return range(start, stop)


def key_of_task(engine: str, task: Task, files: Files) -> str:
    """Return a key for all that the numbers of a task's runs depend on."""
    said = {
        "engine": engine,
        "setting": _described(task.scenario, files),
        "methods": content(list(task.methods)),
        "seed": task.seed,
        "same_world": task.same_world,
        "every": task.every,
        "precision": task.precision,
        "program": program(),
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _described(setting: Setting, files: Files) -> str:
    """Describe a setting; a file and a function by their content, wherever they are."""
    if not isinstance(setting, Scenario):
        return json.dumps([setting.model_dump(), content(setting.worlds.trace)])
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
    except OSError as error:
        raise FileError(f"{name} cannot be read: {error.strerror}") from None
    return _content_since(name, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=16)
def _content_since(name: str, _changed: int, _size: int) -> str:
    return file_digest(Path(name))
