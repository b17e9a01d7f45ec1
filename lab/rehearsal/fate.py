"""One seed's chance: every choice of a rehearsal comes from it, and it counts what befell whom."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

START = 1.0  # when virtual time begins, in seconds since 1970


class Fate:
    """The generator of one seed, its virtual time, and the points hit so far."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = np.random.default_rng(seed)
        self.hits: Counter[str] = Counter()
        self.now = 0  # whole seconds since the beginning
        self.calm = False  # whether the faults have ended

    @property
    def wall(self) -> float:
        """The time that a clock on the wall shows, in seconds since 1970."""
        return START + self.now

    def strikes(self, chance: float) -> bool:
        """Whether a fault of this chance happens now; none happens in the calm at the end."""
        return not self.calm and self.random.random() < chance

    def one_of(self, names: Sequence[str]) -> str:
        """Pick a name."""
        return names[int(self.random.integers(len(names)))]

    def turn(self, names: Sequence[str]) -> str:
        """Return the name whose turn it is with this seed: consecutive seeds try all names."""
        return names[self.seed % len(names)]
