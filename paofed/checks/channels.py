"""What a channel promises."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np

from paofed.checks.cases import CLIENTS, copied, leaves_alone, models, repeats, same, stamps
from paofed.core.arrays import FloatArray
from paofed.core.parts import Bytes, Part, Stamp, travelled
from paofed.errors import RuleError
from paofed.simulate.engines.guarded import same_coordinates, same_values


def _asked(
    channel: Any, features: int, seen: FloatArray | None = None
) -> Iterator[tuple[Part, FloatArray, Any, Stamp]]:
    """Yield what every client sends, tick after tick, with the model, memory and stamp.

    The models are those of `seen`, or the usual ones. The channel is given copies, so that the
    model and memory yielded are as they were before.
    """
    memory = [channel.init(features) for _ in range(CLIENTS)]
    every = list(stamps(features))
    seen = models(features, len(every)) if seen is None else seen
    for w, stamp in zip(seen, every, strict=False):
        before = memory[stamp.client]
        part, memory[stamp.client] = channel.send(w.copy(), copied(before), stamp)
        yield part, w, before, stamp


def _sent(channel: Any, features: int) -> Iterator[tuple[Part, FloatArray, Any, Stamp]]:
    """Yield what `_asked` does, but leave out silence."""
    return (asked for asked in _asked(channel, features) if asked[0].coordinates.size)


def _coordinates(channel: Any, features: int) -> str | None:
    for _ in _asked(channel, features):
        # To iterate is the check: the guard around a channel looks at everything that it sends.
        pass
    return None


def _never_silent(channel: Any, features: int) -> str | None:
    for part, _, _, stamp in _asked(channel, features):
        if not part.coordinates.size:
            return f"sends nothing for client {stamp.client} at tick {stamp.tick}"
    return None


def _known_to_both(channel: Any, features: int) -> str | None:
    if channel.encode is None:
        return _known_from_the_stamp(channel, features)
    made = [
        (part, channel.encode(part, stamp), stamp) for part, _, _, stamp in _sent(channel, features)
    ]
    # In reverse, so that a memory of what was sent last cannot help.
    for part, payload, stamp in reversed(made):
        arrived = channel.decode(payload, stamp)
        if not same_coordinates(part, arrived):
            return (
                f"sends {part.coordinates.tolist()}, but decode makes "
                f"{arrived.coordinates.tolist()} of what encode made"
            )
    return None


def _known_from_the_stamp(channel: Any, features: int) -> str | None:
    for part, w, _, stamp in _sent(channel, features):
        other, _ = channel.send(-2.0 * w[::-1], channel.init(features), stamp)
        if other.coordinates.size and not np.array_equal(other.coordinates, part.coordinates):
            return (
                "sends coordinates that depend on the model or on its memory: the receiver "
                "cannot know them, so give `encode` and `decode` that let them travel"
            )
    return None


def _survive(channel: Any, features: int) -> str | None:
    for part, _, _, stamp in _sent(channel, features):
        arrived, _ = travelled(channel, copied(part), stamp)
        if not same_values(part, arrived):
            return "delivers other values than were sent, beyond the rounding of float32"
    return None


def _enough(channel: Any, features: int) -> str | None:
    """Let a process that never encoded anything decode bytes of models that nobody has seen.

    Values that `encode` keeps for `decode` beside the bytes, in a dictionary or a closure, are not
    there. The verdict does not depend on the random models: an honest `decode` makes the same of
    the same bytes everywhere.
    """
    if channel.encode is None:
        return None
    try:
        elsewhere = _Elsewhere(channel.decode)
    except Exception as error:  # noqa: BLE001 (somebody's objects may raise anything)
        return f"cannot be sent to another process ({error}), which shall decode its bytes"
    with closing(elsewhere):
        unseen = np.random.default_rng().normal(size=(_UNSEEN, features))
        sent = [(part, stamp) for part, _, _, stamp in _asked(channel, features, unseen)]
        made = [(channel.encode(part, at), at) for part, at in sent if part.coordinates.size]
        try:
            there = elsewhere.decoded(made)  # before `decode` here, which may change its bytes
            here = [channel.decode(payload, stamp) for payload, stamp in made]
            complaint = "" if same(here, there) else "it makes something else"
        except RuleError as error:
            complaint = error.complaint
    if not complaint:
        return None
    return (
        f"hands values over beside its bytes: where another process decodes them, {complaint}; "
        f"what arrives must follow from the bytes and the stamp alone"
    )


_UNSEEN = 10 * CLIENTS  # messages that another process decodes


class _Elsewhere:
    """A process that decodes, as a receiver does that has only the code in common with a sender.

    It gets `decode` as it is when the process is started, before anything is encoded.
    """

    def __init__(self, decode: Any) -> None:
        import cloudpickle

        from paofed.simulate.engines.workers import Worker

        def work(made: list[tuple[Bytes, Stamp]]) -> list[Part]:
            return [decode(payload, stamp) for payload, stamp in made]

        self._worker = Worker(cloudpickle.dumps(work))

    def decoded(self, made: list[tuple[Bytes, Stamp]]) -> list[Part]:
        """Decode bytes there."""
        parts: list[Part] = self._worker.do(made=made)
        return parts

    def close(self) -> None:
        """End the process."""
        self._worker.kill()
        self._worker.close()


def _of_the_model(channel: Any, features: int) -> str | None:
    for part, w, _, _ in _sent(channel, features):
        if not np.array_equal(part.values, w[part.coordinates]):
            return "sends values that are not the model's"
    return None


def _left_alone(channel: Any, features: int) -> str | None:
    for part, w, before, stamp in _asked(channel, features):
        if not leaves_alone(channel.send, w, before, stamp):
            return "changes what send was given: work on a copy"
        if part.coordinates.size and channel.encode is not None:
            if not leaves_alone(channel.encode, part, stamp):
                return "changes what encode was given: work on a copy"
            if not leaves_alone(channel.decode, channel.encode(part, stamp), stamp):
                return "changes what decode was given: work on a copy"
    return None


def _repeats_itself(channel: Any, features: int) -> str | None:
    for part, w, before, stamp in _asked(channel, features):
        if not repeats(channel.send, w, before, stamp):
            return "sends something else when asked again: its random numbers must come from draws"
        if part.coordinates.size and channel.encode is not None:
            if not repeats(channel.encode, part, stamp):
                return "encodes other bytes when asked again: draw random numbers with draws"
            if not repeats(channel.decode, channel.encode(part, stamp), stamp):
                return "decodes the same bytes otherwise when asked again"
    return None


def _served(channel: Any, features: int) -> str | None:
    if not channel.served:
        return None
    if channel.init(features) != ():
        return "says that it is served, but remembers something of a link"
    made = [(part, w, stamp) for part, w, _, stamp in _asked(channel, features)]
    for part, w, stamp in made:
        other, _ = channel.send(-2.0 * w[::-1], (), stamp)
        if not np.array_equal(other.coordinates, part.coordinates):
            return "says that it is served, but its coordinates do not follow from the stamp"
    return None if channel.encode is None else _served_bytes(channel, made)


def _served_bytes(channel: Any, made: list[tuple[Part, FloatArray, Stamp]]) -> str | None:
    payloads = [channel.encode(part, stamp) for part, _, stamp in made]
    if len({payload.size for payload in payloads}) > 1:
        return "says that it is served, but its messages differ in length"
    for payload, (_, _, stamp) in zip(payloads, made, strict=True):
        there = channel.decode(payload, stamp).values
        elsewhere = channel.decode(payload, made[0][2]).values
        if not np.array_equal(there, elsewhere, equal_nan=True):
            return "says that it is served, but the values of its bytes depend on the stamp"
    return None


PROMISES: Mapping[str, Any] = {
    "coordinates are coordinates": _coordinates,
    "never silent": _never_silent,
    "coordinates known to both": _known_to_both,
    "bytes are enough": _enough,
    "values survive": _survive,
    "values of the model": _of_the_model,
    "arguments left alone": _left_alone,
    "repeats itself": _repeats_itself,
    "can be served": _served,
}
