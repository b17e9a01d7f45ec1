"""Scenario: a fleet and what happens to it, as numbers; read from TOML, checked whole."""

import json
import re
import reprlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NoReturn, Self, TypeVar, get_args

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from paofed.core.features import require_features
from paofed.errors import FileError, InputError, ScenarioError, shown, unknown
from paofed.toml import toml_of
from paofed.world.availability import Availability, Battery, Bursts, Outages
from paofed.world.delays import LONGEST, Delay, Loss
from paofed.world.faults import KINDS, AnyFault, Fault, FaultyReadings, column_of
from paofed.world.names import PRESETS, NewcomersKind, StartKind, source_of
from paofed.world.recorded import Recorded
from paofed.world.streams import INPUTS, Stream, Synthetic
from paofed.world.table.columns import Unit, duration_text, seconds
from paofed.world.table.door import read
from paofed.world.table.spec import Table
from paofed.world.value import FORMS, Grouped, Value

_UNKNOWN = ("extra_forbidden", "union_tag_invalid")
Count = Annotated[int, Field(ge=1, lt=2**31)]
# Keys that are not written into files since the table itself says them.
_FOUND_IN_TABLE = ("ticks", "clients")
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
UNSAID = ("tick", "contacts")  # keys that are written only where somebody gave them
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
    faults: Annotated[tuple[AnyFault, ...], Field(strict=False)] = ()

    def numbered(self, kind: type[_Kind]) -> list[tuple[int, _Kind]]:
        """Return the faults of a kind with their numbers among all faults.

        A fault's number decides which random numbers it draws.
        """
        return [(i, fault) for i, fault in enumerate(self.faults) if isinstance(fault, kind)]

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units of the inputs and, last, of the target."""
        if isinstance(self.stream, Table):
            return read(self.stream).units
        return (Unit(),) * (INPUTS + 1)

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
        """Dump all values.

        Keys of UNSAID are left out where they are None, as before they existed.
        """
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
        for key in _FOUND_IN_TABLE:
            if values.get(key, found[key]) != found[key]:
                _misfit(
                    key, f"{key} is {values[key]}, but the table has {found[key]}: leave it out"
                )
        if not found.get("kernel_width", 1.0):
            _misfit(
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
        for number, fault in enumerate(self.faults):
            self._fault_fits(f"faults.{number}", fault)
        return self

    def _groups_fit(self, stream: Synthetic) -> None:
        groups = {"stream.samples": len(stream.samples)}
        groups |= {name: law.groups for name, law in self if isinstance(law, Grouped | Bursts)}
        for place, count in groups.items():
            if self.clients % count:
                _misfit(
                    place,
                    f"{place} has {count} groups, which do not divide {self.clients} clients "
                    f"evenly: repeat entries for groups of other sizes",
                )

    def _ticks_fit(self, stream: Synthetic) -> None:
        if max(stream.samples) > self.ticks:
            _misfit(
                "stream.samples",
                f"stream.samples asks for {max(stream.samples)} samples in {self.ticks} "
                f"ticks: a client sees at most one sample per tick, so give fewer samples, or more "
                f"ticks",
            )
        if max(stream.drifts, default=0) >= self.ticks:
            _misfit(
                "stream.drifts",
                f"stream.drifts has a drift at tick {max(stream.drifts)}: the last of "
                f"{self.ticks} ticks is {self.ticks - 1}",
            )
        for one, other in pairwise(stream.drifts):
            if one + stream.drift_ticks > other:
                _misfit(
                    "stream.drift_ticks",
                    f"stream.drift_ticks is {stream.drift_ticks}, so the drift at tick {one} is "
                    f"not over when the next begins, at tick {other}: expected at most "
                    f"{other - one}",
                )

    def _needs_no_past(self) -> None:
        without = "but a synthetic stream has no calibration period: expected"
        if self.linear:
            _misfit("linear", f"linear is true, {without} false, or a table")
        if self.personal:
            _misfit("personal", f"personal is true, {without} false, or a table")
        if self.start == "calibration":
            _misfit("start", f"start is 'calibration', {without} 'zeros', or a table")

    def _features_fit(self, table: Table) -> None:
        try:
            require_features(self.features, read(table).ranges)
        except InputError as error:
            _misfit("features", str(error))

    def _tables_fit(self) -> None:
        for place, law in (("availability.file", self.availability), ("delay.file", self.delay)):
            if isinstance(law, Recorded):
                try:
                    law.table(self.ticks, self.clients)
                except FileError as error:
                    _misfit(place, f"{place}: {error}")

    def _tick_fits(self) -> None:
        if self.tick is None:
            return
        if seconds(self.tick) is None:
            _misfit(
                "tick",
                f"tick is {self.tick!r}: expected a length such as 15min, 1h or 1d "
                f"(ms, s, min, h, d, w)",
            )
        line = read(self.stream).timeline if isinstance(self.stream, Table) else None
        if line is not None and line.calendar and seconds(self.tick) != line.tick:
            found = duration_text(line.tick)
            _misfit("tick", f"tick is {self.tick}, but the table's is {found}: leave it out")

    def _fault_fits(self, place: str, fault: Fault) -> None:
        if fault.start >= self.ticks:
            _misfit(
                f"{place}.start",
                f"{place}.start is {fault.start}: the last of {self.ticks} ticks is "
                f"{self.ticks - 1}",
            )
        listed = fault.clients if isinstance(fault.clients, tuple) else ()
        if fault.how_many(self.clients) > self.clients or max(listed, default=0) >= self.clients:
            _misfit(
                f"{place}.clients",
                f"{place}.clients is {list(listed) or fault.clients}, but there are "
                f"{self.clients} clients, 0 to {self.clients - 1}",
            )
        if isinstance(fault, FaultyReadings):
            try:
                column_of(fault.what, self.units)
            except ValueError as error:
                _misfit(f"{place}.what", f"{place}.what is {fault.what!r}: {error}")

    @classmethod
    def load(cls, name: str | Path) -> Self:
        """Read a preset by name or a TOML file by path.

        Every error names the place of the mistake.
        """
        path = source_of(name)
        return cls.parse(_text(path), str(name), folder=path.parent)

    @classmethod
    def parse(cls, text: str, origin: str, folder: Path | None = None) -> Self:
        """Check the text of a scenario; `origin` names it in errors, `folder` holds its tables."""
        try:
            values = toml_of(text)
        except InputError as error:
            raise ScenarioError(f"{origin}: {error}") from None
        return cls.made(_with_paths(values, folder or Path()), origin, text)

    @classmethod
    def made(cls, values: Mapping[str, Any], origin: str, text: str = "") -> Self:
        """Check values; an error names their `origin`, and the place of the mistake in `text`."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            # A misspelt key or kind gives two errors, "missing" and "unknown": only the second one
            # helps.
            errors = sorted(error.errors(), key=lambda e: e["type"] not in _UNKNOWN)
            raise ScenarioError(_explain(errors[0], text, origin)) from None

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
            for key in (*_FOUND_IN_TABLE, *(["kernel_width"] if usual else [])):
                del values[key]
        for key, value in changes.items():
            *path, last = key.split(".")
            place = values
            for step in path:
                law = place.get(step) or {}
                if not isinstance(law, dict):
                    raise ScenarioError(f"{key} is no key: {step} is {law!r}, which has no keys")
                place[step] = dict(law)
                place = place[step]
            place[last] = value
        return self.made(values, "")

    def to_toml(self) -> str:
        """Write every value, defaults included, as a file that `load` reads back."""
        return to_toml(self.model_dump())


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


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ScenarioError(
            f"{unknown('scenario', str(path), PRESETS)}, and there is no file of that name"
        ) from None
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path} cannot be read as text: {error}") from None
    except ValueError:
        raise ScenarioError(f"{str(path)!r} cannot be read: no file can have this name") from None
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror}") from None


