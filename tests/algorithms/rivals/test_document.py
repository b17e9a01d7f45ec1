"""docs/methods.md has every channel and device with its options, its source and its bytes."""

import re
from pathlib import Path

import pytest

from paofed.algorithms import options_of
from paofed.algorithms.rivals.channels import CHANNELS
from paofed.algorithms.rivals.devices import DEVICES

DOCUMENT = (Path(__file__).parents[3] / "docs" / "methods.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([\w-]+)` \| (.*?) \|", DOCUMENT, re.MULTILINE))
OURS = [*CHANNELS, *DEVICES]


def test_every_method_in_order() -> None:
    assert [name for name in ROWS if name in OURS] == OURS
    titles = re.findall(r"^### (.*)$", DOCUMENT, re.MULTILINE)
    assert [title for title in titles if title in OURS] == OURS


@pytest.mark.parametrize("name", OURS)
def test_every_option_and_its_default(name: str) -> None:
    options = {key: str(option.default).lower() for key, option in options_of(name).items()}
    assert dict(re.findall(r"`(\w+)=(.*?)`", ROWS[name])) == options
