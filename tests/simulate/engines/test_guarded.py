"""A rule of one's own that is none is told in one line: which method, which part, what it did."""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

from paofed import replay
from paofed.algorithms import Algorithm, algorithm
from paofed.core.arrays import FloatArray
from paofed.core.parts import (
    Bytes,
    Channel,
    Learner,
    Message,
    Part,
    ServerRule,
    Stamp,
    Weights,
    float_bytes,
    silence,
)
from paofed.core.rules import LMS, Newest, lms_step
from paofed.core.selection import Windows
from paofed.core.staleness import Geometric
from paofed.errors import AlgorithmError, RuleError
from paofed.simulate.engines.fast.own import kernels
from paofed.simulate.engines.guarded import guarded, same_values
from tests.effort import effort
from tests.natures import small_trace

FEATURES = 7
U1 = algorithm("pao-fed-u1", shared=2)
UP, DOWN = Windows(2, coordinated=False, ahead=1), Windows(2, coordinated=False)


class Memory(NamedTuple):
    """What a channel, a learner or a server remembers here."""

    w: FloatArray
    heard: FloatArray


def begin(features: int, *_: int) -> Memory:
    return Memory(np.zeros(features), np.zeros(1))


def returning(value: Any) -> Callable[..., Any]:
    return lambda *_: value


def sending(value: Any) -> Channel:
    """A channel whose `send` returns this part."""
    return Channel(send=lambda _, memory, __: (value, memory))


def coded(**functions: Any) -> Channel:
    """A channel that sends the first two coordinates, with one function of its code replaced."""
    code: dict[str, Any] = {
        "encode": lambda part, _: float_bytes(part.values),
        "decode": lambda data, _: Part(np.arange(2), data.view("<f4").astype(np.float64)),
    }
    first = sending(Part(np.arange(2), np.zeros(2)))
    return replace(first, **(code | functions))


SHORT = np.zeros(3)
ONE, THREE, SEVEN = (f"an array of float64 of shape ({size},)" for size in (1, 3, 7))
NO_CODE: dict[str, Part] = {}
CHANNELS: list[tuple[Channel, str]] = [
    (sending(None), "send returned NoneType: expected a Part of coordinates and values"),
    (Channel(send=returning(7)), "send returned int: expected a part and the memory to keep"),
    (sending(Part(np.array([3, 1, 3]), SHORT)), "send returned coordinate 3 twice: expected"),
    (sending(Part(np.array([0, 7, 1]), SHORT)), "send returned coordinate 7: expected 0 to 6"),
    (
        sending(Part(np.zeros(0, dtype=np.int64), SHORT)),
        "send returned a silent part with 3 values: expected 0",
    ),
    (sending(Part(np.arange(2), SHORT)), "send returned 2 coordinates with 3 values: expected 2"),
    (
        sending(Part(np.array([0.5, 1.5]), np.zeros(2))),
        "send returned an array of float64 of shape (2,) as coordinates: expected a one-",
    ),
    (
        sending(Part(np.arange(2), np.arange(2))),  # type: ignore[arg-type]
        "send returned an array of int64 of shape (2,) as values: expected a one-dimensional array",
    ),
    (
        Channel(init=begin, send=lambda *_: (Part(np.arange(2), np.zeros(2)), ())),
        "send returned tuple: expected Memory, as init returns",
    ),
    (
        Channel(
            init=begin,
            send=lambda _, m, __: (Part(np.arange(2), np.zeros(2)), m._replace(heard=SHORT)),
        ),
        f"send returned {THREE} as heard: expected {ONE}, as init returns",
    ),
    (coded(encode=returning(b"ab")), "encode returned bytes: expected a one-dimensional array of"),
    (coded(decode=returning(None)), "decode returned NoneType: expected a Part"),
    (coded(decode=returning(silence())), "decode returned a silent part: expected what was sent"),
    (
        coded(decode=returning(Part(np.array([1, 6]), np.zeros(2)))),
        "decode returned coordinates [1, 6], but those that were sent are [0, 1]: expected the",
    ),
    (
        coded(decode=returning(Part(np.array([1, 0]), np.array([0.0, 1e-29])))),
        "decode returned other values than were sent, beyond the rounding of float32: expected",
    ),
    (coded(decode=lambda *_: NO_CODE["key"]), "decode raised KeyError: 'key'"),
    (Channel(send=returning(7), init=returning([1])), "init returned list: expected a NamedTuple"),
]

