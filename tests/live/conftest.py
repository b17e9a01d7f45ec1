from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.in_memory import folder_in_memory


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with folder_in_memory() as folder:
        yield folder
