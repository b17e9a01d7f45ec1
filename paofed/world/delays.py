"""How late a message is, or lost: laws of delay and of loss, each a small value.

Every law but a recorded one is a list of falling thresholds: the delay is `step` times the number
of thresholds above a random word. Each group of clients may have a list and a step of its own.
"""

import math
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import AfterValidator, Field

from paofed.core.arrays import FloatArray, IntArray, WordArray
from paofed.world.recorded import Recorded
from paofed.world.value import (
    CERTAIN,
    ByGroup,
    Grouped,
    Probability,
    ThresholdArray,
    Value,
    by_group,
    threshold,
)

# A law with a larger base would need a list of thousands of thresholds: its delays mean "lost".
_LONGEST_TAIL = 0.999

LONGEST = 1_000_000  # the most ticks that a step or an age limit may have

Base = Annotated[float, Field(ge=0, le=_LONGEST_TAIL)]
Step = Annotated[int, Field(ge=1, le=LONGEST)]


def _falling(chances: tuple[float, ...]) -> tuple[float, ...]:
    for earlier, later in pairwise(chances):
        if later > earlier:
            raise ValueError(
                f"{later} comes after {earlier}: expected chances that do not rise, since a "
                f"message that is late by more steps counts for fewer steps as well"
            )
    return chances


Chances = Annotated[
    tuple[Probability, ...],
    Field(min_length=1, max_length=4096, strict=False),
    AfterValidator(_falling),
]


class Ladder(NamedTuple):
    """Falling thresholds for one step, two steps and so on; client k has those of group k mod G."""

    thresholds: ThresholdArray  # (G, L); a 0, which no word is below, fills up a shorter list
    step: IntArray  # (G,)

    def delays(self, words: WordArray, clients: IntArray) -> IntArray:
        """Turn words into delays; clients are the last axis of the words."""
        delay = np.empty(words.shape, dtype=np.int64)
        for group, (thresholds, step) in enumerate(zip(*self, strict=True)):
            mine = clients % len(self.step) == group
            # Thresholds fall, so the thresholds above a word come first; `searchsorted` wants them
            # rising.
            below = np.searchsorted(thresholds[::-1], words[..., mine], side="right")
            delay[..., mine] = step * (thresholds.size - below)
        return delay

    def chances(self) -> tuple[IntArray, FloatArray]:
        """Return all possible delays, rising, (L,), and how likely each is by group, (G, L)."""
        groups, rungs = self.thresholds.shape
        beyond = np.pad(self.thresholds / CERTAIN, ((0, 0), (1, 1)))
        beyond[:, 0] = 1.0
        chance, delay = -np.diff(beyond), self.step[:, None] * np.arange(rungs + 1)
        ages = np.unique(delay[chance > 0])
        found = np.zeros((groups, ages.size))
        for group, row in enumerate(found):
            may_be = chance[group] > 0
            row[np.searchsorted(ages, delay[group, may_be])] = chance[group, may_be]
        return ages, found


class SteppedDelay(Grouped):
    """Delays are multiples of `step`: P(delay >= step i) = base^i."""

    kind: Literal["stepped"] = "stepped"
    base: ByGroup[Base]
    step: ByGroup[Step]

    def ladder(self) -> Ladder:
        """Return the thresholds of every group, as long as a random word can be below them."""
        bases, steps = np.broadcast_arrays(np.atleast_1d(self.base), np.atleast_1d(self.step))
        groups = [_thresholds(float(base)) for base in bases]
        longest = max(thresholds.size for thresholds in groups)
        padded = [np.pad(thresholds, (0, longest - thresholds.size)) for thresholds in groups]
        return Ladder(np.stack(padded), steps.astype(np.int64))


def _thresholds(base: float) -> ThresholdArray:
    # The last threshold that rounds to at least 1 is the one of the last base^i >= 2^-33.
    rungs = 0 if base == 0 else math.ceil(33 * math.log(2) / -math.log(base))
    falling = threshold(base ** np.arange(1, rungs + 1))
    return falling[falling > 0]


class GeometricDelay(Grouped):
    """P(delay >= l) = base^l."""

    kind: Literal["geometric"] = "geometric"
    base: ByGroup[Base]

    def ladder(self) -> Ladder:
        """Return the thresholds, with a step of one tick."""
        return SteppedDelay(base=self.base, step=1).ladder()


class ListedDelay(Value):
    """Delays are multiples of `step`: P(delay >= step i) is the i-th of `chances`, then 0."""

    kind: Literal["listed"] = "listed"
    chances: Chances
    step: Step = 1

    def ladder(self) -> Ladder:
        """Return the thresholds as they are listed."""
        return Ladder(threshold(self.chances)[None], np.array([self.step]))


class NoDelay(Value):
    """Every message arrives at the tick it was sent."""

    kind: Literal["none"] = "none"

    def ladder(self) -> Ladder:
        """Return a ladder without any threshold."""
        return SteppedDelay(base=0.0, step=1).ladder()


Delay = Annotated[
    GeometricDelay | SteppedDelay | ListedDelay | NoDelay | Recorded, Field(discriminator="kind")
]


class Loss(Grouped):
    """At every contact, the client's message and the server's values are lost, each by chance."""

    up: ByGroup[Probability] = 0.0
    down: ByGroup[Probability] = 0.0

    def thresholds(self, clients: IntArray) -> tuple[ThresholdArray, ThresholdArray]:
        """Return the clients' thresholds of a loss on the way up and on the way down."""
        return threshold(by_group(self.up, clients)), threshold(by_group(self.down, clients))
