"""How late a message is: laws of delay, each a small value.

Every law but a recorded one is a list of thresholds: the delay is `step` times the number of
thresholds that a random word is below.
"""

import math
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from paofed.world.events import ThresholdArray, threshold
from paofed.world.recorded import Recorded
from paofed.world.value import Value

# Beyond this the list of thresholds would be thousands long: a delay that means "lost".
_LONGEST_TAIL = 0.999

LONGEST = 1_000_000  # ticks that a step or an age limit may have

Base = Annotated[float, Field(ge=0, le=_LONGEST_TAIL)]


class Ladder(NamedTuple):
    """Falling thresholds for one step, two steps, ..."""

    thresholds: ThresholdArray
    step: int


class SteppedDelay(Value):
    """Delays are multiples of `step`: P(delay >= step i) = base^i."""

    kind: Literal["stepped"] = "stepped"
    base: Base
    step: Annotated[int, Field(ge=1, le=LONGEST)]

    def ladder(self) -> Ladder:
        """Return the thresholds down to the last that any word is below."""
        # The last threshold that rounds to at least 1 is that of base^i >= 2^-33.
        rungs = 0 if self.base == 0 else math.ceil(33 * math.log(2) / -math.log(self.base))
        rising = threshold(float(self.base) ** np.arange(1, rungs + 1))
        return Ladder(rising[rising > 0], self.step)


class GeometricDelay(Value):
    """P(delay >= l) = base^l."""

    kind: Literal["geometric"] = "geometric"
    base: Base

    def ladder(self) -> Ladder:
        """Return the thresholds of a ladder of single ticks."""
        return SteppedDelay(base=self.base, step=1).ladder()


class NoDelay(Value):
    """Every message arrives at the tick it was sent."""

    kind: Literal["none"] = "none"

    def ladder(self) -> Ladder:
        """Return a ladder without a rung."""
        return SteppedDelay(base=0.0, step=1).ladder()


Delay = Annotated[GeometricDelay | SteppedDelay | NoDelay | Recorded, Field(discriminator="kind")]
