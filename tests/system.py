"""Programs that come from the system's package manager rather than from pip."""

import os
import shutil
from typing import NoReturn

import pytest

from tests.effort import in_ci

_PLACES = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))  # where daemons live


def needs(package: str, name: str = "") -> str:
    """Find a program of a system package; without it the test is skipped, or fails in CI.

    `name` is the program's, where it is not the package's.
    """
    program = shutil.which(name or package, path=_PLACES)
    if program is None:
        lacks(f"needs the system package {package}")
    return program


def lacks(reason: str) -> NoReturn:
    """Skip a test for what this machine does not have, or fail it in CI, which must have it."""
    if in_ci():
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
