"""What is followed: covariances of the server's model and of typical members."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from paofed.core.arrays import FloatArray


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
