"""What algorithms are tried on: models, messages of several clients and ages, a small nature."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray
from paofed.core.features import draw_map
from paofed.core.parts import SERVER, Message, Stamp, keys_of
from paofed.core.random import key_of
from paofed.core.selection import Windows, window
from paofed.world.trace import Trace

CLIENTS, TICKS, AGES = 5, 40, 4
FEWEST = 8  # features: parts and messages of four coordinates have two places
KEYS = keys_of(2021)


def usual_for(alg: Algorithm) -> int:
    """Return a model size with room for two windows, so that some coordinates are never held."""
    widths = [s.width or 0 for s in (alg.downlink, alg.uplink) if isinstance(s, Windows)]
    return max(48, *(2 * width for width in widths), 0)


def large_for(alg: Algorithm) -> int:
    """Return a model size whose coordinates need more than the 8 bits of a byte."""
    return max(1000, usual_for(alg))


def stamps(features: int) -> Iterator[Stamp]:
    """Yield stamps of several clients, tick after tick."""
    for tick, client in np.ndindex(TICKS, CLIENTS):
        yield Stamp(client, tick, features, KEYS.up)


def models(features: int, count: int) -> FloatArray:
    """Return models of a client that learns, rests for a while and goes on, of shape (count, D)."""
    rng = np.random.default_rng(2110_06556)
    learns = np.arange(count) % 100 < 50
    return np.cumsum(learns[:, None] * rng.normal(size=(count, features)), axis=0)


def arrivals(features: int, heard: int) -> Iterator[tuple[list[Message], Stamp]]:
    """Yield messages of several clients and ages that arrive at one tick, and the server's stamp.

    The messages hold windows of four coordinates of the `heard` numbers that devices tell, at
    several places: some windows overlap, and some coordinates are in no window. Many and few
    messages arrive in turn.
    """
    rng, width = np.random.default_rng(2110_06556), min(4, heard)
    for tick in range(AGES, AGES + 12):
        messages = []
        for client, age in np.ndindex(CLIENTS, AGES):
            if rng.random() < (0.1 if tick % 2 else 0.5):
                coordinates = window(int(rng.integers(max(1, heard // 2))), width, heard)
                messages.append(Message(client, tick - age, coordinates, rng.normal(size=width)))
        messages.sort(key=lambda m: (tick - m.sent, m.client))
        yield messages, Stamp(SERVER, tick, features, KEYS.server)


def same(one: Any, other: Any) -> bool:
    """Whether two arrays, or two lists or tuples of arrays, hold the same numbers."""
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other, equal_nan=True)


def copied(given: Any) -> Any:
    """Copy arrays, and lists and tuples of arrays; `copy.deepcopy` is slow."""
    if isinstance(given, np.ndarray):
        return given.copy()
    if isinstance(given, tuple):
        return (
            given._make(map(copied, given)) if hasattr(given, "_make") else (*map(copied, given),)
        )
    return [*map(copied, given)] if isinstance(given, list) else given


def leaves_alone(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether a function leaves its arguments as they were."""
    given = copied(arguments)
    function(*arguments)
    return same(arguments, given)


def repeats(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether a function returns the same when it is called again."""
    return same(function(*copied(arguments)), function(*copied(arguments)))


def small_nature(features: int, available: float = 0.5) -> Trace:
    """Make a small trace with gaps, delays around the default age limit, and a learnable target."""
    rng = np.random.default_rng(2021)
    inputs, tests = 2, 20
    x = rng.normal(size=(TICKS, CLIENTS, inputs))
    x_test = rng.normal(size=(tests, inputs))
    has_data = rng.random((TICKS, CLIENTS)) < 0.8
    fourier_map = draw_map(key_of(2021), inputs=inputs, features=features, width=1.0)
    return Trace(
        x=x,
        y=np.sin(x[..., 0]) * x[..., 1],
        has_data=has_data,
        available=has_data & (rng.random((TICKS, CLIENTS)) < available),
        delay=rng.integers(0, 13, size=(TICKS, CLIENTS)),
        lottery=rng.random((TICKS, CLIENTS)),
        frequencies=fourier_map.frequencies,
        phases=fourier_map.phases,
        x_test=x_test,
        y_test=np.sin(x_test[:, 0]) * x_test[:, 1],
    )
