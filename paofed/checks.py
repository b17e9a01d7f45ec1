"""The contract of an algorithm as named checks: for the registry, and for anyone's own.

    from paofed import check_algorithm
    check_algorithm(my_algorithm)       # raises ContractError, naming the check that failed

Each check is deterministic. A new engine joins `engines agree` by being listed in
`paofed.simulate.engines.ENGINES`.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import permutations

import numpy as np

from paofed.algorithms import Algorithm
from paofed.algorithms.spec import resolve
from paofed.core.arrays import FloatArray
from paofed.core.features import draw_map
from paofed.core.random import key_of
from paofed.core.rules import Message
from paofed.core.selection import Windows, pick
from paofed.errors import ContractError, PaofedError
from paofed.simulate.engines import ENGINES, engine_of, reference
from paofed.world.trace import Trace

_CLIENTS, _TICKS, _AGES = 5, 40, 4


def check_algorithm(method: str | Algorithm) -> None:
    """Hold an algorithm to every check in CHECKS."""
    for name in CHECKS:
        check_one(name, method)


def check_one(name: str, method: str | Algorithm) -> None:
    """Hold an algorithm to one check, by its name in CHECKS."""
    alg, check = resolve(method), CHECKS[name]
    try:
        complaint = check(alg)
    except PaofedError:
        raise
    except Exception as error:  # of the algorithm's own functions
        complaint = f"it raised {type(error).__name__}: {error}"
        raise ContractError(f"{alg.name} fails the check {name!r}: {complaint}") from error
    if complaint:
        raise ContractError(f"{alg.name} fails the check {name!r}: {complaint}")


def _windows_are_windows(alg: Algorithm) -> str | None:
    features = _features(alg)
    for client, tick in np.ndindex(_CLIENTS, _TICKS):
        for direction, schedule in (("downlink", alg.downlink), ("uplink", alg.uplink)):
            coordinates = schedule(client, tick, features)
            valid = (coordinates >= 0) & (coordinates < features)
            if not valid.all() or np.unique(coordinates).size != coordinates.size:
                return (
                    f"the {direction} of client {client} at tick {tick} is {coordinates.tolist()}: "
                    f"expected distinct coordinates from 0 to {features - 1}"
                )
    return None


def _weights_are_weights(alg: Algorithm) -> str | None:
    for age in range(200):
        if not 0.0 <= (weight := alg.staleness(age)) <= 1.0:
            return f"age {age} weighs {weight}: expected a weight from 0 to 1"
    return None


def _arguments_left_alone(alg: Algorithm) -> str | None:
    for w, messages, tick in _arrivals(alg):
        before = w.copy(), [m.values.copy() for m in messages]
        alg.aggregate(w, messages, tick, alg.staleness, alg.divisor)
        same = [np.array_equal(m.values, v) for m, v in zip(messages, before[1], strict=True)]
        if not np.array_equal(w, before[0]) or not all(same):
            return "aggregate changes what it was given: work on a copy"
        z = np.linspace(-0.1, 0.1, w.size)
        given = w.copy(), z.copy()
        learned = alg.learn(w, z, 1.0, 0.4)
        if not (np.array_equal(w, given[0]) and np.array_equal(z, given[1])):
            return "learn changes what it was given: work on a copy"
        if not np.isfinite(learned).all():
            return "learn makes a model that is not finite from one that is"
    return None


def _fixed_point(alg: Algorithm) -> str | None:
    for w, messages, tick in _arrivals(alg):
        agreeing = [m._replace(values=w[m.coordinates]) for m in messages]
        if not np.array_equal(w, _server(alg, w, agreeing, tick)):
            return "all models are equal, and yet the server's moved"
    return None


def _convex_hull(alg: Algorithm) -> str | None:
    for w, messages, tick in _arrivals(alg):
        low, high = w.copy(), w.copy()
        for m in messages:
            np.minimum.at(low, m.coordinates, m.values)
            np.maximum.at(high, m.coordinates, m.values)
        rounding = 1e-12 * (np.abs(low) + np.abs(high))
        w_next = _server(alg, w, messages, tick)
        if ((w_next < low - rounding) | (w_next > high + rounding)).any():
            return "the new value leaves the interval between the old one and those received"
    return None


def _untouched(alg: Algorithm) -> str | None:
    for w, messages, tick in _arrivals(alg):
        few = messages[:2]
        touched = np.zeros(w.size, dtype=bool)
        for m in few:
            touched[m.coordinates] = True
        if not np.array_equal(w[~touched], _server(alg, w, few, tick)[~touched]):
            return "a coordinate that no message holds has changed"
    return None


def _order_independence(alg: Algorithm) -> str | None:
    for w, messages, tick in _arrivals(alg):
        first = _server(alg, w, messages, tick)
        for order in permutations(messages[:4]):
            if not np.array_equal(first, _server(alg, w, [*order, *messages[4:]], tick)):
                return "the order of arrival changes the result"
    return None


def _nothing_in_nothing_out(alg: Algorithm) -> str | None:
    for w, _, tick in _arrivals(alg):
        if not np.array_equal(w, _server(alg, w, [], tick)):
            return "no message arrived, and yet the server's model moved"
    silent = reference.replay(_trace(alg, available=0.0), alg)
    if silent.server_model.any() or silent.sent_up or silent.sent_down:
        return "nobody was ever available, and yet something was learned or sent"
    return None


def _coordinates_counted(alg: Algorithm) -> str | None:
    trace = _trace(alg)
    up = down = 0
    for n in range(_TICKS):
        for k in np.flatnonzero(pick(trace.available[n], trace.lottery[n], alg.subset)).tolist():
            up += alg.uplink(k, n, trace.features).size
            down += alg.downlink(k, n, trace.features).size
    for name in _engines(alg):
        outcome = engine_of(name).replay(trace, alg)
        if (outcome.sent_up, outcome.sent_down) != (up, down):
            got = f"{outcome.sent_up} up and {outcome.sent_down} down"
            return f"the {name} engine counts {got}: expected {up} up and {down} down"
    return None


def _engines_agree(alg: Algorithm) -> str | None:
    trace = _trace(alg)
    expected = reference.replay(trace, alg)
    # The reference runs a second time too: hidden state in an algorithm's functions shows here.
    for name in _engines(alg):
        outcome = engine_of(name).replay(trace, alg)
        apart = np.flatnonzero(~np.isclose(outcome.mse, expected.mse, rtol=1e-9, atol=1e-9))
        if apart.size:
            return f"the {name} engine leaves the reference at tick {apart[0]}"
        if not np.allclose(outcome.server_model, expected.server_model, rtol=1e-9, atol=1e-9):
            return f"the {name} engine ends in another model than the reference"
    return None


CHECKS: Mapping[str, Callable[[Algorithm], str | None]] = {
    "windows are windows": _windows_are_windows,
    "weights are weights": _weights_are_weights,
    "arguments left alone": _arguments_left_alone,
    "fixed point": _fixed_point,
    "convex hull": _convex_hull,
    "untouched coordinates": _untouched,
    "order independence": _order_independence,
    "nothing in, nothing out": _nothing_in_nothing_out,
    "coordinates counted": _coordinates_counted,
    "engines agree": _engines_agree,
}


def _features(alg: Algorithm) -> int:
    """A model with room for two windows, so that there are coordinates nobody holds."""
    widths = [s.width or 0 for s in (alg.downlink, alg.uplink) if isinstance(s, Windows)]
    return max(48, *(2 * width for width in widths), 0)


def _engines(alg: Algorithm) -> list[str]:
    """The engines that can run this algorithm."""
    return [name for name in ENGINES if engine_of(name).refuses(alg) is None]


def _server(alg: Algorithm, w: FloatArray, messages: list[Message], tick: int) -> FloatArray:
    return alg.aggregate(w.copy(), messages, tick, alg.staleness, alg.divisor)


def _arrivals(alg: Algorithm) -> Iterator[tuple[FloatArray, list[Message], int]]:
    """Yield a server's model and messages of several clients and ages arriving at one tick."""
    features = _features(alg)
    rng = np.random.default_rng(2110_06556)
    for tick in range(_AGES, _AGES + 12):
        w = rng.normal(size=features)
        messages = []
        for client, age in np.ndindex(_CLIENTS, _AGES):
            if rng.random() < 0.5:
                coordinates = alg.uplink(client, tick - age, features)
                values = rng.normal(size=coordinates.size)
                messages.append(Message(client, tick - age, coordinates, values))
        yield w, messages, tick


def _trace(alg: Algorithm, available: float = 0.5) -> Trace:
    """A small nature with gaps, delays around the default age limit, and a learnable target."""
    rng = np.random.default_rng(2021)
    inputs, tests = 2, 20
    x = rng.normal(size=(_TICKS, _CLIENTS, inputs))
    x_test = rng.normal(size=(tests, inputs))
    has_data = rng.random((_TICKS, _CLIENTS)) < 0.8
    fourier_map = draw_map(key_of(2021), inputs=inputs, features=_features(alg), width=1.0)
    return Trace(
        x=x,
        y=np.sin(x[..., 0]) * x[..., 1],
        has_data=has_data,
        available=has_data & (rng.random((_TICKS, _CLIENTS)) < available),
        delay=rng.integers(0, 13, size=(_TICKS, _CLIENTS)),
        lottery=rng.random((_TICKS, _CLIENTS)),
        frequencies=fourier_map.frequencies,
        phases=fourier_map.phases,
        x_test=x_test,
        y_test=np.sin(x_test[:, 0]) * x_test[:, 1],
    )
