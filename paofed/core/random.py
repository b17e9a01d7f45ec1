"""Random numbers as a function of a key and a counter: Philox4x32-10.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC 2011. A number is a pure function of where it is used, so the stream of any client can be
produced without the streams of the others, in any order and on any thread, and a server and its
devices draw the same Fourier map from one seed.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from paofed.core.arrays import FloatArray, IntArray, WordArray
from paofed.errors import InputError, whole

# The published constants: round multipliers and Weyl increments of the key.
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
INCREMENTS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
_WORD = 0xFFFFFFFF

# Counters with this last word make child keys; drawing numbers never uses this word.
_KEY_COUNTER = _WORD


class Key(NamedTuple):
    """A 64-bit Philox key, as its two words."""

    low: int
    high: int


def key_of(seed: int) -> Key:
    """Make the root key of a seed, an integer of at most 64 bits."""
    seed = whole("seed", seed)
    if not 0 <= seed < 1 << 64:
        raise InputError(
            f"seed {seed} is out of range: expected an integer from 0 to 2^64 - 1", key="seed"
        )
    return Key(seed & _WORD, seed >> 32)


def seed_of(key: Key) -> int:
    """Return the seed whose root key is `key`."""
    return key.low | key.high << 32


def child(key: Key, *path: int) -> Key:
    """Derive a key for one branch under `key`: a path of one to three words of 32 bits.

    The generator itself makes the keys, so two branches share numbers only with the probability
    that two random 64-bit keys are equal.
    """
    for word in path:
        if not 0 <= whole("index", word) <= _WORD:
            raise InputError(f"index {word} is out of range: expected a number from 0 to 2^32 - 1")
    a, b, c = (*path, *(0,) * (3 - len(path)))
    low, high, *_ = _encrypted(key, a, b, c, _KEY_COUNTER)
    return Key(low, high)


def philox(key: Key, c0: ArrayLike, c1: ArrayLike, c2: ArrayLike, c3: ArrayLike) -> WordArray:
    """Encrypt counters, broadcast against each other, into random words of shape (4, ...)."""
    words = np.broadcast_arrays(*(np.asarray(c, dtype=np.uint64) for c in (c0, c1, c2, c3)))
    return np.stack(_encrypted(key, *words)).astype(np.uint32)


def _encrypted(key: Key, x0: Any, x1: Any, x2: Any, x3: Any) -> tuple[Any, Any, Any, Any]:
    """Encrypt counters: arrays of uint64, or Python's integers, which take a sixth of the time."""
    k0, k1 = key
    for _ in range(ROUNDS):
        p0, p1 = x0 * MULTIPLIERS[0], x2 * MULTIPLIERS[1]
        x0, x2 = (p1 >> 32) ^ x1 ^ k0, (p0 >> 32) ^ x3 ^ k1
        x1, x3 = p1 & _WORD, p0 & _WORD
        k0, k1 = (k0 + INCREMENTS[0]) & _WORD, (k1 + INCREMENTS[1]) & _WORD
    return x0, x1, x2, x3


def uniform(word: WordArray) -> FloatArray:
    """Turn words into multiples of 2^-32 in [0, 1)."""
    return word.astype(np.float64) * 2.0**-32


# Wichura's AS241 (Applied Statistics 37, 1988): the normal quantile as two ratios of polynomials,
# coefficients from the constant on. A word gives a p of at least 2^-33, so the third ratio, for p
# below 1.4e-11, is never needed.
CENTRAL_NUMERATOR = (
    3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
    1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
    3.3430575583588128105e4, 2.5090809287301226727e3,
)  # fmt: skip
CENTRAL_DENOMINATOR = (
    1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
    2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
    5.2264952788528545610e3,
)  # fmt: skip
TAIL_NUMERATOR = (
    1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
    3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
    2.27238449892691845833e-2, 7.74545014278341407640e-4,
)  # fmt: skip
TAIL_DENOMINATOR = (
    1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
    1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
    1.05075007164441684324e-9,
)  # fmt: skip


def normal(word: WordArray) -> FloatArray:
    """Turn words into standard normal numbers: the quantiles of (word + 1/2) 2^-32."""
    q = uniform(word) + (2.0**-33 - 0.5)
    r = 0.180625 - q * q
    central = q * _polynomial(r, CENTRAL_NUMERATOR) / _polynomial(r, CENTRAL_DENOMINATOR)
    t = np.sqrt(-np.log(0.5 - np.abs(q))) - 1.6
    tail = _polynomial(t, TAIL_NUMERATOR) / _polynomial(t, TAIL_DENOMINATOR)
    return np.where(np.abs(q) <= 0.425, central, np.copysign(tail, q))


def _polynomial(x: FloatArray, coefficients: tuple[float, ...]) -> FloatArray:
    value = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


def uniforms(key: Key, count: int, purpose: int) -> FloatArray:
    """Draw `count` numbers uniform on [0, 1)."""
    blocks = np.arange(-(-count // 4))
    return uniform(philox(key, blocks, 0, 0, purpose)).T.ravel()[:count]


def normals(key: Key, count: int, purpose: int) -> FloatArray:
    """Draw `count` standard normal numbers."""
    blocks = np.arange(-(-count // 4))
    return normal(philox(key, blocks, 0, 0, purpose)).T.ravel()[:count]


def some_of(count: int, most: int) -> IntArray:
    """Choose `most` of `count` indices, or all if there are fewer: always the same, in order.

    The chosen indices are not at regular distances: such a distance might be a day, or the size of
    a fleet.
    """
    if count <= most:
        return np.arange(count)
    lot = philox(key_of(0), np.arange(count), 0, 0, 0)[0]
    return np.sort(np.argsort(lot, kind="stable")[:most])
