"""Records of columns as JSON; values that are the default are left out."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any

from paofed.core.columns.calendar import Calendar, Cycle
from paofed.core.columns.categories import Compass, OneHot
from paofed.core.columns.numbers import Cyclic, Number
from paofed.core.columns.transform import Transform
from paofed.errors import InputError, shown, unknown

KINDS: Mapping[str, type[Transform]] = {
    record.kind: record for record in (Number, Cyclic, Compass, OneHot, Calendar)
}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


_Form = tuple[Callable[[object], bool], str]
_TEXT: _Form = (lambda value: isinstance(value, str), "a text")
_NUMBER: _Form = (_is_number, "a number")
_WHOLE: _Form = (lambda value: type(value) is int, "a whole number")
_FLAG: _Form = (lambda value: isinstance(value, bool), "true or false")
_FORMS: Mapping[Any, _Form] = {  # by the type of a record's field
    str: _TEXT,
    Cycle: _TEXT,
    float: _NUMBER,
    int: _WHOLE,
    bool: _FLAG,
    tuple[str, ...]: (_is_list, "a list of texts"),
}


def written(column: Transform) -> dict[str, Any]:
    """Write a record as a JSON object.

    >>> written(Number("O3", 50.0, 20.0, lag=1))
    {'transform': 'number', 'name': 'O3', 'offset': 50.0, 'scale': 20.0, 'lag': 1}
    """
    usual = {field.name: field.default for field in fields(column)}
    found = {name: value for name, value in asdict(column).items() if value != usual[name]}
    return {"transform": column.kind, **found}


def read(value: object) -> Transform:
    """Read what `written` wrote.

    The error for an unknown transform or key says to upgrade paofed.
    """
    found = dict(value) if isinstance(value, dict) else {}
    kind = str(found.pop("transform", None))
    if kind not in KINDS:
        raise InputError(f"{unknown('transform', kind, KINDS)}: upgrade paofed")
    known = {field.name: field for field in fields(KINDS[kind])}
    for key, content in found.items():
        if key not in known:
            raise InputError(f"{unknown(f'key of {kind}', str(key), known)}: upgrade paofed")
        is_right, expected = _FORMS[known[key].type]
        if not is_right(content):
            raise InputError(f"the {key} of {kind} is {shown(content)}: expected {expected}")
    for key, field in known.items():
        if field.default is MISSING and key not in found:
            raise InputError(f"a column of {kind} has no {key!r}")
    if "categories" in found:
        found["categories"] = tuple(found["categories"])
    return KINDS[kind](**found)
