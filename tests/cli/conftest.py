"""A fleet with two devices, for the commands of `paofed fleet`."""

import shutil
from pathlib import Path

import pytest

from tests.cli.operators import founded


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet that no test changes."""
    return founded(tmp_path_factory.mktemp("unchanged") / "greenhouse")


@pytest.fixture
def folder(unchanged: Path, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return Path(shutil.copytree(unchanged, tmp_path / "greenhouse"))
