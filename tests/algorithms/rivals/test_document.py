"""docs/methods.md has each method beside the paper's with its options and a section of its own."""

import re
from pathlib import Path

import pytest

from paofed.algorithms import RIVALS, SHARING_SUMS, options_of
from paofed.algorithms.rivals.servers import SERVERS

DOCUMENT = (Path(__file__).parents[3] / "docs" / "methods.md").read_text(encoding="utf-8")
NAMES = [*RIVALS, *SHARING_SUMS]
ROWS = dict(re.findall(r"^\| `([\w-]+)` \| ?(.*?) ?\|", DOCUMENT, re.MULTILINE))


def test_every_method_in_order() -> None:
    assert list(ROWS) == NAMES
    titles = re.findall(r"^### (.*)$", DOCUMENT, re.MULTILINE)
    assert titles == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_option_and_its_default(name: str) -> None:
    options = {key: str(option.default).lower() for key, option in options_of(name).items()}
    if name in SERVERS:
        assert options.pop("shared") == "none"  # said once for all of them
    assert dict(re.findall(r"`(\w+)=(.*?)`", ROWS[name])) == options
