"""Which engine runs which algorithm: the first that can of those that were asked for."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from paofed.algorithms import Algorithm
from paofed.algorithms.outside import split
from paofed.errors import AlgorithmError
from paofed.simulate.engines import ENGINES, LAST, USUAL, engine_of, preferred
from paofed.simulate.engines.task import Task
from paofed.world.worlds import Setting


class Assignment(NamedTuple):
    """Algorithms over one setting, each on the engine that runs it."""

    names: list[str]  # the names of the algorithms
    engines: list[str]  # the engine of each algorithm
    refused: dict[str, str]  # by algorithm: why the engine that was asked for refused it
    tasks: dict[str, Task]  # the task of each engine

    def which(self, engine: str) -> list[int]:
        """Return the indices of the algorithms that an engine runs, in the order of its task."""
        return [number for number, name in enumerate(self.engines) if name == engine]


def assign_engines(
    setting: Setting, methods: Sequence[Algorithm], engine: str, task_of: Callable[..., Task]
) -> Assignment:
    """Give every algorithm an engine; `task_of` makes the task of a setting and its algorithms."""
    engines: list[str] = []
    refused: dict[str, str] = {}
    for method in methods:
        taken, reason = _taken(setting, method, preferred(engine))
        engines.append(taken)
        refused |= {method.name: reason} if reason else {}
    # In the order of ENGINES, the slow engine last: an interrupt keeps the runs that all engines
    # have finished.
    of_engine: dict[str, list[Algorithm]] = {name: [] for name in ENGINES if name in engines}
    for method, name in zip(methods, engines, strict=True):
        of_engine[name].append(method)
    tasks = {name: task_of(setting, own) for name, own in of_engine.items()}
    return Assignment([method.name for method in methods], engines, refused, tasks)


def _taken(setting: Setting, method: Algorithm, engines: Sequence[str]) -> tuple[str, str | None]:
    """Choose an engine for an algorithm; say why not the first of them, where that is so."""
    why = None
    for name in engines:
        engine = engine_of(name)
        reason = engine.refuses(method) or engine.refuses_setting(setting)
        if reason is None:
            return name, why
        why = why or reason
    if engine_of(engines[-1]).on_card:  # whoever asks for a card alone does not want to wait
        raise AlgorithmError(
            f"{method.name}: {why}; or use the {USUAL} engine, or {engines[-1]},{USUAL} to have it "
            f"take what the card cannot"
        )
    return LAST, why


def remarks(setting: Setting, methods: Sequence[Algorithm], work: Assignment) -> Iterator[str]:
    """Yield what people should know before they wait: slow engines, servers that forget.

    Algorithms are named without their options, so that dozens of candidates say the same.
    """
    for method, engine in zip(methods, work.engines, strict=True):
        name, _ = split(method.name)
        if reason := work.refused.get(method.name):
            yield f"the {engine} engine takes {name}: {reason}"
        if forgets := method.forgets(setting.max_age):
            yield f"{name} {forgets}"


def cost_of(engine: str, task: Task) -> float:
    """Return how long a task takes, in units of the usual engine, for honest progress."""
    return engine_of(engine).cost * len(task.methods)