def to_toml(values: Mapping[str, Any]) -> str:
    """Write a scenario's values as TOML; values that a table says itself are left out."""
    tables = {key: value for key, value in values.items() if isinstance(value, dict)}
    left_out = _FOUND_IN_TABLE if tables["stream"].get("kind") == "table" else ()
    plain = {key: v for key, v in values.items() if key not in (*tables, *left_out, "faults")}
    lines = _assignments(plain)
    for key, table in tables.items():
        lines += ["", f"[{key}]", *_assignments(table)]
    for fault in values.get("faults", ()):
        lines += ["", "[[faults]]", *_assignments(fault)]
    return "\n".join(lines) + "\n"


def _found_in(table: Table, *, width: bool) -> dict[str, Any]:
    try:
        readings = read(table)
    except InputError as error:
        _misfit("stream", str(error))
    found = {"ticks": readings.ticks, "clients": len(readings.devices)}
    return {**found, "kernel_width": readings.kernel_width} if width else found


def _with_paths(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Look for the files that a scenario names in `folder`, wherever the program runs."""
    return {
        key: {**value, "file": str((folder / value["file"]).resolve())}
        if isinstance(value, dict) and _can_be_file(value.get("file"))
        else value
        for key, value in values.items()
    }


def _can_be_file(name: object) -> bool:
    # Any other value is refused when the law itself is checked.
    return isinstance(name, str) and "\0" not in name


def _assignments(values: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {toml_value(value)}" for key, value in values.items() if value is not None]


def toml_value(value: Any) -> str:
    """Write one value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, tuple | list):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    return repr(value)


