"""List the algorithms: what each does and the options that shape it; also those of packages."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from inspect import Parameter
from typing import NamedTuple

from paofed.algorithms import OURS, Algorithm, in_short, keywords_of
from paofed.algorithms.outside import brought, factory_brought, package_of
from paofed.cli.shared.progress import say
from paofed.errors import AlgorithmError
from paofed.words import table

EXAMPLE = "paofed algorithms --json"


class _Row(NamedTuple):
    name: str
    options: dict[str, object]
    in_short: str
    package: str  # the package that brings it; empty for paofed's own


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: Namespace) -> int:
    """Print every algorithm with its options and, in a second line, what it does."""
    own = (_Row(name, _options(made), in_short(made), "") for name, made in OURS.items())
    rows = [*own, *_outside()]
    if args.json:
        print(json.dumps({row.name: _as_json(row) for row in rows}, indent=2, default=str))
        return 0
    header = ["algorithm", "options (default)", "brought by"]
    lines = [[r.name, ", ".join(f"{k} ({v})" for k, v in r.options.items()), r[-1]] for r in rows]
    shown = 3 if any(r.package for r in rows) else 2
    head, *told = table(header[:shown], [line[:shown] for line in lines], (0, 1, 2)).splitlines()
    print(head)
    for line, row in zip(told, rows, strict=True):
        print(f"{line}\n    {row.in_short}".rstrip())
    print("\nall take step_size and max_age (the scenario's) and exchange (paper, single or live);")
    print("with the paper's server staleness (their own), divisor (class or coverage) and, against")
    print("broken sensors, clip (in usual innovations) and aside (with clip: yes or no);")
    print("with the paper's learner bound (in usual errors) and learner (lms, two-speed,")
    print("rls or weighed)")
    return 0


def _as_json(row: _Row) -> dict[str, object]:
    """Return the options of an algorithm, and what is no option under names that no option has."""
    return {
        **row.options,
        **({"in short": row.in_short} if row.in_short else {}),
        **({"brought by": row.package} if row.package else {}),
    }


def _outside() -> Iterator[_Row]:
    """Yield the algorithms of installed packages; those that cannot be used are told on stderr."""
    entries = brought()
    names = [entry.name for entry in entries]
    for entry in entries:
        package = package_of(entry)
        if entry.name in OURS:
            say(f"{package} brings {entry.name!r}, a name of paofed's own: paofed's is used")
        elif names.count(entry.name) > 1:
            say(f"{package} brings {entry.name!r}, and so do others: name it as {entry.value}")
        else:
            try:
                made = factory_brought(entry)
                yield _Row(entry.name, _options(made), in_short(made), package)
            except AlgorithmError as error:
                say(str(error))


def _options(factory: Callable[..., Algorithm]) -> dict[str, object]:
    return {
        key: "required" if parameter.default is Parameter.empty else parameter.default
        for key, parameter in keywords_of(factory).items()
    }
