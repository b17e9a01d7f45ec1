"""Scenario: a fleet and what happens to it, as numbers; read from TOML, checked whole."""

import reprlib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from paofed.core.columns.numbers import Number
from paofed.core.columns.transform import Transform
from paofed.core.features import require_features
from paofed.durations import duration_text, seconds
from paofed.errors import FileError, InputError, ScenarioError
from paofed.toml import toml_of
from paofed.world.availability import Availability, Battery, Bursts, Outages
from paofed.world.delays import LONGEST, Delay, Loss
from paofed.world.faults import AnyFault, Fault, FaultyReadings, column_of
from paofed.world.labels import Labels, SettledLabels
from paofed.world.names import PRESETS, NewcomersKind, StartKind, source_of
from paofed.world.recorded import Recorded
from paofed.world.scenario_text import (
    FOUND_IN_TABLE,
    explained,
    misfit,
    text_of,
    to_toml,
    with_paths,
)
from paofed.world.streams import INPUTS, Stream, Synthetic
from paofed.world.table.door import read
from paofed.world.table.spec import Table
from paofed.world.value import Grouped, Value

Count = Annotated[int, Field(ge=1, lt=2**31)]
_USUAL_OVER_TABLE: Mapping[str, Any] = {
    "test_samples": 500,
    "linear": True,
    "start": "calibration",
    "newcomers": "whole",
    "personal": True,
}
# Keys that are about a scenario's own samples alone: a table in their place has its own.
_OF_A_STREAM = {
    *("name", "ticks", "clients", "kernel_width", "test_samples", "stream"),
    *("linear", "start", "newcomers", "personal", "tick"),
}
LAWS = "ideal"  # whose presence and delays hold over a table where no other scenario is named
UNSAID = ("tick", "contacts", "labels")  # keys that are written only where somebody gave them
_Kind = TypeVar("_Kind", bound=Fault)