LEARNERS: list[tuple[dict[str, Any], str]] = [
    (
        {"learn": returning(Weights(SHORT))},
        f"learn returned {THREE} as w: expected {SEVEN}, as init returns",
    ),
    (
        {"learn": lambda s, *_: Weights(s.w.astype(np.float32))},
        "learn returned an array of float32 of shape (7,) as w: expected an array of float64",
    ),
    ({"learn": returning(None)}, "learn returned NoneType: expected Weights, as init returns"),
    ({"merge": returning(None)}, "merge returned NoneType: expected Weights, as init returns"),
    (
        {"model": returning(SHORT)},
        f"model returned {THREE}: expected the model, real numbers of shape (7,)",
    ),
    ({"init": lambda f: (np.zeros(f),)}, "init returned tuple: expected a NamedTuple of arrays"),
    ({"init": returning(())}, "model raised AttributeError: 'tuple' object has no attribute 'w'"),
    ({"learn": lambda w, _z, _y, _mu: w}, "learn raised TypeError: "),
]

SERVERS: list[tuple[dict[str, Any], str]] = [
    ({"apply": returning(None)}, "apply returned NoneType: expected Weights, as init returns"),
    ({"apply": lambda s, *_: s.w / None}, "apply raised TypeError: "),
    ({"model": returning(0.5)}, "model returned float: expected the model, real numbers"),
    ({"init": lambda f: Weights(np.zeros(f))}, "init raised TypeError: "),
    ({"init": begin, "apply": lambda s, *_: Weights(s.w)}, "apply returned Weights: expected Mem"),
]


def told(mine: Algorithm) -> str:
    """The one line that comes of a method when it is replayed."""
    with pytest.raises(AlgorithmError) as error:
        replay(small_trace(1, features=FEATURES), mine)
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("direction", ["uplink", "downlink"])
@pytest.mark.parametrize(("channel", "words"), CHANNELS)
def test_a_channel_that_is_none(direction: str, channel: Channel, words: str) -> None:
    changed: dict[str, Any] = {direction: channel}
    mine = replace(U1, name="mine", **changed)
    assert told(mine).startswith(f"mine: its {direction}'s {words}")


@pytest.mark.parametrize(("functions", "words"), LEARNERS)
def test_a_learner_that_is_none(functions: dict[str, Any], words: str) -> None:
    mine = replace(U1, name="mine", learner=replace(LMS, **functions))
    assert told(mine).startswith(f"mine: its learner's {words}")


@pytest.mark.parametrize(("functions", "words"), SERVERS)
def test_a_server_rule_that_is_none(functions: dict[str, Any], words: str) -> None:
    rule = replace(ServerRule(apply=lambda state, *_: state), **functions)
    assert told(replace(U1, name="mine", server=rule)).startswith(f"mine: its server's {words}")


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (lambda _: 5, "returned 5: expected a weight from 0 to 1"),
        (lambda _: np.eye(2), "returned array([[1., 0.], [0., 1.]]): expected a weight"),
        (lambda age: age / 0, "raised ZeroDivisionError: division by zero"),
    ],
)
def test_weights_of_the_paper_s_server_that_are_none(weight: Any, words: str) -> None:
    weighs_age_3 = Newest(lambda age: weight(age) if age == 3 else 1.0)
    mine = replace(U1, name="mine", server=weighs_age_3)
    assert told(mine).startswith(f"mine: its server's staleness of age 3 {words}")


