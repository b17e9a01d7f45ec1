"""A fault as one word, as on the command line: `scaled:by=10,clients=0.1`."""

from typing import Any

from paofed.errors import ScenarioError, unknown
from paofed.world.faults import KINDS, Fault


def parted(text: str) -> dict[str, Any]:
    """Split a word such as `stuck:at=50` into a dictionary; several clients are joined by +.

    >>> parted("stuck:at=50,clients=3+17")
    {'kind': 'stuck', 'at': 50, 'clients': [3, 17]}
    """
    kind, _, said = text.partition(":")
    if kind not in KINDS:
        raise ScenarioError(f"{text}: {unknown('fault', kind, KINDS)}")
    values: dict[str, Any] = {"kind": kind}
    for pair in said.split(",") if said else []:
        key, equals, value = pair.partition("=")
        if key not in KINDS[kind].model_fields or key == "kind":
            known = [name for name in KINDS[kind].model_fields if name != "kind"]
            raise ScenarioError(f"{text}: {unknown('option', key, known)}")
        if not equals:
            raise ScenarioError(f"{text}: option {key!r} has no value: write {key}=VALUE")
        if key in values:
            raise ScenarioError(f"{text}: option {key!r} is given twice")
        values[key] = _clients(value) if key == "clients" else _value(value)
    return values


def worded(fault: Fault) -> str:
    """Write a fault as a word that `parted` reads; defaults are left out.

    >>> from paofed.world.faults import Stuck
    >>> worded(Stuck(clients=(3, 17), at=50.0))
    'stuck:clients=3+17,at=50'
    """
    values = fault.model_dump(exclude_defaults=True)
    said = ",".join(f"{key}={_said(value)}" for key, value in values.items())
    return f"{type(fault).model_fields['kind'].default}:{said}"


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return "+".join(map(str, value)) + "+" * (len(value) == 1)
    return str(value).removesuffix(".0")


def _clients(text: str) -> object:
    """Read clients by number as a list: 3+17 is two clients, 3+ is client 3 alone."""
    if "+" not in text[1:]:
        return _value(text)
    return [_value(part) for part in text.split("+") if part]


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
