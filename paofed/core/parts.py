"""What a method is made of: small records of pure functions, and what passes between them.

A method answers five questions: who takes part, what a device does with a sample (a `Learner`),
what goes up and what comes down (a `Channel` for each direction), and what the server does with
messages that arrived (a `ServerRule`). State is a NamedTuple of arrays that is passed in and
returned, never hidden. Functions leave their arguments alone and return new arrays.

A client whose samples have all been sent has no vote: a sample gives it messages for one sweep over
the model, and after that it hears in a contact, and sends silence. In a trace, whoever takes part
has a sample and learns from it before it sends.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.core import random
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.features import FourierMap
from paofed.core.traffic import BYTES_PER_COORDINATE

Bytes = NDArray[np.uint8]  # what travels
State = Any  # a NamedTuple of arrays of the rule's own choice
LARGEST = 1e38  # numbers below this one have a float32
SERVER = -1  # the client of a stamp that belongs to the server
# The promise that functions leave their arguments alone. A part that waives it may change the state
# that it is given, and return that: to copy a thousand sums at each sample would take longer than
# to add to them.
LEFT_ALONE = "arguments left alone"


class Part(NamedTuple):
    """Some coordinates of a model and their values; a part without coordinates is silence."""

    coordinates: IntArray
    values: FloatArray


class Message(NamedTuple):
    """What a client sent: the values of its model on some coordinates, stamped with a tick."""

    client: int
    sent: int
    coordinates: IntArray
    values: FloatArray


class Stamp(NamedTuple):
    """Identifies a link at a tick: client, tick, and the key of the random numbers drawn there.

    The receiver has the same stamp as the sender, so both can draw the same numbers. The server's
    own stamp, which `ServerRule.apply` is given, has the client `SERVER`.
    """

    client: int
    tick: int
    features: int
    key: random.Key


class Weights(NamedTuple):
    """The state of a rule that keeps a model and nothing else."""

    w: FloatArray


class Calibration(NamedTuple):
    """Samples from before a fleet began, which its server may know, with predictions of each.

    Each sample was predicted before the model with which the fleet begins was fitted to it.
    """

    x: FloatArray  # (C, d)
    y: FloatArray  # (C,)
    foretold: FloatArray  # (C,)


def silence() -> Part:
    """Return the part without coordinates: nothing is sent."""
    return Part(np.zeros(0, dtype=np.int64), np.zeros(0))


def placed(w: FloatArray, part: Part) -> FloatArray:
    """Return a copy of the model w with the values of a part in their places."""
    w = w.copy()
    w[part.coordinates] = part.values
    return w


def draws(stamp: Stamp, count: int) -> FloatArray:
    """Draw `count` numbers uniform on [0, 1): always the same numbers for the same stamp."""
    blocks = np.arange(-(-count // 4))
    words = random.philox(stamp.key, blocks, stamp.client & 0xFFFFFFFF, stamp.tick, _DRAWS)
    return random.uniform(words).T.ravel()[:count]


_DRAWS = 0  # the last word of the counter under which `draws` draws
_METHOD = 3  # the branch of a run's key under which a method's own numbers are drawn


class Keys(NamedTuple):
    """The keys under which a method draws numbers: for the uplink, the downlink and the server."""

    up: random.Key
    down: random.Key
    server: random.Key


def keys_of(seed: int, world: int = 0, run: int = 0) -> Keys:
    """Derive the keys of a method's own random numbers in one run of one world."""
    method = random.child(random.child(random.key_of(seed), world), run, _METHOD)
    return Keys(*(random.child(method, purpose) for purpose in range(3)))


def no_state(features: int) -> tuple[()]:  # noqa: ARG001 (the interface of an `init`)
    """Begin a link without a memory."""
    return ()


def zero_weights(features: int) -> Weights:
    """Begin with a model of zeros."""
    return Weights(np.zeros(features))


def zero_server(features: int, clients: int) -> Weights:  # noqa: ARG001 (likewise)
    """Begin with a model of zeros, however many clients there are."""
    return Weights(np.zeros(features))


def weights(state: State) -> FloatArray:
    """Return the field `w` of a state: the model, unless a rule says otherwise."""
    w: FloatArray = state.w
    return w


def not_own(part: Part, heard: int) -> Part:
    """Return the part's first `heard` coordinates: those after them are the device's own."""
    ours = part.coordinates < heard
    return Part(part.coordinates[ours], part.values[ours])


def overwrite(state: State, part: Part) -> State:
    """Put the values of a part into the field `w`: M w_server + (I - M) w (first part of eq. 7)."""
    return state._replace(w=placed(state.w, part))


def _told() -> Any:
    """Return a field for a sentence that people are told: no part of what a record computes."""
    return field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Learner:
    """What a device does with a sample, and with what it hears from the server.

    `tells` is what the device's uplink sends parts of: its model, or other numbers of its state.
    `starts` begins with a whole model; without it, a device begins as if it had heard all of it.
    `sees` is for a learner that remembers what it predicts: it is called with the features of each
    sample of the device when that is there, before anything else happens. `learn` may come later,
    or never.

    `waives` names the promises of the contract (paofed.checks.PROMISES) that these functions do not
    keep, on purpose. `served` says that devices of a live fleet may use these functions: such a
    device keeps a NamedTuple of arrays whose field `w` is the model, and cannot always know the
    tick, so that `learn` must not depend on the tick. `why_not` says in one sentence why the
    functions are not served.
    """

    learn: Callable[[State, FloatArray, float, float, int], State]  # state, z, y, mu, tick
    init: Callable[[int], State] = zero_weights  # features
    model: Callable[[State], FloatArray] = weights
    merge: Callable[[State, Part], State] = overwrite
    tells: Callable[[State], FloatArray] | None = None  # None: its model
    starts: Callable[[State, FloatArray], State] | None = None
    sees: Callable[[State, FloatArray], State] | None = None
    waives: tuple[str, ...] = ()
    served: bool = False
    why_not: str = _told()


