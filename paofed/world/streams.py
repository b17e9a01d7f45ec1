"""Where samples come from: the paper's function of autoregressive inputs, or a table."""

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Discriminator, Field, Tag

from paofed.core.arrays import FloatArray
from paofed.core.random import Key, philox, uniform
from paofed.world.table.spec import Table
from paofed.world.value import Counts, MemoryRange, PlaceRange, Ticks, Value, VarianceRange

INPUTS = 4  # how many inputs the paper's function takes


def target(x: FloatArray, drifts: int = 0) -> FloatArray:
    """f(x) = sqrt(x1^2 + sin^2(pi x4)) + (0.8 - 0.5 exp(-x2^2)) x3, for x of shape (..., 4).

    Each drift moves the roles of the inputs on by one: after the first, x2 has the role of x1. All
    inputs of a client have the same law, so over many worlds every target is as hard as the first.
    """
    x1, x2, x3, x4 = (x[..., (role + drifts) % INPUTS] for role in range(INPUTS))
    y: FloatArray = np.sqrt(x1**2 + np.sin(np.pi * x4) ** 2) + (0.8 - 0.5 * np.exp(-(x2**2))) * x3
    return y


class ClientLaws(NamedTuple):
    """The laws of every client's data, each of shape (K,).

    x <- memory x + sqrt(1 - memory^2) u with u ~ N(centre, spread^2 I); y = f(x) + noise.
    """

    memory: FloatArray
    centre: FloatArray
    spread: FloatArray
    noise: FloatArray  # standard deviation

    @property
    def stationary_mean(self) -> FloatArray:
        """The mean of every coordinate of x in the long run; the standard deviation is `spread`."""
        return self.centre * np.sqrt(1 - self.memory**2) / (1 - self.memory)


class Synthetic(Value):
    """The paper's stream: every client draws its laws once per world from the ranges given."""

    kind: Literal["synthetic"] = "synthetic"
    samples: Counts  # per data group over the whole run; client k is in group floor(G k / K)
    arrivals: Literal["bernoulli", "even"] = "bernoulli"
    memory: MemoryRange = (0.2, 0.9)
    centre: PlaceRange = (-0.2, 0.2)
    variance: VarianceRange = (0.2, 1.2)
    noise_variance: VarianceRange = (0.005, 0.03)
    drifts: Ticks = ()  # ticks; the samples from each of them on have another target
    # Ticks that each change of the target takes; 0: at once.
    drift_ticks: Annotated[int, Field(ge=0, lt=2**31)] = 0

    def samples_of(self, clients: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return how many samples each client sees, exactly or on average."""
        group = len(self.samples) * np.arange(clients) // clients
        return np.asarray(self.samples, dtype=np.int64)[group]

    def laws(self, key: Key, clients: int, purpose: int) -> ClientLaws:
        """Draw the laws of all clients of one world."""
        words = philox(key, np.arange(clients), 0, 0, purpose)
        ranges = (self.memory, self.centre, self.variance, self.noise_variance)
        memory, centre, variance, noise = (
            low + (high - low) * uniform(word)
            for (low, high), word in zip(ranges, words, strict=True)
        )
        return ClientLaws(memory, centre, np.sqrt(variance), np.sqrt(noise))


def _kind(stream: Any) -> Any:
    """Tell the kind of a stream; without a kind, the stream is the paper's."""
    if isinstance(stream, dict):
        return stream.get("kind", "synthetic")
    return getattr(stream, "kind", None)


Stream = Annotated[
    Annotated[Synthetic, Tag("synthetic")] | Annotated[Table, Tag("table")], Discriminator(_kind)
]
