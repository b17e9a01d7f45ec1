"""Who does the work, and where finished parts of it are kept."""

from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple


class Crew(NamedTuple):
    """What whoever runs algorithms hands on to `run`, as it is: `run(..., **crew._asdict())`."""

    workers: int | None = None  # threads or processes of this machine; None: all cores
    executor: Executor | None = None  # who computes in the place of this machine
    store: Path | str | None = None  # a folder of finished units; None: they are not kept


HERE = Crew()  # this machine's cores, and nothing is kept
