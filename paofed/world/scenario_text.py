"""The text of a scenario: its values as TOML, and what is wrong with a text, said in one line."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from paofed.errors import ScenarioError, shown, unknown
from paofed.world.availability import Availability, Battery, Outages
from paofed.world.delays import Delay, Loss
from paofed.world.faults import KINDS
from paofed.world.labels import Labels
from paofed.world.names import PRESETS
from paofed.world.streams import Synthetic
from paofed.world.table.spec import Table
from paofed.world.value import FORMS, Value

_UNKNOWN = ("extra_forbidden", "union_tag_invalid")
# Keys that are not written into files since the table itself says them.
FOUND_IN_TABLE = ("ticks", "clients")


def text_of(path: Path) -> str:
    """Read a scenario's file."""
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


def with_paths(values: dict[str, Any], folder: Path) -> dict[str, Any]:
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


def to_toml(values: Mapping[str, Any]) -> str:
    """Write a scenario's values as TOML; values that a table says itself are left out."""
    tables = {key: value for key, value in values.items() if isinstance(value, dict)}
    left_out = FOUND_IN_TABLE if tables["stream"].get("kind") == "table" else ()
    plain = {key: v for key, v in values.items() if key not in (*tables, *left_out, "faults")}
    lines = _assignments(plain)
    for key, table in tables.items():
        lines += ["", f"[{key}]", *_assignments(table)]
    for fault in values.get("faults", ()):
        lines += ["", "[[faults]]", *_assignments(fault)]
    return "\n".join(lines) + "\n"


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
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {toml_value(v)}' for key, v in value.items())} }}"
    return repr(value)


def misfit(place: str, message: str) -> NoReturn:
    """Refuse values that are right alone but not together; `place` names the key to look at."""
    raise PydanticCustomError("misfit", "{message}", {"message": message, "place": place})


def explained(
    refused: ValidationError, whole: type[Value], text: str, origin: str
) -> ScenarioError:
    """Say in one line what is wrong with values for `whole`, and where in the text they stand.

    The key of the error has dots, and numbers where values are in a list: `faults.1.start`.
    """
    # A misspelt key or kind gives two errors, "missing" and "unknown": only the second one helps.
    error = min(refused.errors(), key=lambda e: e["type"] not in _UNKNOWN)
    loc, kind = error["loc"], error["type"]
    if kind == "misfit":
        key = error["ctx"]["place"]
        return ScenarioError(
            f"{place_in_text(key.split('.'), text, origin)}{error['msg']}", key=key
        )
    written, law = _without_kind(loc)
    if kind == "extra_forbidden":
        model = _LAWS.get(law, whole) if len(loc) > 1 else whole
        path = [str(part) for part in written]
        said = unknown("key", str(loc[-1]), model.model_fields)
        return ScenarioError(place_in_text(path, text, origin) + said, key=".".join(path))
    path = [str(part) for part in written if part not in FORMS]
    key = ".".join(path)
    if kind == "union_tag_invalid":
        tags = [tag.strip("'") for tag in error["ctx"]["expected_tags"].split(", ")]
        said = unknown(f"{key}.kind", str(error["ctx"]["tag"]), tags)
        key = f"{key}.kind"
        return ScenarioError(place_in_text(key.split("."), text, origin) + said, key=key)
    return ScenarioError(place_in_text(path, text, origin) + _complaint(error, key), key=key)


def _without_kind(loc: tuple[int | str, ...]) -> tuple[tuple[int | str, ...], str]:
    """Return the keys that people wrote, and the law that they are about.

    Pydantic puts the kind of a law behind the law's name, and the form of a number (one number, or
    by group) behind its key. People wrote neither.
    """
    depth = 2 if loc[:1] == ("faults",) else 1
    unions = ("stream", "availability", "delay", "faults")
    if len(loc) > depth and loc[0] in unions and loc[depth] in _LAWS:
        return (*loc[:depth], *loc[depth + 1 :]), str(loc[depth])
    return loc, str(loc[0]) if loc else ""


def _complaint(error: ErrorDetails, key: str) -> str:
    """Say what is wrong with the value of a key; all values together have none."""
    kind = error["type"]
    if kind == "missing":
        return f"{key} is missing"
    if kind == "union_tag_not_found":
        return f"{key}.kind is missing"
    if kind == "too_short":
        return f"{key} is empty: expected at least one entry"
    message = error["msg"].removeprefix("Value error, ")
    if isinstance(error["input"], dict):
        return message
    got = f"{key} is {shown(error['input'])}" if key else shown(error["input"])
    if kind in _EXPECTED:
        limits = {
            k: f"{v:g}" if isinstance(v, float) else v for k, v in error.get("ctx", {}).items()
        }
        message = f"expected {_EXPECTED[kind].format(**limits)}"
    return f"{got}: {message[0].lower()}{message[1:]}"


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
    "labels": Labels,
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
