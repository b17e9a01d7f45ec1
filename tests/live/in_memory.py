"""A folder in memory, where there is a place for one: journals are synced at every step."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 (where there is one)


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(
        prefix="paofed-test-",
        dir=_MEMORY if _MEMORY.is_dir() else None,
        ignore_cleanup_errors=True,  # what a test has started may still be about to end
    ) as folder:
        yield Path(folder)
