"""Worlds of one's own: a function (world, run) -> Trace in the place of a scenario."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from paofed.core.random import philox
from paofed.errors import PaofedError, ScenarioError, TraceError, about, in_one_line, whole
from paofed.memory import require_memory
from paofed.world.delays import LONGEST
from paofed.world.realize import Purpose, realize, run_key, world_key
from paofed.world.scenario import Scenario, scenario_of
from paofed.world.trace import Trace
from paofed.world.value import threshold

MakesTrace: TypeAlias = Callable[[int, int], Trace]  # takes a world and a run in that world


@dataclass(frozen=True, eq=False)
class Worlds:
    """Anybody's nature: a `name`, and a function that always makes one `trace` of a world and run.

    `step_size` and `max_age` are for algorithms without their own. `about` holds numbers and words
    that results keep, so that one can tell later what was run.
    """

    name: str
    trace: MakesTrace
    _: KW_ONLY
    step_size: float = 0.4
    max_age: int = 10
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.name and type(self.name) is str):
            raise ScenarioError(f"name of worlds is {self.name!r}: expected a word", key="name")
        if not callable(self.trace):
            self._refuse("trace", self.trace, "a function (world, run) -> Trace")
        step, is_number = self.step_size, isinstance(self.step_size, int | float)
        if not is_number or isinstance(step, bool) or not (math.isfinite(step) and step > 0):
            self._refuse("step_size", step, "a finite number above 0")
        with about("max_age"):
            limit = whole(f"{self.name}: max_age", self.max_age, least=0)
        if limit > LONGEST:
            self._refuse("max_age", self.max_age, f"at most {LONGEST:,} ticks")
        try:
            kept = json.loads(json.dumps(dict(self.about), default=_of_numpy, allow_nan=False))
        except (TypeError, ValueError):
            self._refuse("about", self.about, "names with finite numbers, words and lists of these")
        object.__setattr__(self, "about", kept)

    def _refuse(self, key: str, got: object, expected: str) -> NoReturn:
        raise ScenarioError(f"{self.name}: {key} is {got!r}: expected {expected}", key=key)

    def sized(self) -> "SizedWorlds":
        """Make the first trace, and take from it the sizes that all other traces must have."""
        first = self.made(0, 0)
        return SizedWorlds(
            worlds=self,
            name=self.name,
            **_sizes(first),
            step_size=self.step_size,
            max_age=self.max_age,
            trace_bytes=sum(getattr(first, array.name).nbytes for array in fields(first)),
        )

    def made(self, world: int, run: int) -> Trace:
        """Call the function for one run; whatever it does wrong becomes an error of one line."""
        place = f"{self.name}, world {world}, run {run}"
        try:
            trace = self.trace(world, run)
        except PaofedError as error:
            raise TraceError(f"{place}: {error}") from error
        except Exception as error:  # somebody else's code may raise anything
            raise TraceError(f"{place}: its function raised {in_one_line(error)}") from error
        if not isinstance(trace, Trace):
            got = type(trace).__name__
            raise TraceError(f"{place}: its function returned {got}: expected a Trace")
        return trace


class FromFunction(NamedTuple):
    """Stands for a scenario's stream: says that a function makes the samples."""

    function: str
    drifts: tuple[int, ...]
    kind: str = "function"


@dataclass(frozen=True, eq=False, kw_only=True)
class SizedWorlds:
    """Worlds as engines see them: with the attributes of a scenario that engines read."""

    worlds: Worlds
    name: str
    ticks: int
    clients: int
    features: int
    drifts: tuple[int, ...]
    step_size: float
    max_age: int
    trace_bytes: int
    contacts: float | None = None  # the share of contacts that a device uses; None: all

    @property
    def tick_seconds(self) -> None:
        """How long a tick is: nobody knows of a function."""
        return None

    @property
    def stream(self) -> FromFunction:
        """Says where samples come from: a function."""
        return FromFunction(_called(self.worlds.trace), self.drifts)

    @property
    def table(self) -> NoReturn:
        """A function has no table of readings: raises ScenarioError."""
        raise ScenarioError(f"{self.name} has no table of readings: a function makes its traces")

    def trace(self, world: int, run: int) -> Trace:
        """Make one trace, and refuse it if its sizes differ from those of the first trace."""
        trace = self.worlds.made(world, run)
        for what, here in _sizes(trace).items():
            if here != (first := getattr(self, what)):
                raise TraceError(
                    f"{self.name}, world {world}, run {run}: {what} is {here}, and in world 0, "
                    f"run 0 it is {first}: expected the same in all runs"
                )
        return trace if self.contacts is None else _with_fewer_contacts(trace, self, world, run)

    def model_copy(self, *, update: Mapping[str, Any]) -> "SizedWorlds":
        """Return the same worlds with other values, as a scenario does; wrong ones are refused."""
        own = {one.name for one in fields(Worlds)}
        worlds = replace(self.worlds, **{key: v for key, v in update.items() if key in own})
        share = update.get("contacts", 1.0)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise ScenarioError(
                f"{self.name}: contacts is {share!r}: expected a share above 0, at most 1",
                key="contacts",
            )
        return replace(self, worlds=worlds, **update)

    def model_dump(self) -> dict[str, Any]:
        """Return what was run as plain values, as a scenario does."""
        kept = ("name", "ticks", "clients", "features", "step_size", "max_age")
        return {
            **{key: getattr(self, key) for key in kept},
            **({} if self.contacts is None else {"contacts": self.contacts}),
            "kind": "worlds",
            "stream": self.stream._asdict(),
            "about": self.worlds.about,
        }


Setting: TypeAlias = Scenario | SizedWorlds  # what algorithms are run over


def setting_of(given: Setting | Worlds | MakesTrace | str | Path) -> Setting:
    """Return the setting that people give: worlds, or a scenario as `scenario_of` takes it."""
    if isinstance(given, SizedWorlds):
        return given
    if isinstance(given, Worlds):
        return given.sized()
    if callable(given):
        return Worlds(_called(given), given).sized()
    return scenario_of(given)


def trace_of(setting: Setting, world: int, run: int, *, seed: int) -> Trace:
    """Make the trace of one run; `seed` is ignored for worlds, whose function knows its own."""
    if isinstance(setting, SizedWorlds):
        return setting.trace(world, run)
    return realize(setting, world, run, seed=seed)


def require_room(setting: Setting, traces: int) -> None:
    """Refuse more traces at a time than this machine can hold."""
    if isinstance(setting, SizedWorlds):
        what = f"{setting.name}, {traces} traces at a time,"
        require_memory(traces * setting.trace_bytes, what, "ask for fewer workers")


def _with_fewer_contacts(trace: Trace, worlds: SizedWorlds, world: int, run: int) -> Trace:
    """Leave contacts out by chance, as a scenario with a share of contacts does."""
    key, n = run_key(world_key(0, world), run), np.arange(trace.ticks)[:, None]
    *_, use = philox(key, np.arange(trace.clients), n, 0, Purpose.CONTACT)
    return replace(trace, available=trace.available & (use < threshold(worlds.contacts or 1.0)))


def _sizes(trace: Trace) -> dict[str, Any]:
    sizes = {key: getattr(trace, key) for key in ("ticks", "clients", "features")}
    return {**sizes, "drifts": tuple(trace.drifts.tolist())}


def _called(function: MakesTrace) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


def _of_numpy(value: object) -> object:
    """Turn NumPy's numbers and arrays into Python's, for JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError
