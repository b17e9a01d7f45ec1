"""Clients that are alike, of which one typical member is followed for all.

There are two levels: *groups* of clients that are available about equally often, between which
pairs are followed; and in each group *classes* of clients that also learn alike, each with a
typical member of its own. `Detail` has the number of groups and of every other approximation.
"""

from typing import NamedTuple, Self

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.theory.fleet import FleetInTheory


class Detail(NamedTuple):
    """How fine each approximation is; the defaults are for fleets of hundreds of clients.

    `FINEST` leaves out every approximation that can be left out.
    """

    # Groups of clients that are available about equally often; None: each client is a group.
    groups: int | None = 4
    classes: int = 8  # classes in a group, of clients that also learn alike
    stride: int = 10  # ticks of learning that are computed at once
    seldom: int = 5  # strides after which the noise of samples is computed anew, later in a run
    points: int = 64  # points that stand for the samples of a client
    precision: type[np.floating] = np.float32


FINEST = Detail(groups=None, classes=1, stride=1, seldom=1, points=4096, precision=np.float64)


class Groups(NamedTuple):
    """G groups with F classes in all; rates are means over the members of a class."""

    of_client: IntArray  # (K,), the class of each client
    of_class: IntArray  # (F,), the group of each class
    size: IntArray  # (F,), the number of clients in each class
    data: FloatArray  # (F,), chance of a sample at a tick
    contact: FloatArray  # (F,), chance of a sample and a contact with the server
    arriving: FloatArray  # (L, F), chance that a message of each age arrives at a tick

    @classmethod
    def of(cls, fleet: FleetInTheory, picked: float, counts: BoolArray, detail: Detail) -> Self:
        """Group clients; `picked` is the share of the available clients that takes part.

        `counts` says which ages of the fleet's messages count.
        """
        contacts = fleet.contacts
        with np.errstate(invalid="ignore", divide="ignore"):
            there = np.nan_to_num(contacts.available / contacts.data)
        # How concentrated the features of a client are, which decides how fast and how noisily it
        # learns.
        law = np.einsum("kij,kij->k", fleet.moments.R, fleet.moments.R)
        of_client = np.zeros(there.size, dtype=np.int64)
        of_class: list[int] = []
        alike = np.arange(there.size) if detail.groups is None else there
        for group, members in enumerate(_by_value(alike, detail.groups)):
            order = members[np.lexsort((law[members], contacts.data[members]))]
            for part in np.array_split(order, min(detail.classes, order.size)):
                of_client[part] = len(of_class)
                of_class.append(group)
        size = np.bincount(of_client)
        contact = contacts.available * picked
        sent = contact[:, None] * contacts.late[:, counts]

        def mean(values: FloatArray) -> FloatArray:
            return np.bincount(of_client, values) / size

        return cls(
            of_client,
            np.array(of_class),
            size,
            mean(contacts.data),
            mean(contact),
            np.array([mean(column) for column in sent.T]).reshape(-1, size.size),
        )

    @property
    def group_size(self) -> IntArray:
        """The number of clients in each group, (G,)."""
        return np.bincount(self.of_class, self.size).astype(np.int64)

    def by_group(self, values: FloatArray) -> FloatArray:
        """Return the mean over the members of each group of values by class, (F, ...)."""
        share = np.zeros((self.group_size.size, self.size.size))
        share[self.of_class, np.arange(self.size.size)] = self.size
        share /= self.group_size[:, None]
        mean: FloatArray = np.tensordot(share.astype(values.dtype), values, 1)
        return mean

    def sum_by_group(self, values: FloatArray) -> FloatArray:
        """Sum values by class, the last axis of (..., F), over groups, (..., G)."""
        member = self.of_class[:, None] == np.arange(self.group_size.size)
        total: FloatArray = values @ member.astype(values.dtype)
        return total

    def totals(self, values: FloatArray) -> FloatArray:
        """Sum values by client, (K, ...), over the members of each class, (F, ...)."""
        flat = values.reshape(len(values), -1)
        member = self.of_client == np.arange(self.size.size)[:, None]
        total: FloatArray = member.astype(flat.dtype) @ flat
        return total.reshape(-1, *values.shape[1:])

    def squares(self, values: FloatArray) -> FloatArray:
        """Sum the squares of vectors by client, (K, m), over the members of classes, (F, m, m)."""
        members = [values[self.of_client == f] for f in range(self.size.size)]
        return np.stack([vectors.T @ vectors for vectors in members])

    def means(self, values: FloatArray) -> FloatArray:
        """Return the mean over the members of each class."""
        shape = (-1,) + (1,) * (values.ndim - 1)
        mean: FloatArray = self.totals(values) / self.size.reshape(shape)
        return mean


def _by_value(values: FloatArray | IntArray, most: int | None) -> list[IntArray]:
    """Put clients with equal values together; neighbouring values if there would be too many."""
    distinct, which = np.unique(values, return_inverse=True)
    number = distinct.size if most is None else min(most, distinct.size)
    place = which * number // distinct.size
    return [np.flatnonzero(place == group) for group in range(number)]
