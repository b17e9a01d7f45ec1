"""Somebody with a notebook has a publishable figure of their own comparison in ten lines."""

import re
from pathlib import Path

import pytest
from matplotlib import pyplot as plt
from matplotlib.image import imread

from tests.test_docs import blocks

INCH = 72  # points


def test_ten_lines_make_a_figure_that_a_journal_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = blocks("docs/tutorial-notebook.md")
    ten = next(block.text for block in shown if block.kind == "python")
    assert sum(bool(line.strip()) for line in ten.splitlines()) <= 10
    try:
        exec(compile(ten, "docs/tutorial-notebook.md", "exec"), {})  # noqa: S102 (our own document)
    finally:
        plt.close("all")
    pdf = (tmp_path / "comparison.pdf").read_bytes()
    (box,) = re.findall(rb"/MediaBox \[ ?([\d. ]+) ?\]", pdf)
    left, low, right, high = map(float, box.split())
    assert (left, low) == (0, 0)
    assert right == pytest.approx(3.5 * INCH)
    assert 2 * INCH < high < 3.5 * INCH
    assert b"/Type3" not in pdf
    assert b"/FontFile2" in pdf  # TrueType, embedded
    down, across, _ = imread(tmp_path / "comparison.png").shape
    assert (across, down) == (3.5 * 300, 2.5 * 300)
