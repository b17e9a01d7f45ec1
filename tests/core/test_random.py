from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.random import (
    Key,
    child,
    key_of,
    normal,
    normals,
    philox,
    seed_of,
    some_of,
    uniforms,
)
from paofed.errors import InputError

# The known answers published with Random123 for philox4x32, 10 rounds: counter, key, output.
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "output"), KNOWN_ANSWERS)
def test_published_known_answers(counter: str, key: str, output: str) -> None:
    c0, c1, c2, c3 = words(counter)
    low, high = words(key)
    assert philox(Key(low, high), c0, c1, c2, c3).tolist() == words(output)


@given(seed=st.integers(0, 2**64 - 1), start=st.integers(0, 2**32 - 9))
def test_a_number_depends_only_on_key_and_counter(seed: int, start: int) -> None:
    key = key_of(seed)
    many = philox(key, np.arange(start, start + 8)[:, None], np.arange(3), 5, 6)
    assert many.shape == (4, 8, 3)
    np.testing.assert_array_equal(many[:, 2, 1], philox(key, start + 2, 1, 5, 6))


@given(st.integers(0, 2**64 - 1))
def test_a_key_is_the_root_key_of_one_seed(seed: int) -> None:
    assert seed_of(key_of(seed)) == seed


def test_keys_branch() -> None:
    root = key_of(7)
    branches = {child(root, a, b) for a in range(10) for b in range(10)}
    assert len(branches | {root}) == 101
    assert child(root, 3) == child(root, 3, 0, 0)
    assert key_of((5 << 32) + 9) == Key(low=9, high=5)


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_refuses_a_seed_that_does_not_fit(seed: int) -> None:
    with pytest.raises(InputError, match=r"2\^64"):
        key_of(seed)


@pytest.mark.parametrize("word", [-1, 1 << 32])
def test_refuses_a_branch_that_does_not_fit(word: int) -> None:
    with pytest.raises(InputError, match="out of range"):
        child(key_of(0), 1, word)


def test_uniforms_and_normals_have_their_moments() -> None:
    """Each of the 5 bounds is 6 standard errors: false-alarm rate below 1e-8 over seeds."""
    count = 200_001
    u = uniforms(key_of(1), count, purpose=0)
    assert u.shape == (count,)
    assert 0.0 <= u.min() < 1e-4
    assert 1 - 1e-4 < u.max() < 1.0
    assert abs(u.mean() - 0.5) < 6 * np.sqrt(1 / 12 / count)
    z = normals(key_of(1), count, purpose=0)
    assert z.shape == (count,)
    assert abs(z.mean()) < 6 * np.sqrt(1 / count)
    assert abs((z**2).mean() - 1) < 6 * np.sqrt(2 / count)
    assert abs((z**4).mean() - 3) < 6 * np.sqrt(96 / count)
    assert abs((z[1:] * z[:-1]).mean()) < 6 * np.sqrt(1 / count)


def test_normals_are_the_quantiles_of_their_words() -> None:
    """Against the standard library, over the whole range and at both ends."""
    spread = np.random.default_rng(0).integers(0, 2**32, size=2000)
    word = np.concatenate([[0, 1, 2**31 - 1, 2**31, 2**32 - 1], spread]).astype(np.uint32)
    exact = [NormalDist().inv_cdf((int(w) + 0.5) / 2**32) for w in word]
    np.testing.assert_allclose(normal(word), exact, rtol=1e-13, atol=1e-15)


def test_some_of_many_are_scattered() -> None:
    found = some_of(960, 240)
    assert found.size == 240
    assert (np.diff(found) > 0).all()
    for groups in (2, 3, 4, 5, 10, 24):
        assert np.bincount(found % groups).min() > 0
    np.testing.assert_array_equal(found, some_of(960, 240))
    np.testing.assert_array_equal(some_of(3, 5), [0, 1, 2])
