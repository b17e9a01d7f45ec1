"""A server rule with more to keep than a model, in the place of the paper's."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from paofed.algorithms import Algorithm, made
from paofed.core.arrays import FloatArray
from paofed.core.parts import Message, ServerRule, Stamp, draws


class Momentum(NamedTuple):
    w: FloatArray
    push: FloatArray


def begin(features: int, clients: int) -> Momentum:  # noqa: ARG001 (the interface of an `init`)
    return Momentum(np.zeros(features), np.zeros(features))


def go_on(state: Momentum, messages: Sequence[Message], stamp: Stamp) -> Momentum:
    """Go on in the direction of before, too, and jitter; rest where nothing arrives."""
    if not messages:
        return state
    push = 0.5 * state.push
    for message in messages:
        pull = message.values - state.w[message.coordinates]
        push[message.coordinates] += 0.5 ** (stamp.tick - message.sent) * pull / len(messages)
    return Momentum(state.w + 0.3 * push + 1e-3 * draws(stamp, stamp.features), push)


RULE = ServerRule(
    apply=go_on,
    init=begin,
    served=True,
    waives=("fixed point", "convex hull", "untouched coordinates", "order independence"),
)


def serve(monkeypatch: pytest.MonkeyPatch, **parts: Any) -> None:
    """Let every fleet follow its row with some parts of one's own."""

    def row(name: str, options: dict[str, Any]) -> Algorithm:
        return replace(made(name, options), **parts)

    monkeypatch.setattr("paofed.live.protocol.manifest.made", row)
