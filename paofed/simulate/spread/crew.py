"""Who does the work, and where finished parts of it are kept."""

from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from paofed.errors import InputError
from paofed.files import require_folder


class Crew(NamedTuple):
    """Who computes and where jobs are kept; passed on to `run` as `run(..., **crew._asdict())`."""

    workers: int | None = None  # threads or processes of this machine; None: all cores
    executor: Executor | None = None  # computes instead of this machine; None: this machine
    store: Path | str | None = None  # a folder of finished jobs; None: jobs are not kept


HERE = Crew()  # this machine's cores; jobs are not kept


def checked(crew: Crew) -> Crew:
    """Refuse a wrong executor or store before any long work begins."""
    if crew.executor is not None and not callable(getattr(crew.executor, "submit", None)):
        raise InputError(
            f"executor is {crew.executor!r}: expected one as concurrent.futures has them, with "
            f"a method submit",
            key="executor",
        )
    if crew.store is None:
        return crew
    path: object = crew.store  # people may hand in anything
    if not isinstance(path, str | Path) or path == "":
        raise InputError(f"store is {path!r}: expected the path of a folder", key="store")
    require_folder(Path(crew.store))
    return crew
