"""Rules of one's own, watched: what they raise or return wrongly becomes one line of words."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.bounded import Bounded
from paofed.core.learners import chosen
from paofed.core.parts import LARGEST, Channel, Learner, Part, ServerRule, told_sizes
from paofed.core.rules import Newest
from paofed.core.staleness import Geometric, is_weight
from paofed.errors import RuleError, in_one_line

# So many coded messages of each direction are compared with what was sent, in every run.
COMPARED = 32

# Takes what a rule returned, returns what is wrong with it or None.
Check = Callable[[Any], str | None]


def guarded(method: Algorithm, features: int, clients: int) -> Algorithm:
    """Return the method with its own functions watched; the paper's functions need no watching."""
    changes: dict[str, Any] = {}
    sizes = told_sizes(method.learner, method.server, features)
    for direction, size in (("downlink", sizes.down), ("uplink", sizes.up)):
        channel = getattr(method, direction)
        if isinstance(channel, Channel):
            changes[direction] = _channel(method.name, direction, channel, size)
    if isinstance(method.server, ServerRule):
        changes["server"] = _server(method.name, method.server, features, clients)
    elif not isinstance(method.server.staleness, Geometric):
        changes["server"] = _weighing(method.name, method.server)
    if chosen(method.learner) is None:
        changes["learner"] = _learner(method.name, method.learner, features)
    return replace(method, **changes)


def _learner(name: str, learner: Learner, features: int) -> Learner:
    where = "its learner's"
    init, kept = _begun(name, where, learner.init, features)
    return replace(
        learner,
        init=init,
        learn=_watched(name, f"{where} learn", learner.learn, kept),
        merge=_watched(name, f"{where} merge", learner.merge, kept),
        model=_watched(name, f"{where} model", learner.model, _model_check(features)),
        tells=_telling(name, where, learner.tells, learner.init(features)),
        sees=learner.sees and _watched(name, f"{where} sees", learner.sees, kept),
        starts=learner.starts and _watched(name, f"{where} starts", learner.starts, kept),
    )


def _server(name: str, rule: ServerRule, features: int, clients: int) -> ServerRule:
    where = "its server's"
    init, kept = _begun(name, where, rule.init, features, clients)
    return replace(
        rule,
        init=init,
        apply=_watched(name, f"{where} apply", rule.apply, kept),
        model=_watched(name, f"{where} model", rule.model, _model_check(features)),
        tells=_telling(name, where, rule.tells, rule.init(features, clients)),
        recalls=rule.recalls and _watched(name, f"{where} recalls", rule.recalls, kept),
    )


def _telling(name: str, where: str, tells: Any, first: Any) -> Callable[[Any], Any] | None:
    """Return a watched `tells`, which always tells as many numbers as of the `first` state."""
    if tells is None:
        return None
    size = _watched(name, f"{where} tells", tells, _wrong_told)(first).size

    def kept(numbers: Any) -> str | None:
        if _wrong_told(numbers) or numbers.size != size:
            return (
                f"returned {_said(numbers)}: expected {size} real numbers, as for the first state"
            )
        return None

    return _watched(name, f"{where} tells", tells, kept)


def _wrong_told(numbers: Any) -> str | None:
    if not _is_list(numbers, "f") or not numbers.size:
        return f"returned {_said(numbers)}: expected a one-dimensional array of real numbers"
    return None


def _weighing(name: str, rule: Newest | Bounded) -> Newest | Bounded:
    """Return a rule of ours that watches a weight by age that is somebody's own function."""

    def staleness(age: int) -> float:
        where = f"its server's staleness of age {age}"
        weight: float = _watched(name, where, rule.staleness, _wrong_weight)(age)
        return weight

    return replace(rule, staleness=staleness)


def _channel(name: str, direction: str, channel: Channel, features: int) -> Channel:
    where = f"its {direction}'s"
    init, kept = _begun(name, where, channel.init, features)

    def sent(returned: Any) -> str | None:
        if not isinstance(returned, tuple) or len(returned) != 2:
            return f"returned {_said(returned)}: expected a part and the memory to keep"
        return _wrong_part(returned[0], features) or kept(returned[1])

    coded: dict[str, Any] = {}
    if channel.encode is not None:
        coded["encode"] = _watched(name, f"{where} encode", channel.encode, _wrong_bytes)
        coded["decode"] = _watched(
            name, f"{where} decode", channel.decode, lambda part: _wrong_arrival(part, features)
        )
    return replace(
        channel, init=init, send=_watched(name, f"{where} send", channel.send, sent), **coded
    )


def _watched(name: str, where: str, function: Any, check: Check) -> Callable[..., Any]:
    """Return the function with its errors naming the method and the place `where` in it."""

    def watched(*arguments: Any) -> Any:
        try:
            returned = function(*arguments)
            wrong = check(returned)
        except Exception as error:  # somebody else's rule may raise anything
            raise RuleError(name, f"{where} raised {in_one_line(error)}") from error
        if wrong is not None:
            raise RuleError(name, f"{where} {_line(wrong)}")
        return returned

    return watched


