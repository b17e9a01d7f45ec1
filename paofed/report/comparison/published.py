"""The comparison that comes with this version: its numbers, and what made them.

`python -m lab compare`, in a checkout, takes an hour or two; with the published numbers, nobody has
to run it to see what it says.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from paofed.files import read_text
from paofed.report.comparison.judged import Judged, load

FOLDER = Path(__file__).parent / "published"


class Published(NamedTuple):
    """What was found, by which command, with which versions of the packages it needs."""

    found: list[Judged]
    command: str
    versions: Mapping[str, str]


def published() -> Published:
    """Read the published comparison from the package."""
    about = json.loads(read_text(FOLDER / "about.json"))
    return Published(load(FOLDER / "compare.csv"), about["command"], about["versions"])
