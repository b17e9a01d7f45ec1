"""A method none of whose parts is the paper's: every branch of a compiled kernel is in it."""

from typing import Any, NamedTuple

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.parts import Channel, Learner, Part, ServerRule, draws, placed, silence
from paofed.core.selection import Windows


class Pair(NamedTuple):
    fast: Any  # (D,)
    slow: Any  # (D, 2): half of it drags behind
    before: Any  # (D,): `fast` before the last step: an old field in another place


def begin_pair(features: int) -> Pair:
    return Pair(np.zeros(features), np.zeros((features, 2)), np.zeros(features))


def model_of_pair(state: Any) -> Any:
    return state.fast + state.slow[:, 0]


def learn_pair(state: Any, z: Any, y: Any, mu: Any, tick: Any) -> Any:
    step = mu * (y - model_of_pair(state) @ z) * z / (1 + 0.01 * tick)
    slow = state.slow.copy()
    slow[:, 0] += 0.25 * step
    slow[:, 1] += 1
    inertia = 0.1 * (state.fast - state.before)
    return Pair(state.fast + 0.5 * step + inertia, slow, state.fast)


def merge_pair(state: Any, part: Any) -> Any:
    heard = Part(part.coordinates, part.values - state.slow[:, 0][part.coordinates])
    return Pair(placed(state.fast, heard), state.slow, state.before)


class Told(NamedTuple):
    values: Any  # (D,)
    contacts: Any  # (1,)


def begin_told(features: int) -> Told:
    return Told(np.zeros(features), np.zeros(1))


def send_told(w: Any, memory: Any, stamp: Any) -> Any:
    """The three that moved most; nothing at every fourth contact; sometimes by chance one more."""
    count = 3 if draws(stamp, 1)[0] < 0.5 else 4
    if memory.contacts[0] % 4 == 3:
        return silence(), Told(memory.values, memory.contacts + 1)
    chosen = np.argsort(-np.abs(w - memory.values))[:count]
    part = Part(chosen, w[chosen])
    return part, Told(placed(memory.values, part), memory.contacts + 1)


def encode_told(part: Any, stamp: Any) -> Any:
    """Indices as bytes, values in steps of 1/64 that chance rounds."""
    levels = np.floor(64 * part.values + draws(stamp, part.values.size + 2)[2:])
    indices = part.coordinates.astype(np.uint8)
    return np.concatenate((indices, levels.astype(np.int16).view(np.uint8)))


def decode_told(payload: Any, stamp: Any) -> Any:  # noqa: ARG001 (the interface of a decode)
    count = payload.size // 3
    values = payload[count:].view(np.int16) / 64
    return Part(payload[:count].astype(np.int64), values)


WINDOWS = Windows(2, coordinated=False)


class Chosen(NamedTuple):
    coordinates: Any  # (2,) int64: to be sent the next time


def begin_chosen(features: int) -> Chosen:
    return Chosen(np.arange(2) % features)


def send_drawn(w: Any, memory: Any, stamp: Any) -> Any:
    """What was chosen the last time: the part is what the memory held, and the memory moves on."""
    drawn = np.argsort(draws(stamp, w.size))[:2]
    if stamp.tick % 2:
        drawn = WINDOWS.at(stamp)
    return Part(memory.coordinates, w[memory.coordinates]), Chosen(drawn)


class Momentum(NamedTuple):
    w: Any  # (D,)
    push: Any  # (D,)
    before: Any  # (D,): `w` before the last tick


def begin_momentum(features: int, clients: int) -> Momentum:
    return Momentum(np.zeros(features), np.zeros(features) / clients, np.zeros(features))


def apply_momentum(state: Any, messages: Any, stamp: Any) -> Any:
    push = 0.9 * state.push
    for message in messages:
        age = stamp.tick - message.sent
        for j, c in enumerate(message.coordinates):
            push[c] += (message.values[j] - state.w[c]) * 0.5**age / (1 + message.client)
    moved = state.w + 0.2 * push + 0.1 * (state.w - state.before)
    return Momentum(moved + 1e-3 * draws(stamp, state.w.size), push, state.w)


OWN = Algorithm(
    name="own",
    downlink=Channel(send=send_drawn, init=begin_chosen),
    uplink=Channel(
        send=send_told,
        init=begin_told,
        encode=encode_told,
        decode=decode_told,
        waives=("never silent", "values survive"),
    ),
    server=ServerRule(apply=apply_momentum, init=begin_momentum),
    learner=Learner(learn=learn_pair, init=begin_pair, model=model_of_pair, merge=merge_pair),
    learns_while_away=True,
)
