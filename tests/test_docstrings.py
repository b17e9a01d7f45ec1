"""The examples in docstrings are right.

pytest's own --doctest-modules would read every file of the package and of the tests, in each of its
processes.
"""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import paofed

ROOT = Path(paofed.__file__).parents[1]
WITH_EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("paofed", "lab")
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_the_examples_of_a_file(module: str) -> None:
    failed, tried = doctest.testmod(import_module(module), optionflags=doctest.ELLIPSIS)
    assert tried
    assert not failed


def test_there_are_some() -> None:
    assert len(WITH_EXAMPLES) > 30