def _misfit(place: str, message: str) -> NoReturn:
    """Refuse values that are right alone but not together; `place` names the key to look at."""
    raise PydanticCustomError("misfit", "{message}", {"message": message, "place": place})


def _explain(error: ErrorDetails, text: str, origin: str) -> str:
    """Say one validation error in one line: its place in the file, what was got and expected."""
    loc, kind = error["loc"], error["type"]
    if kind == "misfit":
        place = place_in_text(error["ctx"]["place"].split("."), text, origin)
        return f"{place}{error['msg']}"
    # Pydantic puts the kind of a law behind the law's name, and the form of a number (one number,
    # or by group) behind its key. People wrote neither.
    depth = 2 if loc[:1] == ("faults",) else 1
    unions = ("stream", "availability", "delay", "faults")
    tagged = len(loc) > depth and loc[0] in unions and loc[depth] in _LAWS
    written = (*loc[:depth], *loc[depth + 1 :]) if tagged else loc
    if kind == "extra_forbidden":
        law = str(loc[depth] if tagged else loc[0])
        model = _LAWS.get(law, Scenario) if len(loc) > 1 else Scenario
        place = place_in_text([str(part) for part in written], text, origin)
        return f"{place}{unknown('key', str(loc[-1]), model.model_fields)}"
    path = [str(part) for part in written if part not in FORMS]
    key, place = ".".join(path), place_in_text(path, text, origin)
    if kind == "missing":
        return f"{place}{key} is missing"
    if kind == "union_tag_invalid":
        tags = [tag.strip("'") for tag in error["ctx"]["expected_tags"].split(", ")]
        place = place_in_text([*path, "kind"], text, origin)
        return f"{place}{unknown(f'{key}.kind', str(error['ctx']['tag']), tags)}"
    if kind == "union_tag_not_found":
        return f"{place}{key}.kind is missing"
    if kind == "too_short":
        return f"{place}{key} is empty: expected at least one entry"
    message = error["msg"].removeprefix("Value error, ")
    if isinstance(error["input"], dict):
        return f"{place}{message}"
    got = f"{key} is {shown(error['input'])}" if path else shown(error["input"])
    if kind in _EXPECTED:
        limits = {
            k: f"{v:g}" if isinstance(v, float) else v for k, v in error.get("ctx", {}).items()
        }
        message = f"expected {_EXPECTED[kind].format(**limits)}"
    return f"{place}{got}: {message[0].lower()}{message[1:]}"


# What pydantic expects where it refuses a value alone, by the type of its error.
_EXPECTED: Mapping[str, str] = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "tuple_type": "a list",
    "too_long": "at most {max_length} entries",
    "literal_error": "{expected}",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
    "dict_type": "keys with values",
}


_LAWS: Mapping[str, type[Value]] = {
    law.model_fields["kind"].default: law
    for union in (Availability, Delay)
    for law in get_args(get_args(union)[0])
} | {
    **KINDS,
    "synthetic": Synthetic,
    "table": Table,
    "loss": Loss,
    "outages": Outages,
    "battery": Battery,
}


def place_in_text(path: Sequence[str], text: str, origin: str) -> str:
    """Name `origin` and the line of a key, or of the nearest table above the key."""
    of_list = len(path) > 1 and path[0] == "faults"
    wanted = [p for i, p in enumerate(path) if not p.isdigit() or (of_list and i == 1)]
    table: list[str] = []
    best, depth, items = 0, 0, 0
    for number, line in enumerate(text.splitlines(), start=1):
        if item := re.match(r"\s*\[\[([^\[\]]+)\]\]", line):
            here = table = [item[1].strip(), str(items)]
            items += 1
        elif header := re.match(r"\s*\[([^\[\]]+)\]", line):
            here = table = [part.strip() for part in header[1].split(".")]
        elif key := re.match(r"\s*([\w.-]+)\s*=", line):
            here = [*table, *key[1].split(".")]
        else:
            continue
        if len(here) > depth and wanted[: len(here)] == here:
            best, depth = number, len(here)
    return f"{origin}:{best}: " if best else origin and f"{origin}: "