@dataclass(frozen=True, kw_only=True)
class Channel:
    """What travels in one direction, and as which bytes.

    `send` sees what the sender tells, usually its model, and the sender's memory of this link. It
    returns a part, or `silence()`, and the memory to keep. What arrives is what `decode` makes of
    the bytes that `encode` made. Without `encode` and `decode`, values travel as float32, 4 bytes
    each, on coordinates that the receiver works out from the stamp alone; simulators then keep all
    digits, as the paper does.

    `served` says that a live fleet may use these functions. Then the sender remembers nothing of
    its link, so that a device may lose power at any time; it always sends, and always as many
    bytes; the stamp alone says which coordinates the bytes are of, and the bytes alone say which
    values. The other side is not trusted: from bytes that `encode` never makes, `decode` makes
    values that are NaN, or values of a size that `encode` might have made. `why_not` says in one
    sentence why the functions are not served.
    """

    send: Callable[[FloatArray, State, Stamp], tuple[Part, State]]  # model, memory, stamp
    init: Callable[[int], State] = no_state  # features
    encode: Callable[[Part, Stamp], Bytes] | None = None
    decode: Callable[[Bytes, Stamp], Part] | None = None
    waives: tuple[str, ...] = ()
    served: bool = False
    why_not: str = _told()


@dataclass(frozen=True, kw_only=True)
class ServerRule:
    """What the server does with the messages that arrive in one tick.

    `tells` is what the downlinks send parts of: the model, or other numbers of the server's state.
    `recalls` is for a server that remembers the calibration period, where there is one: it is given
    the first state, the map of the fleet and the samples of that period.
    `apply` gets the messages sorted by age, then by client; none is older than the method's
    `max_age`. `served` says that the server of a live fleet may use these functions: `apply` is not
    called in a tick without messages, so the state must not change in such ticks, and `init` is
    given 0 clients, since devices join at any time; `why_not` says in one sentence why they are not
    served, and `bounded` that no device can ruin the model, whatever it sends. `reach` is for rules
    that remember past models: the largest age of a message that `apply` takes as it should; None
    for any age. Whoever runs the rule is warned if messages may be older.
    """

    apply: Callable[[State, Sequence[Message], Stamp], State]
    init: Callable[[int, int], State] = zero_server  # features, clients
    model: Callable[[State], FloatArray] = weights
    tells: Callable[[State], FloatArray] | None = None  # None: the model
    recalls: Callable[[State, FourierMap, Calibration], State] | None = None
    waives: tuple[str, ...] = ()
    served: bool = False
    reach: int | None = None
    why_not: str = _told()
    bounded: bool = field(default=False, compare=False, repr=False)


def told(part: Any, state: State) -> FloatArray:
    """Return what a learner or a server rule tells the other side of its state."""
    numbers: FloatArray = (part.model if tells_model(part) else part.tells)(state)
    return numbers


def tells_model(part: Any) -> bool:
    """Whether a learner or a server rule tells the other side its model and nothing else."""
    return getattr(part, "tells", None) is None


class ToldSizes(NamedTuple):
    """How many numbers the devices' uplinks and the server's downlinks send parts of."""

    up: int
    down: int


def told_sizes(learner: Any, server: Any, features: int) -> ToldSizes:
    """Return how many numbers each side of a method tells, where models have `features`."""
    up, down = features, features
    if not tells_model(learner):
        up = learner.tells(learner.init(features)).size
    if not tells_model(server):
        down = server.tells(server.init(features, 1)).size
    return ToldSizes(up, down)


def travelled(channel: Any, part: Part, stamp: Stamp) -> tuple[Part, int]:
    """Return the part that arrives when `part` is sent, and the bytes that it took."""
    if channel.encode is None:
        return part, BYTES_PER_COORDINATE * part.coordinates.size
    payload = channel.encode(part, stamp)
    return channel.decode(payload, stamp), payload.size


def float_bytes(values: FloatArray) -> Bytes:
    """Return values as they travel without an `encode`: float32, the lowest byte first."""
    return values.astype("<f4").view(np.uint8)


def rule_and_numbers(rule: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a rule, and the numbers that `partial` gives to the rule as its first arguments.

    >>> rule_and_numbers(partial(max, 1, 2.5))
    (<built-in function max>, (1, 2.5))

    Arguments given by keyword, and arguments that are no numbers, stay with the rule. An engine
    that compiles rules passes such numbers when it runs, so that one machine code serves them all.
    """
    if isinstance(rule, partial) and not rule.keywords and _is_number(rule.args):
        return rule.func, rule.args
    return rule, ()


def _is_number(value: Any) -> bool:
    """Tell whether a value is a number, an array of numbers, or a tuple of numbers and arrays."""
    if type(value) is tuple:
        return all(_is_number(item) for item in value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf" and value.flags.c_contiguous
    return type(value) in (bool, int, float) or isinstance(value, np.number | np.bool_)
