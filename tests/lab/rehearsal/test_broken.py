"""One of six devices breaks: the fleet hardly notices, and says who it is."""

from functools import cache

import pytest

from tests.effort import effort, long
from tests.live.broken import CAREFUL_LIAR, FAULTS, ONE_SPIKE, Fault, Lived, lived

# Ticks: it has learned, and what follows.
BEFORE, AFTER = effort(everyday=150, thorough=300), effort(everyday=60, thorough=150)
KINDS = list(FAULTS)[: effort(everyday=1, thorough=len(FAULTS))]
SEEDS = range(effort(everyday=1, thorough=2))


@cache
def alone(seed: int) -> Lived:
    """The same fleet where nothing breaks."""
    return lived(None, seed, BEFORE, AFTER)


@pytest.mark.parametrize("seed", SEEDS)
def test_where_nothing_breaks_nobody_is_named(seed: int) -> None:
    assert alone(seed).named == {}
    assert alone(seed).others == set()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_device_is_named_in_time_and_the_fleet_predicts_as_without(
    kind: str, seed: int
) -> None:
    fault = FAULTS[kind]
    found = lived(fault, seed, BEFORE, AFTER)
    assert found.error < 1.1 * alone(seed).error
    assert min(found.named.get(name, AFTER) for name in fault.named_as) <= fault.within
    assert found.others == set()


@long
@pytest.mark.parametrize("fault", [ONE_SPIKE, CAREFUL_LIAR])
def test_what_is_not_named_costs_nothing(fault: Fault) -> None:
    found = lived(fault, 0, BEFORE, AFTER)
    assert found.error < 1.02 * alone(0).error
    assert found.others == set()
