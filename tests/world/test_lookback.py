"""What is found by looking back equals what is found by walking through all ticks."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.arrays import BoolArray, IntArray, WordArray
from paofed.world import realize_samples
from paofed.world.availability import Bursts, Cells, OnOff
from paofed.world.realize_samples import on_at

TICKS, CLIENTS = 40, 3
seeds = st.integers(0, 2**32 - 1)
# Words from 0 to 15, so that all cases are frequent; a threshold may be below or above all.
chains = st.tuples(*3 * [st.tuples(*CLIENTS * [st.integers(0, 17)])]).map(
    lambda limits: OnOff(*(np.array(limit, dtype=np.uint64) for limit in limits))
)


def walked(chain: OnOff, words: WordArray) -> BoolArray:
    """The state of every client at every tick, tick by tick."""
    on = np.zeros(words.shape, dtype=bool)
    for k in range(CLIENTS):
        for n in range(TICKS):
            limit = chain.first if n == 0 else chain.stay if on[n - 1, k] else chain.start
            on[n, k] = words[n, k] < limit[k]
    return on


def at(chain: OnOff, k: IntArray) -> OnOff:
    """The thresholds of some places."""
    return OnOff(*(limits[k] for limits in chain))


def some_places(rng: np.random.Generator, share: float) -> tuple[IntArray, IntArray]:
    n, k = np.nonzero(rng.random((TICKS, CLIENTS)) < share)
    order = rng.permutation(n.size)
    return n[order], k[order]


@given(chain=chains, seed=seeds, share=st.sampled_from([0.02, 0.3, 1.0]))
def test_looking_back_equals_walking(chain: OnOff, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 16, size=(TICKS, CLIENTS)).astype(np.uint32)
    n, k = some_places(rng, share)
    found = on_at(at(chain, k), lambda n, k: words[n, k], n, k)
    np.testing.assert_array_equal(found, walked(chain, words)[n, k])


@given(chain=chains, seed=seeds, share=st.sampled_from([0.02, 0.3, 1.0]))
def test_no_tick_of_a_client_is_looked_at_twice(chain: OnOff, seed: int, share: float) -> None:
    """So looking back never costs more than walking."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 16, size=(TICKS, CLIENTS)).astype(np.uint32)
    looked: Counter[tuple[int, int]] = Counter()

    def asked(n: IntArray, k: IntArray) -> WordArray:
        looked.update(zip(n.tolist(), k.tolist(), strict=True))
        return words[n, k]

    n, k = some_places(rng, share)
    on_at(at(chain, k), asked, n, k)
    assert set(looked.values()) <= {1}
    assert set(looked) >= set(zip(n.tolist(), k.tolist(), strict=True))


def test_how_far_is_looked_back_goes_with_turns_not_with_ticks() -> None:
    """A word decides with probability 1 / on + 1 / off: here 0.2, so five looks on average.

    Of 1000 places, the sum has a standard deviation of 141; 8 of them are missed once in 10^15.
    """
    law = Bursts(mean_on=(10.0,), mean_off=(10.0,))
    rng, looks = np.random.default_rng(0), []

    def asked(n: IntArray, k: IntArray) -> WordArray:  # noqa: ARG001 (what words are asked with)
        looks.append(n.size)
        return rng.integers(0, 2**32, size=n.size, dtype=np.uint32)

    on_at(law.on_off(np.arange(1000)), asked, np.full(1000, 10**9), np.arange(1000))
    assert abs(sum(looks) - 5000) < 8 * 141


capacities = st.tuples(*CLIENTS * [st.integers(1, 4)])
fills = st.tuples(*CLIENTS * [st.sampled_from([0, 1, 3, 16])])  # of words from 0 to 15


@given(capacity=capacities, fill=fills, seed=seeds, share=st.sampled_from([0.02, 0.3, 1.0]))
@pytest.mark.parametrize("at_once", [1, 7, 64])
def test_a_battery_that_looks_back_equals_one_that_is_followed(
    capacity: tuple[int, ...], fill: tuple[int, ...], seed: int, share: float, at_once: int
) -> None:
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 16, size=(TICKS, CLIENTS)).astype(np.uint32)
    full = np.array(capacity)
    cells = Cells(full, rng.integers(0, full + 1), np.array(fill, dtype=np.uint64))
    n, k = some_places(rng, share)
    wanted = np.zeros((TICKS, CLIENTS), dtype=bool)
    wanted[n, k] = True
    mine = Cells(cells.capacity[k], cells.start[k], cells.fill[k])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(realize_samples, "_AT_ONCE", at_once)
        found = realize_samples.offered_at(mine, lambda n, k: words[n, k], n, k)
    np.testing.assert_array_equal(found, cells.offers(wanted, words)[n, k])
