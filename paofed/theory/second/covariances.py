"""Covariances of the server's model and of typical members, and what contacts do to them."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.theory.models import ModelsInModes


@dataclass(eq=False)
class Covariances:
    """Covariances around the means; F classes in G groups, D features. Changed in place."""

    server: FloatArray  # (D, D)
    cross: FloatArray  # (F, D, D), of the server's model (rows) and a member's model
    own: FloatArray  # (F, D, D), of a member's model
    pairs: FloatArray  # (G, G, D, D), of a member's model and that of another member

    @classmethod
    def zero(cls, classes: int, groups: int, features: int, precision: type[np.floating]) -> Self:
        """Return zeros: all models are known at the start."""
        shapes = (), (classes,), (classes,), (groups, groups)
        return cls(*(np.zeros((*shape, features, features), precision) for shape in shapes))


class TickOfMeans(NamedTuple):
    """What an exchange needs to know of a tick besides covariances."""

    n: int
    server: FloatArray  # (D,), the server's mean model before the tick
    means: ModelsInModes  # the mean models before the tick, and after it once members have learned
    noise: FloatArray  # (F, D, D), what the randomness of one sample adds to a member's model


class CovarianceExchange(Protocol):
    """How members and the server change each other's models."""

    def before_learning(self, state: Covariances, tick: TickOfMeans) -> None:
        """Do what comes before samples."""
        ...

    def after_learning(self, state: Covariances, tick: TickOfMeans) -> None:
        """Do what comes after samples."""
        ...


class Offers(NamedTuple):
    """What typical members send, or might send: covariances of m values."""

    with_server: FloatArray  # (F, m, D), with the server's model
    with_others: FloatArray  # (G, G, m, D), with another member's model
    with_sender: FloatArray  # (F, m, D), with the model of the member that sends
    mutual: FloatArray  # (G, G, m, m), of two members
    own: FloatArray  # (F, m, m), of one member's values
