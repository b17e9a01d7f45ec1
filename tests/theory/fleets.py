"""Fleets made by hand, for which everything is known."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from paofed.core.arrays import FloatArray, IntArray
from paofed.theory.exact.small_fleet import SmallFleet
from paofed.theory.fleet import Contacts, FleetInTheory
from paofed.theory.moments import Moments
from paofed.theory.sample_points import SamplePoints, SampleSource


def fleet_of(
    correlations: ArrayLike,
    with_target: ArrayLike | None = None,
    *,
    data: ArrayLike = 1.0,
    available: ArrayLike = 1.0,
    ages: Sequence[int] = (0,),
    late: ArrayLike = (1.0,),
) -> FleetInTheory:
    """R_k of shape (K, D, D); the rates, and P(delay) as (L,) or (K, L), are spread over clients.

    The test set is the target of the model (1, 0, 0, ...).
    """
    R = np.asarray(correlations, dtype=np.float64)  # noqa: N806 (the paper's symbol)
    clients, features = R.shape[:2]
    r = np.zeros((clients, features)) if with_target is None else np.asarray(with_target)
    contacts = Contacts(
        data=np.broadcast_to(np.asarray(data, dtype=np.float64), clients),
        available=np.broadcast_to(np.asarray(available, dtype=np.float64), clients),
        ages=np.asarray(ages, dtype=np.int64),
        late=np.broadcast_to(np.asarray(late, dtype=np.float64), (clients, len(ages))),
    )
    z_test = np.eye(features)
    return FleetInTheory(
        Moments(R, r, 0.0, 0.0),
        contacts,
        z_test,
        z_test[:, 0],
        samples=points_along_modes(R),
        test_noise=0.0,
    )


def as_means_need(fleet: SmallFleet) -> FleetInTheory:
    """A small fleet, as far as means need it."""
    second = fleet.samples.second
    moments = Moments(second[:, :, 1:], second[:, :, 0], 0.0, 0.0)
    return FleetInTheory(
        moments,
        fleet.contacts,
        fleet.z_test,
        fleet.y_test,
        samples=points_along_modes(moments.R),
        test_noise=0.0,
    )


def points_along_modes(R: FloatArray) -> SampleSource:  # noqa: N803 (the paper's symbol)
    """Points along the modes of R_k, whose correlation is R_k; their targets are 0."""
    rates, modes = np.linalg.eigh(R)
    features = R.shape[1]
    z = (modes * np.sqrt(np.maximum(rates, 0.0) * features)[:, None, :]).transpose(0, 2, 1)

    def points(clients: IntArray, _: int) -> SamplePoints:
        weights = np.full((clients.size, features), 1.0 / features)
        return SamplePoints(z[clients], np.zeros_like(weights), weights, np.zeros(clients.size))

    return points
