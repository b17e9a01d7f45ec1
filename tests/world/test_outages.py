"""Outages, against what their law says; see tests/world/test_laws.py for the bounds."""

import numpy as np
import pytest

from paofed.core.arrays import BoolArray, IntArray
from paofed.world.availability import Outages
from paofed.world.realize import Purpose, realize, run_key, world_key
from tests.world.test_laws import NATS, assert_binomial, fleet, surprise, turns

LAW = Outages(mean_length=4.0, mean_between=12.0, share=(0.8, 0.3, 0.0, 1.0))
CLIENTS, TICKS = 40, 4000


def began(run: int, ticks: int, law: Outages = LAW) -> IntArray:
    """When the outage of every tick of a run in world 0 began."""
    return law.began(run_key(world_key(0, 0), run), ticks, Purpose.OUTAGE)


def test_outages_and_the_times_between_have_their_lengths() -> None:
    """2 x 6 comparisons: false-alarm rate below 1e-8. 2000 whole turns of each kind, geometric."""
    lengths = turns(began(0, 60_000) >= 0, first=2000)
    for length, mean in zip(lengths, (LAW.mean_length, LAW.mean_between), strict=True):
        assert len(length) == 2000
        end = 1 / mean
        assert surprise(2000, sum(length), end) < NATS
        for least in (2, 3, 5, 10, 20):
            assert_binomial(np.array(length) >= least, (1 - end) ** (least - 1))


def test_a_run_may_begin_in_an_outage() -> None:
    """One comparison over 1000 runs: false-alarm rate below 6e-10."""
    first = np.array([began(run, 1)[0] for run in range(1000)])
    assert set(first.tolist()) == {-1, 0}
    assert_binomial(first == 0, 4 / 16)


def test_an_outage_is_known_by_the_tick_at_which_it_began() -> None:
    expected, latest = [], -1
    for n, there in enumerate((began(1, 500) >= 0).tolist()):
        latest = -1 if not there else n if latest < 0 else latest
        expected.append(latest)
    assert began(1, 500).tolist() == expected


@pytest.fixture(scope="module")
def there() -> BoolArray:
    """A fleet that is always there but for outages."""
    return realize(fleet(CLIENTS, TICKS, outages=LAW.model_dump())).available


def test_without_an_outage_everybody_is_there(there: BoolArray) -> None:
    assert there[began(0, TICKS) < 0].all()


def test_an_outage_hits_a_client_for_all_its_time_or_not_at_all(there: BoolArray) -> None:
    """4 groups of a comparison over all outages: false-alarm rate below 3e-9."""
    when = began(0, TICKS)
    hit = []
    for outage in np.unique(when[when >= 0]).tolist():
        during = ~there[when == outage]
        assert (during == during[0]).all()
        hit.append(during[0])
    assert len(hit) > 200
    for group, share in enumerate((0.8, 0.3, 0.0, 1.0)):
        assert_binomial(np.array(hit)[:, group::4], share)


def test_being_hit_says_nothing_of_the_next_outage_or_the_next_client(there: BoolArray) -> None:
    """2 comparisons: false-alarm rate below 2e-9."""
    when = began(0, TICKS)
    hit = np.array([~there[tick] for tick in np.unique(when[when >= 0])])[:, ::4]
    assert_binomial(hit[1:][hit[:-1]], 0.8)
    assert_binomial(hit[:, 1:][hit[:, :-1]], 0.8)


def test_without_a_share_the_whole_fleet_is_hit() -> None:
    law = {"mean_length": 3.0, "mean_between": 3.0}
    available = realize(fleet(5, 200, outages=law)).available
    assert {0, 5} == set(available.sum(axis=1).tolist())


def test_an_outage_that_never_ends() -> None:
    never = Outages(mean_length=1e300, mean_between=1.0)
    assert began(0, 50, never).tolist() == [0] * 50
