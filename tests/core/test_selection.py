import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.selection import Windows, pick, window
from paofed.errors import AlgorithmError

sizes = st.integers(1, 40).flatmap(lambda d: st.tuples(st.integers(1, d), st.just(d)))


@given(start=st.integers(0, 10**9), size=sizes)
def test_a_window_is_m_distinct_consecutive_coordinates(start: int, size: tuple[int, int]) -> None:
    m, features = size
    coordinates = window(start, m, features)
    assert coordinates.tolist() == [(start + i) % features for i in range(m)]
    assert len(set(coordinates.tolist())) == m


@given(k=st.integers(0, 300), n=st.integers(0, 3000), size=sizes, coordinated=st.booleans())
def test_the_next_window_is_the_one_received_next(
    k: int, n: int, size: tuple[int, int], coordinated: bool
) -> None:
    m, features = size
    down = Windows(m, coordinated)
    up = Windows(m, coordinated, ahead=1)
    assert up(k, n, features).tolist() == down(k, n + 1, features).tolist()


@given(k=st.integers(0, 300), n=st.integers(0, 3000), size=sizes)
def test_uncoordinated_clients_are_k_windows_apart(k: int, n: int, size: tuple[int, int]) -> None:
    m, features = size
    assert Windows(m)(k, n, features).tolist() == window(m * n, m, features).tolist()
    apart = Windows(m, coordinated=False)(k, n, features)
    assert apart.tolist() == window(m * (n + k), m, features).tolist()


@pytest.mark.parametrize("width", [0, -1, 2.0, True])
def test_refuses_a_width_that_is_no_count(width: int) -> None:
    with pytest.raises(AlgorithmError, match="shared is"):
        Windows(width)


def test_coordinated_is_a_yes_or_a_no() -> None:
    with pytest.raises(AlgorithmError, match="coordinated is 1: expected true or false"):
        Windows(4, 1)  # type: ignore[arg-type]


def test_refuses_more_than_there_is() -> None:
    assert Windows(5).size(5) == 5
    with pytest.raises(AlgorithmError, match="only 5 features"):
        Windows(6).size(5)


AVAILABLE = np.array([True, False, True, True, True])
LOTTERY = np.array([0.5, 0.0, 0.2, 0.5, 0.1])


@pytest.mark.parametrize(
    ("subset", "chosen"),
    [
        (None, [0, 2, 3, 4]),
        (0.2, [4]),  # below, not at
        (0.05, []),
        (1, [4]),
        (2, [2, 4]),
        (3, [0, 2, 4]),  # a tie: the lower index
        (99, [0, 2, 3, 4]),
    ],
)
def test_the_server_picks_from_the_lottery(subset: float | None, chosen: list[int]) -> None:
    assert np.flatnonzero(pick(AVAILABLE, LOTTERY, subset)).tolist() == chosen


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1, exclude_max=True)), min_size=1, max_size=20),
    st.integers(1, 20),
)
def test_a_count_picks_that_many_of_the_smallest(
    clients: list[tuple[bool, float]], count: int
) -> None:
    available = np.array([there for there, _ in clients])
    lottery = np.array([number for _, number in clients])
    chosen = pick(available, lottery, count)
    assert chosen.sum() == min(count, available.sum())
    assert not (chosen & ~available).any()
    left_out = available & ~chosen
    if chosen.any() and left_out.any():
        assert lottery[chosen].max() <= lottery[left_out].min()
