"""Run algorithms over worlds."""

from importlib import import_module
from typing import Protocol

from paofed.algorithms import Algorithm
from paofed.errors import needs_extra
from paofed.simulate.result import Outcome
from paofed.world.trace import Trace

# Each is a module of this package with the same `replay`; imported when asked for, since the
# compiled one needs more than NumPy.
ENGINES = ("reference", "fast")


class Replay(Protocol):
    """Run an algorithm over a trace in float64."""

    def __call__(
        self, trace: Trace, method: str | Algorithm, *, step_size: float = 0.4, max_age: int = 10
    ) -> Outcome:
        """Return the outcome."""
        ...


def replay_on(engine: str) -> Replay:
    """Return the `replay` of an engine, by name."""
    with needs_extra(f"the {engine} engine"):
        replay: Replay = import_module(f"paofed.simulate.{engine}").replay
    return replay
