"""The engines' door: every engine by its name, and what it says of an algorithm.

An engine is three functions. `refuses` says in words why the engine cannot run an algorithm, or
returns None. `run` runs algorithms over many runs of a scenario, spread over cores in the engine's
own way. `replay` runs one algorithm over a trace. All other modules ask here and name no engine, so
a new engine is one entry of `ENGINES` and a module with an `ENGINE`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol

from paofed.algorithms import Algorithm
from paofed.errors import InputError, needs_extra, unknown
from paofed.simulate.results.outcome import Outcome, RunRecord
from paofed.simulate.stopping import Report
from paofed.world.trace import Trace

if TYPE_CHECKING:  # a replay needs NumPy alone, scenarios need more
    from paofed.simulate.engines.task import Task
    from paofed.world.worlds import Setting


class Replay(Protocol):
    """Run an algorithm over a trace in float64; without settings of its own, it has REPLAYED's."""

    def __call__(
        self,
        trace: Trace,
        method: str | Algorithm,
        *,
        seed: int = 0,
    ) -> Outcome:
        """Return the outcome; `seed` is for algorithms that draw random numbers of their own."""
        ...


@dataclass(frozen=True)
class Engine:
    """One way to run algorithms."""

    refuses: Callable[[Algorithm], str | None]
    run: Callable[["Task", Report], Iterator[tuple[int, RunRecord]]]
    replay: Replay
    # How long one algorithm and run take, relative to the usual engine: for honest progress.
    cost: float
    # Models are in a card's memory, and a refusal ends the work instead of passing it on.
    on_card: bool = False
    # Says in words why no algorithm at all can run in a setting on this engine, or None.
    refuses_setting: Callable[["Setting"], str | None] = lambda _: None
    # A context manager; while inside, the engine calls the function given if it must prepare
    # something that takes long.
    announced: Callable[[Callable[[str], None]], AbstractContextManager[object]] = nullcontext


# Modules are imported when asked for, since the compiled engine needs more than NumPy. The first
# engine is the usual one; the last one refuses nothing.
ENGINES: Mapping[str, str] = {
    "fast": "paofed.simulate.engines.fast.engine",
    "gpu": "paofed.simulate.engines.gpu.engine",
    "reference": "paofed.simulate.engines.reference_engine",
}
USUAL, *_, LAST = ENGINES
Precision = Literal["float32", "float64"]  # of the models in compiled engines


def preferred(engines: str) -> list[str]:
    """Return the names in a choice of engines, of which the first that can takes an algorithm.

    >>> preferred("gpu,fast")
    ['gpu', 'fast']
    """
    if not isinstance(engines, str):
        raise InputError(
            f"engine is {engines!r}: expected a name, as in {USUAL!r} or 'gpu,{USUAL}'",
            key="engine",
        )
    names = [name.strip() for name in engines.split(",")]
    for name in names:
        if name not in ENGINES:
            raise InputError(unknown("engine", name, ENGINES), key="engine")
    return names


def announced(engines: str, say: Callable[[str], None]) -> AbstractContextManager[object]:
    """While inside, each engine of a choice says so if it must prepare something long."""
    with ExitStack() as stack:
        for name in preferred(engines):
            stack.enter_context(engine_of(name).announced(say))
        return stack.pop_all()


def engine_of(name: str) -> Engine:
    """Return an engine by its name."""
    if name not in ENGINES:
        raise InputError(unknown("engine", name, ENGINES))
    with needs_extra(f"the {name} engine"):
        engine: Engine = import_module(ENGINES[name]).ENGINE
    return engine
