"""Measure the engines side by side on this machine, and how they scale.

Times are per client update and algorithm: one sample mapped and one LMS step, with everything
around it. Rules of one's own, which write the rules of pao-fed-u1 once more, stand beside it, with
the seconds until they can run: compiled, and later from disk. So does fed-ridge, which adds up 40
features where pao-fed-u1 learns 200. Machines are noisy: read the ratios, which are taken inside
one run.
"""

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from paofed.cli.shared.progress import say
from paofed.table import COUNT, WHOLE, ShownColumn, ShownTable, numeric

if TYPE_CHECKING:
    from lab.benchmarks.speed import Timing

EXAMPLE = "python -m lab engines --scaling"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--scaling", action="store_true",
        help="also measure over numbers of clients and of features, with the memory they "
        "take")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print tables."""
    from lab.benchmarks.own import beside, sums_beside_models
    from lab.benchmarks.speed import scaling, side_by_side

    timings, own, sums = side_by_side(say), beside(say), sums_beside_models(say)
    sizes = list(scaling(say)) if args.scaling else []
    if args.json:
        found: dict[str, list[Any]] = {
            "engines": timings,
            "own": own,
            "sums": sums,
            "scaling": sizes,
        }
        print(json.dumps({name: [one._asdict() for one in rows] for name, rows in found.items()}))
        return 0
    tables = [_engines(timings), ShownTable(_OWN, own), ShownTable(_SUMS, sums)]
    tables += [ShownTable(_SIZES, sizes)] if sizes else []
    print("\n\n".join(table.text() for table in tables))
    return 0


_ROUGH = numeric(lambda value: f"{value:.2g}")
_NANOSECONDS = ShownColumn("nanoseconds", "ns", COUNT)
_OWN = (
    ShownColumn("what", "rule of one's own"),
    _NANOSECONDS,
    ShownColumn("times_float32", "times float32's", _ROUGH),
    ShownColumn("times_float64", "times float64's", _ROUGH),
    ShownColumn("first_start", "first s", _ROUGH),
    ShownColumn("later_start", "later s", _ROUGH),
)
_SUMS = (
    ShownColumn("method", "method"),
    ShownColumn("features", "features", WHOLE),
    _NANOSECONDS,
    ShownColumn("times", "times pao-fed-u1's", _ROUGH),
)
_SIZES = (
    *(ShownColumn(key, key, COUNT) for key in ("clients", "features", "algorithms")),
    _NANOSECONDS,
    ShownColumn("megabytes", "MB", COUNT),
)


def _engines(timings: "list[Timing]") -> ShownTable:
    by_name = {t.what: t.nanoseconds for t in timings}
    numpy, c = by_name["vectorised NumPy"], by_name.get("inner loop in C, 1 thread")
    columns = (
        ShownColumn("what", "engine"),
        _NANOSECONDS,
        ShownColumn("speed", "times NumPy's speed", _ROUGH),
        ShownColumn("times", "times C's time", _ROUGH, missing="-"),
        ShownColumn("note", ""),
    )
    rows = [[t.what, t[1], numpy / t[1], c and t[1] / c, t.note] for t in timings]
    return ShownTable(columns, rows)
