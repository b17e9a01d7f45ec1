"""What a channel promises."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from paofed.checks.cases import CLIENTS, models, stamps
from paofed.core.arrays import FloatArray
from paofed.core.parts import Part, Stamp, travelled


def _sent(channel: Any, features: int) -> Iterator[tuple[Part, FloatArray, Any, Stamp]]:
    """What every client sends, tick after tick, from which model, memory and stamp."""
    memory = [channel.init(features) for _ in range(CLIENTS)]
    every = list(stamps(features))
    for w, stamp in zip(models(features, len(every)), every, strict=True):
        before = memory[stamp.client]
        part, memory[stamp.client] = channel.send(w, before, stamp)
        yield part, w, before, stamp


def _coordinates(channel: Any, features: int) -> str | None:
    for part, _, _, stamp in _sent(channel, features):
        valid = (part.coordinates >= 0) & (part.coordinates < features)
        if not valid.all() or np.unique(part.coordinates).size != part.coordinates.size:
            return (
                f"sends {part.coordinates.tolist()} for client {stamp.client} at tick "
                f"{stamp.tick}: expected distinct coordinates from 0 to {features - 1}"
            )
    return None


def _never_silent(channel: Any, features: int) -> str | None:
    for part, _, _, stamp in _sent(channel, features):
        if not part.coordinates.size:
            return f"sends nothing for client {stamp.client} at tick {stamp.tick}"
    return None


def _known_to_both(channel: Any, features: int) -> str | None:
    for part, w, _, stamp in _sent(channel, features):
        if channel.encode is None:
            other, _ = channel.send(-2.0 * w[::-1], channel.init(features), stamp)
            if part.coordinates.size and not np.array_equal(other.coordinates, part.coordinates):
                return (
                    "sends coordinates that depend on the model or on its memory: the receiver "
                    "cannot know them, so give `encode` and `decode` that let them travel"
                )
        elif part.coordinates.size:
            arrived, _ = travelled(channel, part, stamp)
            if not np.array_equal(np.sort(arrived.coordinates), np.sort(part.coordinates)):
                return (
                    f"sends {part.coordinates.tolist()}, but decode makes "
                    f"{arrived.coordinates.tolist()} of what encode made"
                )
    return None


def _survive(channel: Any, features: int) -> str | None:
    for part, _, _, stamp in _sent(channel, features):
        if part.coordinates.size and channel.encode is not None:
            arrived, _ = travelled(channel, part, stamp)
            there = dict(zip(arrived.coordinates.tolist(), arrived.values.tolist(), strict=True))
            values = [there.get(c, np.nan) for c in part.coordinates.tolist()]
            if not np.allclose(values, part.values, rtol=1e-6, atol=1e-30):
                return "delivers other values than were sent, beyond the rounding of float32"
    return None


def _of_the_model(channel: Any, features: int) -> str | None:
    for part, w, _, _ in _sent(channel, features):
        if not np.array_equal(part.values, w[part.coordinates]):
            return "sends values that are not the model's"
    return None


def _left_alone(channel: Any, features: int) -> str | None:
    for part, w, before, stamp in _sent(channel, features):
        given = w.copy(), [np.copy(array) for array in before], [np.copy(a) for a in part]
        channel.send(w, before, stamp)
        if part.coordinates.size:
            travelled(channel, part, stamp)
        for name, now, then in (
            ("send", (w, *before), (given[0], *given[1])),
            ("encode", part, given[2]),
        ):
            if not all(np.array_equal(a, b) for a, b in zip(now, then, strict=True)):
                return f"changes what {name} was given: work on a copy"
    return None


def _repeats_itself(channel: Any, features: int) -> str | None:
    for part, w, before, stamp in _sent(channel, features):
        again, _ = channel.send(w, before, stamp)
        if not all(np.array_equal(a, b) for a, b in zip(part, again, strict=True)):
            return "sends something else when asked again: its random numbers must come from draws"
        if part.coordinates.size and channel.encode is not None:
            first, second = channel.encode(part, stamp), channel.encode(part, stamp)
            if not np.array_equal(first, second):
                return "encodes other bytes when asked again: draw random numbers with draws"
    return None


PROMISES: Mapping[str, Any] = {
    "coordinates are coordinates": _coordinates,
    "never silent": _never_silent,
    "coordinates known to both": _known_to_both,
    "values survive": _survive,
    "values of the model": _of_the_model,
    "arguments left alone": _left_alone,
    "repeats itself": _repeats_itself,
}
