"""Random histories of what arrives at a server, and how a rule lives through one."""

from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.parts import SERVER, Message, ServerRule, Stamp, keys_of

CLIENTS, FEATURES, TICKS, OLDEST = 5, 6, 40, 9


class Arrivals(NamedTuple):
    """The messages of one tick, the newest first, those of one age by client."""

    tick: int
    messages: list[Message]


def history(seed: int) -> list[Arrivals]:
    """Draw one: whole models or parts of them, ticks without messages, newer ones that come first.

    A client may have several messages in one tick.
    """
    rng = np.random.default_rng(seed)
    width = FEATURES if seed % 2 else 2
    arriving: list[list[Message]] = [[] for _ in range(TICKS + OLDEST)]
    for sent, client in np.ndindex(TICKS, CLIENTS):
        if rng.random() < (0.1, 0.4, 0.0)[sent // 10 % 3]:
            at = np.sort(rng.permutation(FEATURES)[:width])
            due = sent + int(rng.integers(OLDEST)) * int(rng.integers(2))
            arriving[due].append(Message(client, sent, at, rng.normal(size=width)))
    for messages in arriving:
        messages.sort(key=lambda m: (-m.sent, m.client))
    return [Arrivals(tick, messages) for tick, messages in enumerate(arriving)]


def stamp_at(tick: int, features: int = FEATURES) -> Stamp:
    """The server's stamp."""
    return Stamp(SERVER, tick, features, keys_of(1).server)


def lived(rule: ServerRule, arrivals: list[Arrivals]) -> list[FloatArray]:
    """The models of a rule after every tick of a history."""
    state, models = rule.init(FEATURES, CLIENTS), []
    for tick, messages in arrivals:
        state = rule.apply(state, messages, stamp_at(tick))
        models.append(rule.model(state))
    return models


def said(client: int, sent: int, *values: float) -> Message:
    """A message with a whole model."""
    return Message(client, sent, np.arange(len(values)), np.array(values))


def part(client: int, sent: int, coordinate: int, value: float) -> Message:
    """A message with one coordinate."""
    return Message(client, sent, np.array([coordinate]), np.array([value]))
