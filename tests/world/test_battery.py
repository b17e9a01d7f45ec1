"""Batteries, against a literal account and the law of their levels."""

import numpy as np
import pytest

from paofed.core.arrays import FloatArray
from paofed.core.random import philox
from paofed.world.availability import Battery
from paofed.world.realize import Purpose, realize, run_key, world_key
from tests.effort import some
from tests.world.test_laws import assert_binomial, fleet

SOMETIMES = {"kind": "bernoulli", "probabilities": [0.6, 0.9, 0.3]}


def test_every_contact_offered_is_drained_and_every_charge_is_counted() -> None:
    """One client at a time, as docs/scenarios.md says it: fill, then offer, then drain."""
    capacity, fill, start = (3, 1, 5, 2), (0.25, 0.5, 0.125, 1.0), (0, 1, 5, 1)
    law = {"capacity": list(capacity), "fill": list(fill), "start": list(start)}
    scenario = fleet(12, 300, availability=SOMETIMES, stream={"samples": [200]})
    free = realize(scenario, seed=4)
    held = realize(scenario.model_copy(update={"battery": Battery.model_validate(law)}), seed=4)
    ticks, key = np.arange(300), run_key(world_key(4, 0), 0)
    refused = 0
    for k in range(12):
        words = philox(key, k, ticks, 0, Purpose.CONTACT)[2]
        level = start[k % 4]
        for n in range(300):
            level = min(level + bool(words[n] < fill[k % 4] * 2**32), capacity[k % 4])
            offered = bool(free.available[n, k]) and level >= 1
            assert held.available[n, k] == offered, (n, k)
            refused += bool(free.available[n, k]) and not offered
            level -= offered
    assert refused > 100


def levels(capacity: int, fill: float, wanted: float, start: int, ticks: int) -> FloatArray:
    """The probability of a contact at every tick, from the law of the level."""
    level = np.eye(capacity + 1)[start]
    offered = np.empty(ticks)
    for n in range(ticks):
        gained = np.append(0.0, level[:-1])
        gained[-1] += level[-1]
        level = (1 - fill) * level + fill * gained
        offered[n] = wanted * (1 - level[0])
        spent = np.append(level[1:], 0.0)
        level = np.append(level[0], (1 - wanted) * level[1:]) + wanted * spent
    return offered


@pytest.mark.parametrize(
    ("capacity", "fill", "start"),
    some([(1, 0.2, 0), (2, 0.0, 2), (4, 0.55, 2), (3, 0.1, 3)], everyday=2),
)
def test_contacts_come_at_the_rate_that_the_battery_allows(
    capacity: int, fill: float, start: int
) -> None:
    """6 comparisons of 5000 independent clients at a tick: false-alarm rate below 4e-9."""
    law = {"capacity": capacity, "fill": fill, "start": start}
    presence = {"kind": "bernoulli", "probabilities": [0.6]}
    there = realize(fleet(5000, 61, availability=presence, battery=law), seed=2).available
    expected = levels(capacity, fill, 0.6, start, 61)
    for tick in (0, 1, 2, 5, 20, 60):
        assert_binomial(there[tick], float(expected[tick]))


def test_a_battery_begins_full() -> None:
    full, given = (
        realize(fleet(6, 80, battery={"capacity": [4, 7], "fill": 0.0, **start})).available
        for start in ({}, {"start": [4, 7]})
    )
    np.testing.assert_array_equal(full, given)
    assert full.sum(axis=0).tolist() == [4, 7] * 3
    assert full[:4].all()


def test_a_tick_without_a_sample_drains_nothing() -> None:
    law = {"capacity": 3, "fill": 0.0}
    trace = realize(fleet(6, 80, stream={"samples": [20]}, battery=law))
    assert trace.available.sum(axis=0).tolist() == [3] * 6
    for k in range(6):
        np.testing.assert_array_equal(
            np.flatnonzero(trace.available[:, k]), np.flatnonzero(trace.has_data[:, k])[:3]
        )