def _begun(name: str, where: str, init: Any, *sizes: int) -> tuple[Callable[..., Any], Check]:
    """Return a watched `init`, and a check that later states have the form of the first."""
    first = _watched(name, f"{where} init", init, _wrong_state)(*sizes)

    def kept(state: Any) -> str | None:
        if type(state) is not type(first) or len(state) != len(first):
            expected = type(first).__name__ if first else "()"
            return f"returned {_said(state)}: expected {expected}, as init returns"
        for field, here, there in zip(getattr(first, "_fields", ()), first, state, strict=True):
            if _said(there) != _said(here):
                return (
                    f"returned {_said(there)} as {field}: expected {_said(here)}, as init returns"
                )
        return None

    return _watched(name, f"{where} init", init, _wrong_state), kept


def _wrong_state(state: Any) -> str | None:
    is_tuple = isinstance(state, tuple) and (not state or hasattr(state, "_fields"))
    if not is_tuple or not all(isinstance(part, np.ndarray) for part in state):
        return f"returned {_said(state)}: expected a NamedTuple of arrays"
    return None


def _model_check(features: int) -> Check:
    def wrong(w: Any) -> str | None:
        if not _is_list(w, "f") or w.size != features:
            return f"returned {_said(w)}: expected the model, real numbers of shape ({features},)"
        return None

    return wrong


def _wrong_part(part: Any, features: int) -> str | None:
    if not isinstance(part, Part):
        return f"returned {_said(part)}: expected a Part of coordinates and values"
    coordinates, values = part
    for what, array, kinds, kind in (
        ("coordinates", coordinates, "iu", "whole numbers"),
        ("values", values, "f", "real numbers"),
    ):
        if not _is_list(array, kinds):
            return f"returned {_said(array)} as {what}: expected a one-dimensional array of {kind}"
    if values.size != coordinates.size:
        many = f"{coordinates.size} coordinates" if coordinates.size else "a silent part"
        return f"returned {many} with {values.size} values: expected {coordinates.size}"
    outside = coordinates[(coordinates < 0) | (coordinates >= features)]
    if outside.size:
        return f"returned coordinate {outside[0]}: expected 0 to {features - 1}"
    found, counts = np.unique(coordinates, return_counts=True)
    if (counts > 1).any():
        return f"returned coordinate {found[counts > 1][0]} twice: expected distinct ones"
    return None


def not_as_sent(channel: Channel, sent: Part, arrived: Part) -> str | None:
    """Say what `decode` lost of a part, unless the channel waives the promise not to lose it."""
    if "coordinates known to both" not in channel.waives and not same_coordinates(sent, arrived):
        return (
            f"decode returned coordinates {_few(arrived)}, but those that were sent are "
            f"{_few(sent)}: expected the same ones (check_algorithm takes the size of a model)"
        )
    if "values survive" not in channel.waives and not same_values(sent, arrived):
        return (
            "decode returned other values than were sent, beyond the rounding of float32: expected "
            "the same ones, or a channel that waives 'values survive'"
        )
    return None


def same_coordinates(sent: Part, arrived: Part) -> bool:
    """Whether the coordinates that arrived are those that were sent, in any order."""
    return np.array_equal(np.sort(arrived.coordinates), np.sort(sent.coordinates))


def same_values(sent: Part, arrived: Part) -> bool:
    """Whether every value arrived, rounded to float32 at most; what has no float32 may be lost."""
    there = dict(zip(arrived.coordinates.tolist(), arrived.values.tolist(), strict=True))
    values = np.array([there.get(c, np.nan) for c in sent.coordinates.tolist()])
    near = np.abs(values - sent.values) <= 1e-6 * np.abs(sent.values) + 1e-30
    return bool((near | ~(np.abs(sent.values) < LARGEST)).all())


def _few(part: Part) -> str:
    """Write the first coordinates of a part."""
    return np.array2string(part.coordinates, threshold=8, edgeitems=4, separator=", ")


def _wrong_arrival(part: Any, features: int) -> str | None:
    """Say what is wrong with a decoded part; silence is wrong too, since it is never encoded."""
    wrong = _wrong_part(part, features)
    if wrong is None and not part.coordinates.size:
        return "returned a silent part: expected what was sent"
    return wrong


def _wrong_bytes(payload: Any) -> str | None:
    if not _is_list(payload, "u") or payload.dtype != np.uint8:
        return f"returned {_said(payload)}: expected a one-dimensional array of uint8"
    return None


def _wrong_weight(weight: Any) -> str | None:
    if not is_weight(weight):
        return f"returned {weight!r}: expected a weight from 0 to 1"
    return None


def _is_list(value: Any, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in kinds


def _line(text: str) -> str:
    return " ".join(text.split())


def _said(value: Any) -> str:
    """Describe a value in a few words; a NumPy number counts as an array without axes."""
    if isinstance(value, np.ndarray | np.generic):
        return f"an array of {value.dtype} of shape {value.shape}"
    return type(value).__name__
