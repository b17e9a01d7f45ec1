"""Bounded influence: the paper's server, which cuts what lies far out and sets devices aside.

One broken sensor must not ruin everybody's model. The server knows how far its devices' messages
usually are from its model (the scale), moves every value that is further away than `clip` scales
nearer, and keeps a score for every client. A client whose score is too high is set aside: it counts
about as much as an ordinary client. How much exactly depends on the others: they pull back where a
client is wrong that measures what they measure, and do not where a client measures what nobody else
does. All of this is a function of the messages alone, and free of units.

The functions are plain, so that numba can compile them (paofed.simulate.engines.fast.own).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.bounded_steps import check_bound, middle
from paofed.core.parts import Message, Stamp, State, weights
from paofed.core.rules import Divisor, Newest, aggregate, in_order
from paofed.core.staleness import Staleness
from paofed.errors import AlgorithmError

# The scale is the median over the last LATEST messages: few enough to follow a fleet that changes,
# and enough for the scale to vary by a tenth only.
LATEST = 64
# Messages of fewer than WITNESSES devices give no scale, since a single device cannot be told from
# a broken one, and what a broken one taught would take a thousand ticks to unlearn. After PATIENCE
# messages the fleet is taken to have no more devices.
WITNESSES, PATIENCE = 3, 16
# A message is outside if it is more than this many scales away. Most devices send few of these.
OUTSIDE = 3.0
# By how many scales beyond OUTSIDE a client with an average share of all messages may be for ever
# without being set aside. Healthy devices differ: in Setting I the messages of the busiest devices
# are up to 2 scales away on average, those of seldom heard devices, which learn by themselves for
# long, up to 6.
TOLERATED = 2.0
# The most that one message can add to a score, so that no single message decides.
MOST = 6.0
# A score above ASIDE sets a client aside, a score below BACK takes it back. Three wild messages in
# a row set it aside, and a few ordinary ones take it back. Between the two scores nothing changes.
ASIDE, BACK = 10.0, 5.0
# A client that is set aside counts as at most its allowance away from the model, LEAST to OUTSIDE
# scales. At LEAST a broken client does less than an ordinary one. At OUTSIDE a lonely one teaches,
# and noise in the place of a model still costs a fleet of six less than a tenth of its error.
LEAST = 0.1
# The allowance grows while the others pull back by less than DOUBT scales on average, and shrinks
# otherwise. In a fleet of 12, the others pull back by 0.1 a client that has 1 scale and is wrong.
DOUBT = 0.1
# By which share of what is pulled beyond DOUBT a message changes the allowance: from LEAST to
# OUTSIDE in 274 messages that nobody opposes. The others answer within one sweep over the model (50
# messages), and a larger share would go too far before that.
PACE = 0.125
# Where the others pull is a running mean on each coordinate, in which a message weighs so much.
RECENT = 1 / 16

_Number = TypeVar("_Number", bound=np.generic)


class BoundedState(NamedTuple):
    """The model, sizes and senders of the last messages, and what is known of each client."""

    w: FloatArray  # (D,)
    sizes: FloatArray  # (LATEST,): how far the last messages were from the model; 0: no message yet
    senders: IntArray  # (LATEST,): the client of each of these messages
    heard: IntArray  # (1,): messages heard so far
    last: IntArray  # (K,): the number of the client's last message, counted from 1; 0: none yet
    score: FloatArray  # (K,): how far outside the client's messages were lately
    aside: BoolArray  # (K,): whether the client is set aside, and its messages count little
    # (K,): the allowance of a client that is aside, in scales; 0: not aside
    allowed: FloatArray
    # (D,): where the others have pulled lately, in scales; 0 while nobody is aside
    pull: FloatArray
    trusted: BoolArray  # (K,): whether the client is never set aside


def begin(features: int, clients: int) -> BoundedState:
    """Begin with a model of zeros and no scale."""
    return BoundedState(
        np.zeros(features),
        np.zeros(LATEST),
        np.zeros(LATEST, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(clients, dtype=np.int64),
        np.zeros(clients),
        np.zeros(clients, dtype=np.bool_),
        np.zeros(clients),
        np.zeros(features),
        np.zeros(clients, dtype=np.bool_),
    )


def scale_of(sizes: FloatArray, senders: IntArray) -> float:
    """Return the median of sizes in which every sender counts the same, however much it sends.

    The result is 0 while too few senders were heard.
    """
    known = np.flatnonzero(sizes > 0.0)
    if known.size == 0:
        return 0.0
    order = known[np.argsort(sizes[known], kind="mergesort")]
    says = np.empty(order.size)
    for i in range(order.size):
        says[i] = 1.0 / np.sum(senders[known] == senders[order[i]])
    total = np.cumsum(says)
    if total[-1] < WITNESSES - 0.5 and known.size < PATIENCE:
        return 0.0
    # Less a little, so that rounding does not decide where half is met exactly.
    half = 0.5 * total[-1] - 1e-9
    return float(sizes[order[np.searchsorted(total, half)]])


def sizes_of(w: FloatArray, messages: Sequence[Message]) -> FloatArray:
    """Return how far each message is from the model: the median over its coordinates."""
    sizes = np.zeros(len(messages))
    for i in range(len(messages)):
        away = np.abs(messages[i].values - w[messages[i].coordinates])
        sizes[i] = middle(np.where(np.isnan(away), np.inf, away))
    return sizes


def latest(
    state: BoundedState, messages: Sequence[Message], sizes: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Return the last sizes and their senders after these messages.

    Messages of clients that are aside do not count where these are outvoted, so that no such client
    becomes the measure. Of more messages than LATEST, an even selection over all ages and clients
    is kept.
    """
    outvoted = state.aside & are_outvoted(state)
    known = np.array([not outvoted[message.client] for message in messages])
    said = np.flatnonzero(known & (sizes > 0.0) & (sizes < np.inf))
    count = min(said.size, LATEST)
    kept = said[np.arange(count) * said.size // max(count, 1)]
    senders = np.array([messages[i].client for i in kept], dtype=np.int64)
    return (
        np.concatenate((state.sizes, sizes[kept]))[-LATEST:],
        np.concatenate((state.senders, senders))[-LATEST:],
    )


def grown(state: BoundedState, messages: Sequence[Message]) -> BoundedState:
    """Make room for clients that are heard for the first time: a live fleet grows at any time.

    All columns are as long as the longest afterwards: a client can be trusted before it is heard.
    """
    known = (state.last.size, state.score.size, state.aside.size)
    newer = (state.allowed.size, state.trusted.size)
    clients = max(max(known), max(newer))
    for message in messages:
        clients = max(clients, message.client + 1)
    if clients == min(min(known), min(newer)):
        return state
    return BoundedState(
        state.w,
        state.sizes,
        state.senders,
        state.heard,
        with_room(state.last, clients),
        with_room(state.score, clients),
        with_room(state.aside, clients),
        with_room(state.allowed, clients),
        state.pull,
        with_room(state.trusted, clients),
    )


def with_room(column: NDArray[_Number], clients: int) -> NDArray[_Number]:
    """Return a number for each of so many clients: those of a column, then zeros."""
    return np.concatenate((column, np.zeros(clients - column.size, dtype=column.dtype)))


def are_outvoted(state: BoundedState) -> bool:
    """Whether the clients that are aside are fewer than the others, so that they may be wrong.

    Those that were heard lately have the say. If most of these are aside, and they are WITNESSES at
    least, then something has changed for all, and the clients that are aside make the scale and
    wait for nobody. Fewer than WITNESSES have to be the half of all clients that were ever heard.
    """
    lately = (state.last > 0) & (state.last > state.heard[0] - LATEST)
    aside = np.sum(lately & state.aside)
    known = lately if aside >= WITNESSES else state.last > 0
    return bool(2 * np.sum(known & state.aside) < np.sum(known))


def judged(
    aside_above: float,
    state: BoundedState,
    messages: Sequence[Message],
    sizes: FloatArray,
    scale: float,
) -> tuple[IntArray, IntArray, FloatArray, BoolArray]:
    """Return `heard`, `last`, `score` and `aside` after these messages.

    A message adds to its client's score by how much it lies outside. Every message of the fleet
    takes a little off all scores: `TOLERATED` by the time that each client has sent one on average.
    So a client is judged by what it pulls beyond its share, and the messages of a client that is
    seldom heard may be further away.
    """
    heard, last = state.heard.copy(), state.last.copy()
    score, aside = state.score.copy(), state.aside.copy()
    clients = max(np.sum(last > 0), 1)
    for i in range(len(messages)):
        if sizes[i] > 0.0 and scale > 0.0:
            k = messages[i].client
            heard[0] += 1
            rested = max(score[k] - TOLERATED * (heard[0] - last[k]) / clients, 0.0)
            outside = min(max(sizes[i] / scale - OUTSIDE, 0.0), MOST)
            last[k], score[k] = heard[0], min(rested + outside, ASIDE + MOST)
            stays = aside[k] and score[k] > BACK and aside_above < np.inf
            aside[k] = (score[k] > aside_above or stays) and not state.trusted[k]
    return heard, last, score, aside


def opposed(
    state: BoundedState, messages: Sequence[Message], scale: float, last: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return `allowed` and `pull` after these messages, with `last` as it is after them.

    The allowance of a client that is aside grows while the others let the model follow its messages
    and shrinks while they pull the model back. What the others do is known from before these
    messages, so that the order of arrival does not matter. It takes the others some messages to
    answer, so the allowance of a client that sends more often than they do goes no faster.
    """
    allowed, pull = np.zeros_like(state.allowed), np.zeros_like(state.pull)
    if scale == 0.0 or not np.any(state.aside):
        return allowed, pull
    allowed[:], pull[:] = state.allowed, state.pull
    clients = max(np.sum(state.last > 0), 1)
    for i in range(len(messages)):
        k, at = messages[i].client, messages[i].coordinates
        away = messages[i].values - state.w[at]
        # A NaN becomes the lower bound, since `fmax` ignores NaN.
        away = np.fmin(np.fmax(away, -OUTSIDE * scale), OUTSIDE * scale) / scale
        if state.aside[k]:
            # Above 0: the others pull where this client does. A running sum, not a pairwise one,
            # is the same to the last bit when it is compiled.
            along = np.cumsum(np.sign(away) * state.pull[at])[-1] / at.size
            turns = min((last[k] - state.last[k]) / clients, 1.0)
            grows = 1.0 + PACE * turns * (DOUBT + along)
            allowed[k] = min(max(max(allowed[k], LEAST) * grows, LEAST), OUTSIDE)
        else:
            allowed[k] = 0.0
            pull[at] = pull[at] + RECENT * (away - pull[at])
    return allowed, pull


def answered(
    state: BoundedState, messages: Sequence[Message], sizes: FloatArray, last: IntArray
) -> FloatArray:
    """Return which share of the others was heard since the client of each message was, at most 1.

    A client that is aside moves the model by this share of its allowance: who sends while the
    others have nothing to say cannot be told to be wrong. `last` is as it is after the messages.
    """
    clients = np.sum(state.last > 0)
    shares = np.ones(len(messages))
    if not are_outvoted(state):
        return shares
    own = np.zeros_like(last)
    for i in range(len(messages)):
        own[messages[i].client] += sizes[i] > 0.0
    for i in range(len(messages)):
        k = messages[i].client
        shares[i] = min((last[k] - state.last[k] - own[k]) / max(clients - 1, 1), 1.0)
    return shares


def received(
    clip: float,
    aside_above: float,
    state: BoundedState,
    messages: Sequence[Message],
    sizes: FloatArray,
) -> tuple[FloatArray, BoundedState]:
    """Return how far from the model each message's values may be, and the state after the messages.

    The messages are in order, and the model itself is left as it was. Messages are measured by the
    scale from before they came. As long as there is no scale, no value may be away from the model
    at all.
    """
    state = grown(state, messages)
    last_sizes, senders = latest(state, messages, sizes)
    scale = scale_of(state.sizes, state.senders)
    if scale == 0.0:  # too little was heard before, so these messages themselves make the scale
        scale = scale_of(last_sizes, senders)
    heard, last, score, aside = judged(aside_above, state, messages, sizes, scale)
    allowed, pull = opposed(state, messages, scale, last)
    limits = np.full(len(messages), clip * scale)
    answers = answered(state, messages, sizes, last)
    for i in range(len(messages)):
        k = messages[i].client
        if state.aside[k]:
            limits[i] = min(allowed[k], clip) * answers[i] * scale
    after = BoundedState(
        state.w, last_sizes, senders, heard, last, score, aside, allowed, pull, state.trusted
    )
    return limits, after


@dataclass(frozen=True)
class Bounded:
    """The paper's server rule (eq. 9) with bounded influence.

    A value counts as at most `clip` scales away from the model. `aside` says whether clients whose
    messages are outside time and again are set aside: their messages count as at most LEAST to
    OUTSIDE scales away, depending on what the others do.
    """

    staleness: Staleness
    divisor: Divisor = "class"
    clip: float = 6.0
    aside: bool = True

    waives: ClassVar[tuple[str, ...]] = ()
    served: ClassVar[bool] = True
    why_not: ClassVar[str] = ""
    bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        # Raises for a staleness or divisor that no server rule can use.
        Newest(self.staleness, self.divisor)
        check_bound("clip", self.clip)
        if type(self.aside) is not bool:
            raise AlgorithmError(f"aside is {self.aside!r}: expected yes or no", key="aside")

    @property
    def aside_above(self) -> float:
        """The score beyond which a client is set aside."""
        return ASIDE if self.aside else np.inf

    def init(self, features: int, clients: int) -> BoundedState:
        """Begin with a model of zeros and no scale."""
        return begin(features, clients)

    def model(self, state: State) -> FloatArray:
        """Return the model."""
        return weights(state)

    def apply(self, state: State, messages: Iterable[Message], stamp: Stamp) -> BoundedState:
        """Apply all messages that arrive at the tick of the stamp."""
        before: BoundedState = state
        ordered = in_order(messages, stamp.tick)
        if not ordered:
            return before
        here, values = _stacked(before.w, ordered)
        sizes = _sizes_at_once(here, values)
        limits, after = received(self.clip, self.aside_above, before, ordered, sizes)
        limit = limits[:, None]
        # A NaN becomes the lower bound, since `fmax` ignores NaN.
        cut = np.fmin(np.fmax(values, here - limit), here + limit)
        counted = [
            m._replace(values=row[: m.values.size]) for m, row in zip(ordered, cut, strict=True)
        ]
        w = aggregate(before.w, counted, stamp.tick, self.staleness, self.divisor)
        return BoundedState(w, *after[1:])


def _stacked(w: FloatArray, messages: Sequence[Message]) -> tuple[FloatArray, FloatArray]:
    """Return the model and the values on each message's coordinates, a row each, then zeros."""
    longest = max(message.values.size for message in messages)
    here, values = np.zeros((2, len(messages), longest))
    for i, message in enumerate(messages):
        here[i, : message.values.size] = w[message.coordinates]
        values[i, : message.values.size] = message.values
    return here, values


def _sizes_at_once(here: FloatArray, values: FloatArray) -> FloatArray:
    """Return what `sizes_of` does, many times faster where it is not compiled: on a live server."""
    away = np.abs(values - here)
    away[np.isnan(away)] = np.inf
    away.sort(axis=1)
    rows, longest = away.shape
    known = np.sum(away > 0.0, axis=1)  # sorting puts the zeros first
    last = np.minimum(longest - known + np.stack((known - 1, known)) // 2, longest - 1)
    low, high = away[np.arange(rows), last]
    sizes: FloatArray = 0.5 * (low + high)
    return sizes
