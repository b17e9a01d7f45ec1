"""docs/methods.md names every asynchronous server, with its options and a section of its own."""

import re
from pathlib import Path

import pytest

from paofed.algorithms import options_of
from paofed.algorithms.rivals.servers import SERVERS

DOCUMENT = (Path(__file__).parents[4] / "docs" / "methods.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([\w-]+)` \| ?(.*)\|$", DOCUMENT, re.MULTILINE))


def test_every_server_in_order() -> None:
    assert list(ROWS)[: len(SERVERS)] == list(SERVERS)
    titles = re.findall(r"^### (.*)$", DOCUMENT, re.MULTILINE)
    assert [title for title in titles if title in SERVERS] == list(SERVERS)


@pytest.mark.parametrize("name", SERVERS)
def test_every_option_and_its_default(name: str) -> None:
    options = {key: str(option.default).lower() for key, option in options_of(name).items()}
    assert options.pop("shared") == "none"
    assert dict(re.findall(r"`(\w+)=(.*?)`", ROWS[name])) == options
