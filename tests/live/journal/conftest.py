from functools import cache
from pathlib import Path

import pytest

from tests.live.in_memory import folder_in_memory
from tests.live.stores import made


@cache
def _files() -> dict[str, bytes]:
    """The files of a fleet that is made once: most tests of the journal begin with it."""
    with folder_in_memory() as folder:
        return {path.name: path.read_bytes() for path in made(folder).iterdir()}


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Three devices, 25 ticks: lines 31 to 75, with snapshots after 30 and 60."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    for name, content in _files().items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o600)
    return folder
