"""How much is run of each interpretation: numbers for help texts, without what runs it."""

from typing import TYPE_CHECKING, NamedTuple

from lab import grids

if TYPE_CHECKING:
    from lab.interpretations.interpretations import Interpretation


class Amount(NamedTuple):
    """How much is run of an interpretation."""

    runs: int
    trials: int  # runs of each step size that is tried
    grid: tuple[float, ...]  # of step sizes
    shorter: int  # by how many times all runs are shorter than the paper's

    def runs_of(self, interpretation: "Interpretation") -> int:
        """Return how many runs an interpretation has; at least two, for intervals."""
        return max(2, round(self.runs * interpretation.share))


FULL = Amount(runs=100, trials=8, grid=grids.INTERPRETED, shorter=1)
QUICK = Amount(runs=3, trials=2, grid=grids.GLANCED, shorter=20)
