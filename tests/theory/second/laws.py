"""Small fleets whose clients see a few points each, for theory at large and for the exact one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from paofed.algorithms.base import Settled
from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray, IntArray
from paofed.theory.exact.sample_moments import SampleLaw, SampleMoments
from paofed.theory.exact.small_fleet import SmallFleet, second_order
from paofed.theory.fleet import Contacts, FleetInTheory
from paofed.theory.moments import Moments
from paofed.theory.sample_points import SamplePoints
from paofed.theory.second.curve import learning_curve
from paofed.theory.second.groups import FINEST, Detail

SETTINGS = Settled(step_size=0.3, max_age=10)
TICKS = np.array([9, 49])
_NOISE, _POINTS = 0.1, 5


class TwoTheories(NamedTuple):
    """One fleet, as the exact recursion and as theory at large has it."""

    exact: SmallFleet
    large: FleetInTheory

    def ratio(self, text: str, detail: Detail = FINEST, points: IntArray = TICKS) -> FloatArray:
        """The spread of an algorithm's model in theory at large, over that of the exact one."""
        method = resolve(text)
        found = learning_curve(self.large, method, SETTINGS, points, detail=detail)
        known = second_order(self.exact, method, SETTINGS, points).error(self.exact)
        ratio: FloatArray = found.of_spread / (known.of_inputs + known.of_noise)
        return ratio


def contacts_of(
    clients: int, *, data: ArrayLike = 1.0, there: ArrayLike = 0.1, late: ArrayLike = (1.0,)
) -> Contacts:
    """Clients that have samples, are there given one, and are late as said."""
    often = np.broadcast_to(np.asarray(data, dtype=np.float64), clients)
    lateness = np.asarray(late, dtype=np.float64)
    ages = np.flatnonzero(lateness)
    return Contacts(often, often * np.asarray(there), ages, np.tile(lateness[ages], (clients, 1)))


def theories(contacts: Contacts, features: int = 4, *, alike: bool = False) -> TwoTheories:
    """Every client sees its own five points, unless they are alike, and no model fits them all."""
    rng, laws = np.random.default_rng(0), []
    for _ in range(contacts.data.size):
        z = np.sqrt(2 / features) * np.cos(rng.uniform(0, 2 * np.pi, (_POINTS, features)))
        y = z @ np.linspace(1, -1, features) + 0.5 * rng.normal(size=_POINTS)
        laws.append(SampleLaw(z, y, rng.dirichlet(np.full(_POINTS, 3.0))))
    if alike:
        laws = [laws[0]] * len(laws)
    samples = SampleMoments.of(laws, _NOISE)
    z_test = np.sqrt(features) * np.eye(features)
    tests = z_test, z_test @ np.linspace(1, -1, features)
    z, y, chances = (np.stack(column) for column in zip(*laws, strict=True))
    seen = SamplePoints(z, y, chances, samples.noise)

    def points(clients: IntArray, _: int) -> SamplePoints:
        return SamplePoints(*(values[clients] for values in seen))

    moments = Moments(samples.second[:, :, 1:], samples.second[:, :, 0], 0.0, 0.0)
    return TwoTheories(
        SmallFleet(samples, contacts, *tests),
        FleetInTheory(moments, contacts, *tests, samples=points, test_noise=0.0),
    )
