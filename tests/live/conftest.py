import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")  # noqa: S108 (where there is one)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory, where there is one: journals are synced at every step."""
    with tempfile.TemporaryDirectory(
        prefix="paofed-test-",
        dir=MEMORY if MEMORY.is_dir() else None,
        ignore_cleanup_errors=True,  # what a test has started may still be about to end
    ) as folder:
        yield Path(folder)
