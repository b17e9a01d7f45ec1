"""How much of a comparison is run: numbers that help texts can name without what runs it."""

from typing import NamedTuple


class Extent(NamedTuple):
    """How much is run: worlds of each round of the search, and of the judgement."""

    rounds: tuple[int, ...]
    runs: int

    @property
    def halved(self) -> "Extent":
        """Return about half of this: one round, and half of the worlds of the judgement."""
        return Extent(self.rounds[:1], max(2, self.runs // 2))


FULL = Extent((2, 2), 12)
QUICK = Extent((2,), 2)
