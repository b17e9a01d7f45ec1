"""Random numbers as a function of a key and a counter: Philox4x32-10.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC 2011. A number is a pure function of where it is used, so any client's stream can be produced
without the others', in any order and on any thread, and a server and its devices draw the same
Fourier map from one seed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from paofed.core.arrays import FloatArray, WordArray
from paofed.errors import InputError

# The published constants: round multipliers and Weyl increments of the key.
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
INCREMENTS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
_WORD = 0xFFFFFFFF

# Counters whose last word is this one make keys; drawing numbers never uses them.
_KEY_COUNTER = _WORD


class Key(NamedTuple):
    """A 64-bit Philox key, as its two words."""

    low: int
    high: int


def key_of(seed: int) -> Key:
    """Make the root key of a seed, an integer of at most 64 bits."""
    if not 0 <= seed < 1 << 64:
        raise InputError(f"seed {seed} is out of range: expected an integer from 0 to 2^64 - 1")
    return Key(seed & _WORD, seed >> 32)


def child(key: Key, *path: int) -> Key:
    """Derive a key for one branch under `key`: a path of one to three words of 32 bits.

    Branches are told apart by the generator itself, so two of them share numbers only with
    the probability that two random 64-bit keys are equal.
    """
    a, b, c = (*path, *(0,) * (3 - len(path)))
    low, high, *_ = philox(key, a, b, c, _KEY_COUNTER)
    return Key(int(low), int(high))


def philox(key: Key, c0: ArrayLike, c1: ArrayLike, c2: ArrayLike, c3: ArrayLike) -> WordArray:
    """Encrypt counters, broadcast against each other, into random words of shape (4, ...)."""
    words = np.broadcast_arrays(*(np.asarray(c, dtype=np.uint64) for c in (c0, c1, c2, c3)))
    x0, x1, x2, x3 = words
    k0, k1 = key
    for _ in range(ROUNDS):
        p0 = x0 * np.uint64(MULTIPLIERS[0])
        p1 = x2 * np.uint64(MULTIPLIERS[1])
        x0, x2 = (p1 >> 32) ^ x1 ^ np.uint64(k0), (p0 >> 32) ^ x3 ^ np.uint64(k1)
        x1, x3 = p1 & _WORD, p0 & _WORD
        k0, k1 = (k0 + INCREMENTS[0]) & _WORD, (k1 + INCREMENTS[1]) & _WORD
    return np.stack([x0, x1, x2, x3]).astype(np.uint32)


def uniform(word: WordArray) -> FloatArray:
    """Turn words into multiples of 2^-32 in [0, 1)."""
    return word.astype(np.float64) * 2.0**-32


def normal_pair(first: WordArray, second: WordArray) -> tuple[FloatArray, FloatArray]:
    """Turn two words into two independent standard normal numbers (Box and Muller)."""
    radius = np.sqrt(-2.0 * np.log((first + 1.0) * 2.0**-32))  # (0, 1]: never the logarithm of 0
    angle = 2.0 * np.pi * uniform(second)
    return radius * np.cos(angle), radius * np.sin(angle)


def uniforms(key: Key, count: int, purpose: int) -> FloatArray:
    """Draw `count` numbers uniform on [0, 1)."""
    blocks = np.arange(-(-count // 4))
    return uniform(philox(key, blocks, 0, 0, purpose)).T.ravel()[:count]


def normals(key: Key, count: int, purpose: int) -> FloatArray:
    """Draw `count` standard normal numbers."""
    blocks = np.arange(-(-count // 4))
    a, b, c, d = philox(key, blocks, 0, 0, purpose)
    return np.stack([*normal_pair(a, b), *normal_pair(c, d)]).T.ravel()[:count]
