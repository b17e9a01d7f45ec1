"""What is due is what a queue of labels would hold, device by device and tick by tick."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.due import SampleLabels, due_of
from paofed.core.intervals import half_width, half_widths


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 2), st.booleans(), st.integers(0, 40)),
        unique_by=lambda sample: sample[:2],
    )
)
def test_is_what_a_queue_holds(samples: list[tuple[int, int, bool, int]]) -> None:
    samples.sort()
    columns = np.array(samples, dtype=np.int64).reshape(-1, 4).T
    found = due_of(columns[0], columns[1], SampleLabels(columns[2] == 1, columns[3]))
    waiting: list[int] = []
    for i, (tick, client, labelled, _) in enumerate(samples):
        waiting += [i] if labelled else []
        now = [j for j in waiting if samples[j][1] == client and sum(samples[j][::3]) <= tick]
        assert found.at(i) == now
        waiting = [j for j in waiting if j not in now]
    assert found.begin.size == len(samples) + 1
    assert found.sample.size == found.begin[-1]


def test_without_a_law_every_sample_is_learned_at_once() -> None:
    tick, client = np.array([0, 0, 5]), np.array([1, 3, 1])
    usual = SampleLabels(np.ones(3, dtype=bool), np.zeros(3, dtype=np.int64))
    for labels in (None, usual):
        found = due_of(tick, client, labels)
        assert [found.at(i) for i in range(3)] == [[0], [1], [2]]
    assert usual.if_any_lacks() is None
    late = SampleLabels(usual.given, np.array([0, 1, 0]))
    assert late.if_any_lacks() is late


def test_delays_beyond_all_ticks_never_come() -> None:
    labels = SampleLabels(np.ones(2, dtype=bool), np.full(2, np.iinfo(np.int64).max))
    assert due_of(np.array([3, 7]), np.array([0, 0]), labels).sample.size == 0


def test_parts_and_turns_of_what_is_due() -> None:
    """Client 0 learns nothing, then two samples; client 1 its own, each at once."""
    tick, client = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 0, 0, 1])
    labels = SampleLabels(np.array([True, True, True, False, True]), np.array([2, 0, 1, 0, 0]))
    found = due_of(tick, client, labels)
    assert [found.at(i) for i in range(5)] == [[], [1], [], [0, 2], [4]]
    part = found.within(2, 5)
    assert [part.at(i) for i in range(3)] == [[], [0, 2], [4]]
    turns = [(w.tolist(), part.sample[e].tolist()) for w, e in part.turns(np.array([1, 2]))]
    assert turns == [([0, 1], [0, 4]), ([0], [2])]
    assert list(part.turns(np.array([0]))) == []


def test_intervals_learn_of_a_miss_with_the_label() -> None:
    tick, device = np.array([0, 0, 1, 1, 2, 3]), np.array([0, 1, 0, 1, 0, 0])
    labels = SampleLabels(np.ones(6, dtype=bool), np.array([1, 9, 0, 9, 0, 0]))
    errors = np.array([[3.0, 3.0, 0.0, 3.0, 9.0, 0.0]])
    found = half_widths(errors, device, 1.0, due_of(tick, device, labels))[0]
    # The first device knows nothing at tick 1, of a miss and a hit at tick 2, of a miss more at 3.
    expected = [(0, 0), (0, 0), (0, 0), (0, 0), (2, 1), (3, 2)]
    np.testing.assert_allclose(found, [half_width(1.0, *counts) for counts in expected])
