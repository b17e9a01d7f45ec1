"""Rules of one's own beside built-in rules: time per update, and how soon they start.

Of like work: each rule of OWN is one of the paper's rules, written as anybody would write it, so
that both do the same. Of other work: fed-ridge, which adds up few features where PAO-Fed learns
many.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from lab.benchmarks.speed import ROUNDS
from paofed.algorithms import Algorithm, algorithm
from paofed.core.parts import Channel, Learner, Part, ServerRule, Weights
from paofed.core.selection import Windows
from paofed.simulate.engines import Precision, engine_of
from paofed.simulate.montecarlo import run
from paofed.world.scenario import Scenario

_Way = TypeVar("_Way")
_BUILT_IN = algorithm("pao-fed-u1")
_AHEAD = Windows(4, coordinated=False, ahead=1)


def _learn(state: Weights, z: Any, y: float, mu: float, tick: int) -> Weights:  # noqa: ARG001
    return Weights(state.w + mu * (y - state.w @ z) * z)


def _send(w: Any, memory: tuple[()], stamp: Any) -> tuple[Part, tuple[()]]:
    coordinates = _AHEAD.at(stamp)
    return Part(coordinates, w[coordinates]), memory


def _apply(state: Weights, messages: Any, stamp: Any) -> Weights:
    """Apply all messages of a tick, whatever their age: as much work as the newest alone."""
    w = state.w.copy()
    for message in messages:
        for j, coordinate in enumerate(message.coordinates):
            w[coordinate] += (message.values[j] - state.w[coordinate]) / len(messages)
    return Weights(w) if stamp.tick >= 0 else state


OWN = {
    "learner": replace(_BUILT_IN, name="own learner", learner=Learner(learn=_learn)),
    "channel": replace(_BUILT_IN, name="own channel", uplink=Channel(send=_send)),
    "server": replace(_BUILT_IN, name="own server", server=ServerRule(apply=_apply)),
    "all three": replace(
        _BUILT_IN,
        name="own all",
        learner=Learner(learn=_learn),
        uplink=Channel(send=_send),
        server=ServerRule(apply=_apply),
    ),
}


class SideBySide(NamedTuple):
    """One method with a rule of its own, beside pao-fed-u1 in the same rounds."""

    what: str
    nanoseconds: float  # of processor time per client update, median of the rounds
    times_float32: float  # relative to the built-in method in its usual precision
    # Relative to the built-in method in float64, the precision of rules of one's own.
    times_float64: float
    first_start: float  # seconds until a method that was never compiled can run
    later_start: float  # seconds until it can run in another process, from disk


def beside(say: Callable[[str], None]) -> list[SideBySide]:
    """Measure runs of Setting I on one thread, in turns, and starts in fresh processes."""
    setting = Scenario.load("setting-1")
    ways: dict[str, tuple[Algorithm, Precision]] = {
        "float32": (_BUILT_IN, "float32"),
        "float64": (_BUILT_IN, "float64"),
        **{what: (method, "float32") for what, method in OWN.items()},
    }
    usual = _in_turns(
        "rules of one's own",
        {what: partial(_seconds, setting, *way) for what, way in ways.items()},
        say,
    )
    starts = {what: _starts(what, say) for what in OWN}
    return [
        SideBySide(
            what,
            1e9 * usual[what] / _updates(setting),
            usual[what] / usual["float32"],
            usual[what] / usual["float64"],
            *starts[what],
        )
        for what in OWN
    ]


class SumsBeside(NamedTuple):
    """A method over so many features, beside pao-fed-u1 over the paper's in the same rounds."""

    method: str
    features: int
    nanoseconds: float  # of processor time per client update, median of the rounds
    times: float  # relative to pao-fed-u1


# fed-ridge over a map of the size that it is for, and summing 40 features of the paper's map.
SUMS = (("pao-fed-u1", 200), ("fed-ridge", 40), ("fed-ridge", 200))


def sums_beside_models(say: Callable[[str], None]) -> list[SumsBeside]:
    """Measure runs of Setting I with maps of these sizes on one thread, in turns."""
    setting = Scenario.load("setting-1")
    ways = {
        (name, features): partial(
            _seconds, setting.model_copy(update={"features": features}), algorithm(name), "float32"
        )
        for name, features in SUMS
    }
    usual = _in_turns("sums beside models", ways, say)
    return [
        SumsBeside(*way, 1e9 * usual[way] / _updates(setting), usual[way] / usual[SUMS[0]])
        for way in SUMS
    ]


def _in_turns(
    what: str, ways: Mapping[_Way, Callable[[], float]], say: Callable[[str], None]
) -> dict[_Way, float]:
    """Return the median seconds of each way; a first turn, which may compile, does not count."""
    say(f"{what}: compiling or loading")
    for way in ways.values():
        way()
    found: dict[_Way, list[float]] = {key: [] for key in ways}
    for number in range(ROUNDS):
        say(f"{what}, round {number + 1} of {ROUNDS}")
        for key, way in ways.items():
            found[key].append(way())
    return {key: statistics.median(seconds) for key, seconds in found.items()}


def _updates(setting: Scenario) -> int:
    """Return the client updates of a run."""
    return int(setting.synthetic.samples_of(setting.clients).sum())


def _seconds(setting: Scenario, method: Algorithm, precision: Precision) -> float:
    """Return the processor's time for a run, to which waiting for other programs adds nothing."""
    begin = time.process_time()
    run(setting, method, workers=1, precision=precision)
    return time.process_time() - begin


def _starts(what: str, say: Callable[[str], None]) -> tuple[float, float]:
    """Return the seconds until a method runs in two new processes: compiled, then from disk."""
    say(f"starting with one's own {what}")
    with tempfile.TemporaryDirectory() as folder:
        # The package's own kernels are not compiled again: that happens once on a machine.
        kept = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
        command = [sys.executable, "-m", "lab.benchmarks.own", what]
        first, later = (
            json.loads(
                subprocess.run(  # noqa: S603 (our own program)
                    command,
                    env={**kept, "XDG_CACHE_HOME": folder},
                    capture_output=True,
                    check=True,
                ).stdout
            )
            for _ in range(2)
        )
    return first, later


if __name__ == "__main__":
    fast = engine_of("fast")
    begin = time.perf_counter()
    refused = fast.refuses(OWN[sys.argv[1]])
    print(json.dumps(time.perf_counter() - begin if refused is None else None))  # noqa: T201
