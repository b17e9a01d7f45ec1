"""List the algorithms and the options that shape each of them; also those that packages bring."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from inspect import Parameter
from typing import NamedTuple

from paofed.algorithms import ALGORITHMS, RIVALS, Algorithm, keywords_of
from paofed.algorithms.outside import brought, factory_brought, package_of
from paofed.cli.shared.outputs import say
from paofed.errors import AlgorithmError
from paofed.words import table

EXAMPLE = "paofed algorithms --json"
_OWN = {**ALGORITHMS, **RIVALS}


class _Row(NamedTuple):
    name: str
    options: dict[str, object]
    package: str  # the package that brings it; empty for paofed's own


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: Namespace) -> int:
    """Print one line per algorithm."""
    own = (_Row(name, _options(factory), "") for name, factory in _OWN.items())
    rows = [*own, *_outside()]
    if args.json:
        # A name with a space cannot be that of an option.
        said = {r.name: r.options | ({"brought by": r.package} if r.package else {}) for r in rows}
        print(json.dumps(said, indent=2, default=str))
        return 0
    header = ["algorithm", "options (default)", "brought by"]
    lines = [[r.name, ", ".join(f"{k} ({v})" for k, v in r.options.items()), r[-1]] for r in rows]
    shown = 3 if any(r.package for r in rows) else 2
    print(table(header[:shown], [line[:shown] for line in lines], left=(0, 1, 2)))
    print("\nall take step_size and max_age (the scenario's) and exchange (paper, single or live);")
    print("with the paper's server staleness (their own), divisor (class or coverage) and, against")
    print("broken sensors, clip (in usual innovations) and aside (with clip: yes or no);")
    print("with the paper's learner bound (in usual errors) and learner (lms, two-speed or rls)")
    return 0


def _outside() -> Iterator[_Row]:
    """Yield the algorithms of installed packages; those that cannot be used are told on stderr."""
    entries = brought()
    names = [entry.name for entry in entries]
    for entry in entries:
        package = package_of(entry)
        if entry.name in _OWN:
            say(f"{package} brings {entry.name!r}, a name of paofed's own: paofed's is used")
        elif names.count(entry.name) > 1:
            say(f"{package} brings {entry.name!r}, and so do others: name it as {entry.value}")
        else:
            try:
                yield _Row(entry.name, _options(factory_brought(entry)), package)
            except AlgorithmError as error:
                say(str(error))


def _options(factory: Callable[..., Algorithm]) -> dict[str, object]:
    return {
        key: "required" if parameter.default is Parameter.empty else parameter.default
        for key, parameter in keywords_of(factory).items()
    }
