"""How far messages are from a model: one at a time, as it is compiled, and all at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.bounded import _sizes_at_once, _stacked, sizes_of
from paofed.core.parts import Message
from paofed.core.sizes import middle

FEATURES = 8
W = np.linspace(-2.0, 2.0, FEATURES)


@st.composite
def messages(draw: st.DrawFn) -> list[Message]:
    found = []
    for client in range(draw(st.integers(1, 5))):
        places = draw(st.lists(st.integers(0, FEATURES - 1), min_size=1, unique=True))
        coordinates = np.array(places, dtype=np.int64)
        away = st.one_of(st.just(0.0), st.floats(width=32))
        steps = draw(st.lists(away, min_size=len(places), max_size=len(places)))
        found.append(Message(client, 0, coordinates, W[coordinates] + np.array(steps)))
    return found


@given(messages())
def test_both_ways_give_the_same_bits(arrived: list[Message]) -> None:
    at_once = _sizes_at_once(*_stacked(W, arrived))
    assert at_once.tobytes() == sizes_of(W, arrived).tobytes()


@given(st.lists(st.floats(0, 1e9), max_size=20))
def test_the_middle_is_the_median_of_what_is_known(sizes: list[float]) -> None:
    known = [size for size in sizes if size > 0]
    assert middle(np.array(sizes)) == (np.median(known) if known else 0.0)
