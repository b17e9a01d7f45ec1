"""What the tests of rivals are tried on."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from paofed.core.arrays import FloatArray
from paofed.core.parts import SERVER, Message, Part, Stamp, keys_of, travelled

KEYS = keys_of(7)
FEATURES = 12

finite = st.floats(-1e3, 1e3).filter(lambda x: x == 0.0 or abs(x) > 1e-9)
seeds = st.integers(0, 2**32 - 1)


def stamp(client: int = 0, tick: int = 0, features: int = FEATURES) -> Stamp:
    return Stamp(client, tick, features, KEYS.up)


def server_stamp(tick: int, features: int = FEATURES) -> Stamp:
    return Stamp(SERVER, tick, features, KEYS.server)


def models(seed: int, count: int, features: int = FEATURES) -> FloatArray:
    """Models of a client that learns, one after the other."""
    return np.cumsum(np.random.default_rng(seed).normal(size=(count, features)), axis=0)


def arrivals(seed: int, tick: int, features: int = FEATURES, clients: int = 5) -> list[Message]:
    """Messages of several ages that overlap, sorted as engines do."""
    rng = np.random.default_rng(seed)
    found = [
        Message(k, tick - age, rng.permutation(features)[:size], rng.normal(size=size))
        for k in range(clients)
        for age in range(4)
        if rng.random() < 0.4 and (size := int(rng.integers(1, 5)))
    ]
    return sorted(found, key=lambda m: (tick - m.sent, m.client))


def told_over(channel: Any, sent: FloatArray) -> list[tuple[Part, Part, int]]:
    """What is sent of models one after the other, what arrives, and as how many bytes."""
    memory, said = channel.init(sent.shape[1]), []
    for tick, w in enumerate(sent):
        here = stamp(tick=tick, features=sent.shape[1])
        part, memory = channel.send(w, memory, here)
        said.append(
            (part, *(travelled(channel, part, here) if part.coordinates.size else (part, 0)))
        )
    return said
