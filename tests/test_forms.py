"""What named arrays must look like: names, types and shapes, told in words."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from paofed.forms import Contents, Form

TEA = Contents(
    arrays={"leaves": Form("f", "GL"), "cups": Form("iu", "G"), "label": Form("U")},
    optional=({"milk": Form("b", "G"), "sugar": Form("iu", "G3")},),
    sizes={"G": "guests", "L": "leaves"},
    may_be_none="L",
)
LEAVES, CUPS, LABEL = np.ones((2, 5)), np.arange(2), np.array("green")
MILK, SUGAR = np.ones(2, bool), np.ones((2, 3), np.uint8)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["leaves", "cups", "label"], None),
        (["leaves", "cups", "label", "milk", "sugar"], None),
        ([], "it holds nothing"),
        (["x", "y\nz"], "it holds x, 'y\\nz'"),
        ([f"a{i}" for i in range(13)], ", a11, ..."),
        (["leaves"], "arrays missing: cups, label"),
        (["leaves", "cups", "label", "mlik"], "unknown array 'mlik': did you mean 'milk'?"),
        (["leaves", "cups", "label", "sugar"], "sugar is given without milk"),
    ],
)
def test_names(names: list[str], told: str | None) -> None:
    found = TEA.misnamed(names)
    assert found is None if told is None else told in str(found)


def test_names_that_begin_as_agreed() -> None:
    names = ["leaves", "cups", "label", "cake_1", "cake_2"]
    assert "unknown array 'cake_1'" in str(TEA.misnamed(names))
    assert replace(TEA, beside="cake_").misnamed(names) is None
    assert "unknown array 'pie'" in str(replace(TEA, beside="cake_").misnamed([*names, "pie"]))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, None),
        ({"milk": MILK, "sugar": SUGAR}, None),
        ({"leaves": np.ones((2, 0))}, None),
        ({"leaves": np.ones(2)}, "leaves has shape (2,): expected 2 dimensions, (G, L)"),
        ({"leaves": np.ones((0, 5))}, "leaves has shape (0, 5): no guests (G = 0)"),
        ({"cups": np.arange(3)}, "cups has 3 guests (G), but leaves has 2"),
        ({"cups": np.ones(2)}, "cups is of type float64: expected an integer type"),
        ({"label": np.array(["green"])}, "label has shape (1,): expected one value"),
        ({"sugar": np.ones((2, 2), int)}, "sugar has shape (2, 2): expected (G, 3)"),
        ({"milk": SUGAR[:, 0]}, "milk is of type uint8: expected bool"),
    ],
)
def test_types_and_shapes(changes: dict[str, NDArray[np.generic]], told: str | None) -> None:
    arrays = {"leaves": LEAVES, "cups": CUPS, "label": LABEL, **changes}
    assert TEA.misshapen(arrays) == told
