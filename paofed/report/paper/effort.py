"""How much of the study is run: numbers that help texts can name without what runs it."""

from collections.abc import Mapping
from typing import NamedTuple

INDEPENDENT, PAPERS = "inputs independent in time", "the paper's inputs"


class Effort(NamedTuple):
    """How much of the study is run."""

    runs: int
    grid_runs: int
    widths: tuple[float, ...]
    steps: tuple[float, ...]
    theory_runs: int
    theory_ticks: int  # the ticks that theory predicts
    # The memory of the inputs beside which theory is held, by label; None is the paper's memory,
    # which comes last.
    inputs: Mapping[str, tuple[float, float] | None]


_INPUTS = {INDEPENDENT: (0.0, 0.0), PAPERS: None}
FULL = Effort(100, 8, (0.7, 1.0, 2.0, 3.0), (0.1, 0.2, 0.4, 0.75), 40, 200, _INPUTS)
QUICK = Effort(4, 2, (1.0, 2.0), (0.4,), 4, 60, {PAPERS: None})