class Scenario(Value):
    """Everything about a fleet but its algorithm and the seed."""

    name: Annotated[str, Field(min_length=1)]
    ticks: Count
    clients: Count
    features: Count
    kernel_width: Annotated[float, Field(ge=1e-6, le=1e6)]
    step_size: Annotated[float, Field(gt=0)]  # for algorithms without a step size of their own
    # For algorithms without an age limit of their own.
    max_age: Annotated[int, Field(ge=0, le=LONGEST)]
    test_samples: Count
    # Whether a constant and the inputs themselves are features too; default for tables: True.
    linear: bool = False
    start: StartKind = "zeros"  # the default for tables is calibration
    newcomers: NewcomersKind = "windows"  # the default for tables is whole
    personal: bool = False  # whether a device's linear terms stay its own; default for tables: True
    tick: str | None = None  # length of a tick, as in "1h"; None: the table says it, or nobody does
    # Share of contacts that a device uses; None: all.
    contacts: Annotated[float, Field(gt=0, le=1)] | None = None
    stream: Stream
    availability: Availability
    delay: Delay
    loss: Loss | None = None
    outages: Outages | None = None
    battery: Battery | None = None
    labels: Labels | None = None  # None: every sample has its label at once
    faults: Annotated[tuple[AnyFault, ...], Field(strict=False)] = ()

    def numbered(self, kind: type[_Kind]) -> list[tuple[int, _Kind]]:
        """Return the faults of a kind with their numbers among all faults.

        A fault's number decides which random numbers it draws.
        """
        return [(i, fault) for i, fault in enumerate(self.faults) if isinstance(fault, kind)]

    @property
    def units(self) -> tuple[Transform, ...]:
        """The record of each number that a model sees, the target's last."""
        if isinstance(self.stream, Table):
            return read(self.stream).units
        return (Number(""),) * (INPUTS + 1)

    @property
    def synthetic(self) -> Synthetic:
        """The stream, for callers that need the laws of its data; a table is refused."""
        if isinstance(self.stream, Table):
            raise ScenarioError(
                f"{self.name} takes its samples from a table, whose laws nobody knows: this works "
                f"with the paper's stream only"
            )
        return self.stream

    @property
    def table(self) -> Table:
        """The stream, for callers that need readings of real devices.

        A synthetic stream is refused.
        """
        if not isinstance(self.stream, Table):
            raise ScenarioError(
                f"{self.name} has no table of readings: expected a stream of kind table, or --table"
            )
        return self.stream

    @property
    def tick_seconds(self) -> float | None:
        """How long a tick is in seconds; None where neither the scenario nor its table says it."""
        if self.tick is not None:
            return seconds(self.tick)
        if isinstance(self.stream, Table) and (line := read(self.stream).timeline).calendar:
            return line.tick
        return None

    @property
    def files(self) -> list[Path]:
        """The files that the scenario names: readings, presence, delays."""
        laws = self.stream, self.availability, self.delay
        return [Path(law.file) for law in laws if isinstance(law, Table | Recorded)]

    @model_serializer(mode="wrap")
    def _said(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Dump all values but those of UNSAID that nobody gave."""
        values: dict[str, Any] = dump(self)
        return {key: v for key, v in values.items() if v is not None or key not in UNSAID}

    @model_validator(mode="before")
    @classmethod
    def _take_from_table(cls, values: Any) -> Any:
        """Fill in what a table says itself: ticks, clients, a usual kernel width."""
        stream = values.get("stream") if isinstance(values, dict) else None
        if not isinstance(stream, Table) and not (
            isinstance(stream, dict) and stream.get("kind") == "table"
        ):
            return values
        try:
            found = _found_in(Table.model_validate(stream), width="kernel_width" not in values)
        # Pydantic tells this error with its place when it checks the stream itself.
        except ValidationError:
            return {"ticks": 1, "clients": 1, "kernel_width": 1.0, "test_samples": 1, **values}
        for key in FOUND_IN_TABLE:
            if values.get(key, found[key]) != found[key]:
                misfit(key, f"{key} is {values[key]}, but the table has {found[key]}: leave it out")
        if not found.get("kernel_width", 1.0):
            misfit(
                "stream",
                "most inputs of the calibration period are equal, so the median distance between "
                "them is no kernel width: give `kernel_width`",
            )
        return {**_USUAL_OVER_TABLE, **found, **values}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if isinstance(self.stream, Synthetic):
            self._groups_fit(self.stream)
            self._ticks_fit(self.stream)
            self._needs_no_past()
        elif self.linear:
            self._features_fit(self.stream)
        self._tables_fit()
        self._tick_fits()
        try:
            settled_labels(self)
        except InputError as error:
            misfit(error.key or "labels", str(error))
        for number, fault in enumerate(self.faults):
            self._fault_fits(f"faults.{number}", fault)
        return self

    def _groups_fit(self, stream: Synthetic) -> None:
        groups = {"stream.samples": len(stream.samples)}
        groups |= {name: law.groups for name, law in self if isinstance(law, Grouped | Bursts)}
        for place, count in groups.items():
            if self.clients % count:
                misfit(
                    place,
                    f"{place} has {count} groups, which do not divide {self.clients} clients "
                    f"evenly: repeat entries for groups of other sizes",
                )

    def _ticks_fit(self, stream: Synthetic) -> None:
        if max(stream.samples) > self.ticks:
            misfit(
                "stream.samples",
                f"stream.samples asks for {max(stream.samples)} samples in {self.ticks} "
                f"ticks: a client sees at most one sample per tick, so give fewer samples, or more "
                f"ticks",
            )
        if max(stream.drifts, default=0) >= self.ticks:
            misfit(
                "stream.drifts",
                f"stream.drifts has a drift at tick {max(stream.drifts)}: the last of "
                f"{self.ticks} ticks is {self.ticks - 1}",
            )
        for one, other in pairwise(stream.drifts):
            if one + stream.drift_ticks > other:
                misfit(
                    "stream.drift_ticks",
                    f"stream.drift_ticks is {stream.drift_ticks}, so the drift at tick {one} is "
                    f"not over when the next begins, at tick {other}: expected at most "
                    f"{other - one}",
                )

    def _needs_no_past(self) -> None:
        without = "but a synthetic stream has no calibration period: expected"
        if self.linear:
            misfit("linear", f"linear is true, {without} false, or a table")
        if self.personal:
            misfit("personal", f"personal is true, {without} false, or a table")
        if self.start == "calibration":
            misfit("start", f"start is 'calibration', {without} 'zeros', or a table")

    def _features_fit(self, table: Table) -> None:
        try:
            require_features(self.features, read(table).ranges)
        except InputError as error:
            misfit("features", str(error))

    def _tables_fit(self) -> None:
        for place, law in (("availability.file", self.availability), ("delay.file", self.delay)):
            if isinstance(law, Recorded):
                try:
                    law.table(self.ticks, self.clients)
                except FileError as error:
                    misfit(place, f"{place}: {error}")

    def _tick_fits(self) -> None:
        if self.tick is None:
            return
        if seconds(self.tick) is None:
            misfit(
                "tick",
                f"tick is {self.tick!r}: expected a length such as 15min, 1h or 1d "
                f"(ms, s, min, h, d, w)",
            )
        line = read(self.stream).timeline if isinstance(self.stream, Table) else None
        if line is not None and line.calendar and seconds(self.tick) != line.tick:
            found = duration_text(line.tick)
            misfit("tick", f"tick is {self.tick}, but the table's is {found}: leave it out")

    def _fault_fits(self, place: str, fault: Fault) -> None:
        if fault.start >= self.ticks:
            misfit(
                f"{place}.start",
                f"{place}.start is {fault.start}: the last of {self.ticks} ticks is "
                f"{self.ticks - 1}",
            )
        listed = fault.clients if isinstance(fault.clients, tuple) else ()
        if fault.how_many(self.clients) > self.clients or max(listed, default=0) >= self.clients:
            misfit(
                f"{place}.clients",
                f"{place}.clients is {list(listed) or fault.clients}, but there are "
                f"{self.clients} clients, 0 to {self.clients - 1}",
            )
        if isinstance(fault, FaultyReadings):
            try:
                column_of(fault.what, self.units)
            except ValueError as error:
                misfit(f"{place}.what", f"{place}.what is {fault.what!r}: {error}")

    @classmethod
    def load(cls, name: str | Path) -> Self:
        """Read a preset by name or a TOML file by path.

        Every error names the place of the mistake.
        """
        path = source_of(name)
        return cls.parse(text_of(path), str(name), folder=path.parent)

    @classmethod
    def parse(cls, text: str, origin: str, folder: Path | None = None) -> Self:
        """Check the text of a scenario; `origin` names it in errors, `folder` holds its tables."""
        try:
            values = toml_of(text)
        except InputError as error:
            raise ScenarioError(f"{origin}: {error}") from None
        return cls.made(with_paths(values, folder or Path()), origin, text)

    @classmethod
    def made(cls, values: Mapping[str, Any], origin: str, text: str = "") -> Self:
        """Check values; an error names their `origin`, and the place of the mistake in `text`."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise explained(error, cls, text, origin) from None

    @classmethod
    def of_table(
        cls,
        file: str | Path,
        stream: Mapping[str, Any],
        laws: "Scenario | str | Path" = LAWS,
        **values: Any,
    ) -> Self:
        """Make the scenario of a fleet whose readings are a table, as `paofed run --table` does.

        `file` is a CSV file, say. `stream` says how it is read, with the keys of [stream] in a
        scenario's file: `time`, `target` and `inputs`, `device` or `wide`, perhaps `calibration`
        and others. `laws` is the scenario whose presence, delays, losses and faults hold; without
        one, everybody is always there and nothing is late. `values` are other keys of a scenario,
        such as `features`.
        """
        path, held = Path(file), scenario_of(laws).model_dump(exclude=_OF_A_STREAM)
        read_from = {**stream, "kind": "table", "file": str(path.resolve())}
        name = path.name.partition(".")[0] or "table"
        return cls.made({"name": name, "stream": read_from, **held, **values}, "")

    def replace(self, **changes: Any) -> Self:
        """Return the scenario with other values, checked whole as those of a file are.

        A name with a dot changes one value of a law, and leaves its other values as they are. What
        a table of readings says itself is read from the table again if the stream is changed.

        >>> Scenario.load("ideal").replace(clients=8, **{"loss.up": 0.1}).loss
        Loss(up=0.1, down=0.0)
        >>> Scenario.load("ideal").replace(ticks=200)
        Traceback (most recent call last):
        paofed.errors.ScenarioError: stream.samples asks for 2000 samples in 200 ticks: ...
        """
        values = self.model_dump()
        if isinstance(self.stream, Table) and any(key.split(".")[0] == "stream" for key in changes):
            usual = self.kernel_width == read(self.stream).kernel_width
            for key in (*FOUND_IN_TABLE, *(["kernel_width"] if usual else [])):
                del values[key]
        for key, value in changes.items():
            *path, last = key.split(".")
            place = values
            for step in path:
                law = place.get(step) or {}
                if not isinstance(law, dict):
                    raise ScenarioError(
                        f"{key} is no key: {step} is {law!r}, which has no keys", key=key
                    )
                place[step] = dict(law)
                place = place[step]
            place[last] = value
        return self.made(values, "")

    def to_toml(self) -> str:
        """Write every value, defaults included, as a file that `load` reads back."""
        return to_toml(self.model_dump())


def settled_labels(scenario: Scenario) -> SettledLabels | None:
    """Return the law of labels as it is drawn over a fleet; None without such a law."""
    if scenario.labels is None:
        return None
    stream = scenario.stream
    table = (stream, read(stream)) if isinstance(stream, Table) else None
    return scenario.labels.settled(scenario.clients, scenario.tick_seconds, table)


def scenario_of(given: Scenario | str | Path) -> Scenario:
    """Return the scenario that people give: made, by a preset's name, or by a file's path."""
    if isinstance(given, str | Path):
        return Scenario.load(given)
    if not isinstance(given, Scenario):
        raise ScenarioError(
            f"{reprlib.repr(given)} is no scenario: expected a Scenario, the name of a preset "
            f"({', '.join(PRESETS)}) or the path of a file"
        )
    return given


def _found_in(table: Table, *, width: bool) -> dict[str, Any]:
    try:
        readings = read(table)
    except InputError as error:
        misfit(f"stream.{error.key}" if error.key else "stream", str(error))
    found = {"ticks": readings.ticks, "clients": len(readings.devices)}
    return {**found, "kernel_width": readings.kernel_width} if width else found
