"""Who learns alone and who is in contact, and when messages arrive: the chances of a tick."""

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray
from paofed.errors import InputError
from paofed.theory.fleet import Contacts

_ROUNDING = 1e-9  # by how much the sum of probabilities may differ from 1


class Draw(NamedTuple):
    """Chances given which the events of one client are independent of those of the others."""

    probability: float  # the probability that these chances apply
    alone: FloatArray  # (K,), chance of a sample without contact
    contact: FloatArray  # (K,), chance of a sample and a contact


class Arrivals(NamedTuple):
    """When messages arrive that are not too old to count."""

    counts: FloatArray  # (K,), probability that a message ever arrives and counts
    # (L + 1, K), probability that a message still on its way arrives at this age.
    hazard: FloatArray

    @property
    def oldest(self) -> int:
        """The highest age L that occurs."""
        return len(self.hazard) - 1

    def on_its_way(self) -> BoolArray:
        """Whether a message may still be on its way at an age, (L + 1, K)."""
        not_yet: BoolArray = np.vstack([self.counts > 0, self.hazard[:-1] < 1])
        return np.logical_and.accumulate(not_yet, axis=0)


def draws(contacts: Contacts, subset: float | None) -> Iterator[Draw]:
    """Yield every way in which the server may pick, with the chances of each client given that.

    A `subset` that is a count makes clients depend on each other: then one Draw is yielded for each
    set of available clients and each pick among them.
    """
    data, there = contacts.data, contacts.available
    if subset is None or subset < 1:
        contact = there * (1.0 if subset is None else subset)
        yield Draw(1.0, data - contact, contact)
        return
    everybody = range(data.size)
    unless_there = np.divide(data - there, 1 - there, out=np.zeros_like(data), where=there < 1)
    for size in range(data.size + 1):
        for present in combinations(everybody, size):
            here = np.isin(everybody, present)
            probability = float(np.where(here, there, 1 - there).prod())
            picked = min(int(subset), size)
            for chosen in combinations(present, picked):
                contact = np.isin(everybody, chosen).astype(np.float64)
                alone = np.where(here, 1.0, unless_there) * (1 - contact)
                yield Draw(probability / comb(size, picked), alone, contact)


def arrivals(contacts: Contacts, max_age: int) -> Arrivals:
    """Return the chances of arriving at each age up to the limit; later messages never count."""
    used = (contacts.ages <= max_age) & (contacts.late > 0).any(axis=0)
    oldest = int(contacts.ages[used].max(initial=0))
    late = np.zeros((oldest + 1, contacts.data.size))
    late[contacts.ages[used]] = contacts.late[:, used].T
    still = np.cumsum(late[::-1], axis=0)[::-1]  # probability of at least this delay
    return Arrivals(still[0], np.divide(late, still, out=np.zeros_like(late), where=still > 0))


def require_chances(contacts: Contacts, clients: int) -> None:
    """Refuse rates that are no probabilities, or that belong to another fleet."""
    data, there, ages, late = contacts
    shapes = data.shape, there.shape, late.shape
    if shapes != ((clients,), (clients,), (clients, ages.size)):
        raise InputError(
            f"data, available and late have the shapes {shapes}, and there are {clients} clients "
            f"and {ages.size} ages: expected (K,), (K,) and (K, ages)"
        )
    if not ((there >= 0) & (there <= data) & (data <= 1)).all():
        raise InputError(
            f"clients have samples with probability {data.tolist()} and contacts with "
            f"{there.tolist()}: expected 0 <= contacts <= samples <= 1"
        )
    if not ((ages[:1] >= 0).all() and (np.diff(ages) > 0).all()):
        raise InputError(f"ages are {ages.tolist()}: expected rising whole numbers from 0 on")
    if not ((late >= 0).all() and (late.sum(axis=1) <= 1 + _ROUNDING).all()):
        raise InputError(
            f"delays have the probabilities {late.tolist()}: expected, for each client, numbers "
            f"from 0 on whose sum is at most 1"
        )
