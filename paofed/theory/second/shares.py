"""First and second moments of the weights that messages have at the server.

A message of age l weighs alpha_l / |K_l|, where |K_l| counts the messages of its age that arrive
with it. All of them arrive independently, so the number X of a message's companions is a sum of
independent Bernoulli variables, whose distribution follows from its characteristic function.
"""

from typing import NamedTuple, Self

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.theory.second.groups import Groups


class Shares(NamedTuple):
    """By age (L), class (F) and group (G); a weight is 0 where no message arrives."""

    total: FloatArray  # (L, F), E[weight], summed over the members of a class
    first: FloatArray  # (L, F), E[weight] of one member
    square: FloatArray  # (L, F), E[weight^2] of one member
    product: FloatArray  # (L, F, F), E[weight weight'] of two distinct members
    pairs: FloatArray  # (L, F, F), that product summed over all pairs of distinct members

    @classmethod
    def of(cls, groups: Groups, alpha: FloatArray, counted: float = 1.0) -> Self:
        """Compute the moments from the chances of arrival and the weights by age (L,).

        `counted` is the chance that a companion is counted in |K_l|: 1 for the divisor "class", and
        the share of the coordinates that a message holds for "coverage".
        """
        size = groups.group_size
        arriving = groups.by_group(groups.arriving.T).T  # (L, G)
        moments = [_of_one_age(counted * q, size) for q in arriving]
        inverse, inverse_square, of_two = (np.stack(found) for found in zip(*moments, strict=True))
        weight = alpha[:, None] * groups.arriving
        first = weight * inverse[:, groups.of_class]
        square = alpha[:, None] * weight * inverse_square[:, groups.of_class]
        group = groups.of_class
        product = weight[:, :, None] * weight[:, None, :] * of_two[:, group[:, None], group]
        ordered = np.outer(groups.size, groups.size) - np.diag(groups.size)
        return cls(first * groups.size, first, square, product, product * ordered)

    @property
    def moved(self) -> FloatArray:
        """By how much the server is expected to move towards the messages of an age, (L,)."""
        moved: FloatArray = self.total.sum(axis=1)
        return moved

    @property
    def decides(self) -> FloatArray:
        """The chance that no newer message arrives, (L,), where all hold the same coordinates."""
        decides: FloatArray = np.cumprod([1.0, *(1 - self.moved[:-1])])
        return decides

    @property
    def senders(self) -> tuple[FloatArray, FloatArray]:
        """One member's share, (F,), and its square, for whole models: the newest decide alone.

        Both are given that any message arrives; the weights by age must be 1.
        """
        return self._given_any(self.first), self._given_any(self.square)

    @property
    def sender_pairs(self) -> FloatArray:
        """The share of two senders, E[share share'], summed over pairs of members, (F, F)."""
        return self._given_any(self.pairs)

    def _given_any(self, values: FloatArray) -> FloatArray:
        """Sum values by age over the ages that decide, given that any message arrives; else 0."""
        chance = float(self.decides @ self.moved)
        given: FloatArray = np.tensordot(self.decides, values, 1) / (chance or 1.0)
        return given


def of_presence(
    groups: Groups, pulls: FloatArray, first: FloatArray, square: FloatArray, product: FloatArray
) -> FloatArray:
    """Return the covariance of a weighted sum of clients' pulls (K, m), due to the weights alone.

    Members weigh `first` (F,) on average, `square` (F,) in the square, and two of them `product`
    (F, F): the randomness of who is there matters, since clients pull differently.
    """
    total = groups.totals(pulls)  # (F, m)
    mean = first @ total
    added: FloatArray = np.tensordot(square - np.diagonal(product), groups.squares(pulls), 1)
    return added + total.T @ product @ total - np.outer(mean, mean)


def _of_one_age(q: FloatArray, size: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return E[1 / (1 + X)], E[1 / (1 + X)^2] by group, E[1 / (2 + X)^2] by pair of groups."""
    groups = range(size.size)
    points = 1 << int(size.sum() + 1).bit_length()  # more points than there can be messages
    turns = np.exp(2j * np.pi * np.arange(points) / points)
    single = 1 - q[:, None] + q[:, None] * turns  # E[exp(i t 1{counts})], (G, points)
    number = np.arange(points)

    def companions(*without: int) -> FloatArray:
        """Return the distribution of X, with one member of each given group left out."""
        left = size - np.bincount(without, minlength=size.size)
        chances: FloatArray = np.fft.fft(np.prod(single ** left[:, None], axis=0)).real / points
        return chances

    alone = np.stack([companions(g) for g in groups])
    of_two = np.zeros((size.size, size.size))
    for g in groups:
        for h in range(g, size.size):
            if g != h or size[g] > 1:
                of_two[g, h] = of_two[h, g] = companions(g, h) @ (1.0 / (2 + number) ** 2)
    return alone @ (1.0 / (1 + number)), alone @ (1.0 / (1 + number) ** 2), of_two