def packed(part: Part, _: Stamp) -> Bytes:
    """Indices and values without a loss."""
    halves = part.coordinates.astype("<u2").view(np.uint8), part.values.view(np.uint8)
    return np.concatenate(halves)


def unpacked(payload: Bytes, _: Stamp) -> Part:
    count = payload.size // 10
    indices, values = payload[: 2 * count], payload[2 * count :]
    return Part(indices.view("<u2").astype(np.int64), values.view(np.float64))


def counted(state: Memory, messages: Sequence[Message], stamp: Stamp) -> Memory:
    w = Newest(Geometric(1.0)).apply(Weights(state.w), messages, stamp).w
    return Memory(w, state.heard + len(messages))


def stepped(state: Memory, z: FloatArray, y: float, mu: float, tick: int) -> Memory:
    return Memory(lms_step(state.w, z, y, mu), np.full(1, float(tick)))


def test_a_good_method_is_the_same_under_guard_bit_for_bit() -> None:
    """Its own parts do what the paper's do, and are watched; those are not."""
    own = Algorithm(
        name="mine",
        downlink=Channel(send=DOWN.send, encode=packed, decode=unpacked),
        uplink=Channel(send=UP.send, encode=packed, decode=unpacked),
        server=ServerRule(apply=counted, init=begin),
        learner=Learner(learn=stepped, init=begin),
        learns_while_away=True,
    )
    for seed in range(5):
        trace = small_trace(seed, features=FEATURES)
        found, expected = replay(trace, own), replay(trace, U1)
        assert found.server_model.tobytes() == expected.server_model.tobytes()
        assert found.mse.tobytes() == expected.mse.tobytes()
        assert found.sent_up == expected.sent_up


@pytest.mark.parametrize("waived", ["coordinates known to both", "values survive"])
def test_what_a_channel_waives_is_not_asked_of_its_runs(waived: str) -> None:
    lost = Part(np.array([0, 6] if "coordinates" in waived else [1, 0]), np.array([0.0, 0.5]))
    channel = replace(coded(decode=returning(lost)), waives=("values survive", waived))
    replay(small_trace(1, features=FEATURES), replace(U1, name="mine", uplink=channel))


@njit
def _same_values(sent: Any, arrived: Any, tally: Any) -> Any:
    told = sent.coordinates.size
    return kernels.valid(arrived, told, tally) and kernels.same_values(sent, arrived, tally)


def compiled_same_values(sent: Part, arrived: Part) -> Any:
    seen, place, checks = (np.zeros(size, dtype=np.int64) for size in (4, 4, 1))
    return _same_values(
        sent, arrived, kernels.Counters(seen, np.zeros((2, 0)), seen, place, checks, checks)
    )


def test_what_has_no_float32_may_be_lost() -> None:
    """So a method that diverges says so with its errors, in every engine."""
    huge = np.array([np.nan, -np.inf, 1e39, 1.0])
    here, there = np.arange(4), Part(np.array([3, 2, 1, 0]), np.array([1.0, np.inf, 0.0, 2.0]))
    for same in (same_values, compiled_same_values)[: effort(everyday=1, thorough=2)]:
        assert same(Part(here, huge), there)
        assert not same(Part(here, np.append(huge[:3], 1.1)), there)


def test_what_a_rule_did_comes_from_worker_processes_whole() -> None:
    told = pickle.loads(pickle.dumps(RuleError("mine", "its server's apply returned int")))  # noqa: S301
    assert str(told) == "mine: its server's apply returned int"
    assert (told.method, told.complaint) == ("mine", "its server's apply returned int")


def test_the_paper_s_rows_are_left_as_they_are() -> None:
    for row in (U1, algorithm("online-fed", subset=2)):
        assert guarded(row, FEATURES, 4) == row
    own = replace(U1, server=Newest(lambda age: 1 / (1 + age)))
    watched = guarded(own, FEATURES, 4).server
    assert isinstance(watched, Newest)
    assert [watched.staleness(age) for age in range(4)] == [1 / (1 + age) for age in range(4)]
