"""docs/notation.md does not lie: what it names exists, and what exists is named."""

import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed import ALGORITHMS, Algorithm, Trace, algorithm, core
from paofed.algorithms import options_of
from paofed.core.rules import Newest
from paofed.core.selection import Windows

DOCUMENT = (Path(__file__).parents[1] / "docs" / "notation.md").read_text(encoding="utf-8")


def paths() -> list[str]:
    return sorted(set(re.findall(r"`(paofed\.[^`]*)`", DOCUMENT)))


def public_names_of_core() -> Iterator[str]:
    for info in pkgutil.iter_modules(core.__path__, f"{core.__name__}."):
        for name, thing in vars(import_module(info.name)).items():
            defined = inspect.isfunction(thing) or inspect.isclass(thing)
            if defined and thing.__module__ == info.name and not name.startswith("_"):
                yield f"{info.name}.{name}"


def table_row(name: str, columns: int) -> list[str]:
    """The cells after the name, in the one table of that width with a row of that name."""
    rows = [line.strip("| ").split(" | ") for line in DOCUMENT.splitlines()]
    found = [row[1:] for row in rows if row[0] == f"`{name}`" and len(row) == columns]
    assert len(found) == 1, f"{name} has {len(found)} rows of {columns} columns"
    return found[0]


def test_what_it_names_exists() -> None:
    for path in paths():
        pkgutil.resolve_name(path)  # imports the longest module prefix, then follows attributes


def test_the_mathematics_is_named_and_says_what_it_is() -> None:
    """Every module of the core, or something in it, is in the document."""
    names = list(public_names_of_core())
    assert [name for name in names if not inspect.getdoc(pkgutil.resolve_name(name))] == []
    said = [f"{path}." for path in paths()]
    for room in {name.rpartition(".")[0] for name in names}:
        assert any(path.startswith(f"{room}.") for path in said), room


def cells(row: Algorithm) -> list[str]:
    down, up = row.downlink, row.uplink
    assert isinstance(down, Windows)
    assert isinstance(up, Windows)
    yes_no = {True: "yes", False: "no"}
    assert isinstance(row.server, Newest)
    weight = row.server.staleness(1)
    return [
        "D" if down.width is None else str(down.width),
        "-" if down.width is None else yes_no[down.coordinated],
        "next" if up.ahead else "same",
        "1" if weight == 1 else f"{weight}^l",
        yes_no[row.learns_while_away],
        "all available" if row.subset is None else "the server's pick",
    ]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_table_of_algorithms(name: str) -> None:
    row = algorithm(name, subset=0.2 if "subset" in options_of(name) else None)
    assert table_row(name, columns=7) == cells(row)


def test_a_trace_of_the_documented_shapes_and_types_is_accepted() -> None:
    sizes = {"N": 2, "K": 3, "d": 4, "D": 5, "P": 10, "T": 6, "E": 1, "1": 1}
    types = {"float": np.float64, "bool": np.bool_, "int": np.int64}
    arrays: dict[str, Any] = {}
    for field in fields(Trace):
        shape, kind, _ = table_row(field.name, columns=4)
        arrays[field.name] = np.zeros([sizes[s] for s in re.findall(r"\w", shape)], types[kind])
    arrays["drifts"] += 1  # the first tick has nothing to change from
    arrays["linear_high"] += 1  # a range is not empty
    Trace(**arrays)
