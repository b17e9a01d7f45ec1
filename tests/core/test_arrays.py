from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.arrays import IntArray, ranks, runs

lists = st.lists(st.integers(0, 5), max_size=30).map(lambda found: np.array(found, dtype=np.int64))


@given(lists)
def test_a_rank_counts_those_before(device: IntArray) -> None:
    expected = [int((device[:i] == device[i]).sum()) for i in range(device.size)]
    assert ranks(device).tolist() == expected


@given(lists.filter(len).map(np.sort))
def test_runs_are_where_a_key_stays_the_same(key: IntArray) -> None:
    found = [key[now].tolist() for now in runs(key)]
    assert list(chain.from_iterable(found)) == key.tolist()
    assert [values[0] for values in found] == np.unique(key).tolist()
    assert all(len(set(values)) == 1 for values in found)
