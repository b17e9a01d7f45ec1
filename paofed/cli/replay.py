"""Run one algorithm over a recorded trace and write the model, error curve and traffic."""

import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import get_args

from paofed.algorithms import Algorithm
from paofed.algorithms.base import REPLAYED, Exchange
from paofed.algorithms.setup import Setup
from paofed.core.random import key_of
from paofed.core.rules import Divisor
from paofed.errors import AlgorithmError
from paofed.files import require_archive
from paofed.simulate.engines import ENGINES, LAST
from paofed.simulate.replaying import replay_file
from paofed.table import known

EXAMPLE = "paofed replay trace.npz --algorithm pao-fed-u1 --shared 4 --out outcome.npz"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("trace", type=Path, metavar="TRACE.npz",
        help="trace that `paofed trace` wrote; docs/notation.md has its arrays")  # fmt: skip
    add("--algorithm", required=True, metavar="NAME", help="algorithm, as `paofed run` takes it")
    add("--shared", type=int, metavar="M",
        help="number of coordinates per message, for rows that share a window (default: "
        "4)")  # fmt: skip
    add("--step-size", type=float, metavar="MU",
        help=f"step size of the LMS steps (default: {REPLAYED.step_size})")  # fmt: skip
    add("--max-age", type=int, metavar="TICKS",
        help="greatest age of a message that is used on arrival (default: "
        f"{REPLAYED.max_age})")  # fmt: skip
    add("--staleness", type=float, metavar="BASE",
        help="base of the weight BASE^age of late messages, from 0 to 1 (default: the row's "
        "own)")  # fmt: skip
    add("--subset", type=number, metavar="S",
        help="clients that the server picks: a fraction below 1 or a count; required where the "
        "row picks")  # fmt: skip
    add("--divisor", choices=get_args(Divisor),
        help="what the sum of updates is divided by (default: class)")  # fmt: skip
    add("--uncoordinated", action="store_true",
        help="each client shares a window of its own, in rows that offer the choice")  # fmt: skip
    add("--exchange", choices=get_args(Exchange), help="order of a contact (default: paper)")
    add(
        "--seed",
        type=int,
        default=0,
        metavar="S",
        help="seed of what the algorithm itself draws (default: %(default)s)",
    )
    add("--engine", choices=ENGINES, default=LAST,
        help="engine that replays; all engines agree to 1e-9 (default: %(default)s)")  # fmt: skip
    add("--out", type=Path, required=True, metavar="OUT.npz", help="file to write the outcome to")
    add("--json", action="store_true", help="print the summary as JSON")


def number(text: str) -> float:
    """Read a number: 1 is a whole number (a count), 0.2 a fraction."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def run(args: Namespace) -> int:
    """Replay, save, print a summary."""
    require_archive(args.out)
    key_of(args.seed)  # a wrong seed is refused now, also where no algorithm draws numbers
    method = _method(args)
    outcome, provenance = replay_file(args.trace, method, engine=args.engine, seed=args.seed)
    outcome.save(args.out, provenance)
    if outcome.diverged_at is not None:
        print(f"{method.name} diverged at tick {outcome.diverged_at}", file=sys.stderr)
    summary = {
        "algorithm": method.name,
        "final_db": outcome.final_db,
        "sent_up": outcome.sent_up,
        "sent_down": outcome.sent_down,
        "out": str(args.out),
    }
    if args.json:
        print(json.dumps(known(summary)))
    else:
        print(
            f"{method.name}: {outcome.final_db:.2f} dB after {outcome.mse.size} ticks; "
            f"{outcome.sent_up} coordinates up, {outcome.sent_down} down "
            f"({outcome.payload} bytes); wrote {args.out}"
        )
    return 0


def _method(args: Namespace) -> Algorithm:
    """Make the algorithm of a word and of options beside it; no option may be given in both."""
    setup = Setup.of(args.algorithm)
    beside = {
        "shared": args.shared,
        "subset": args.subset,
        "coordinated": False if args.uncoordinated else None,
        "step_size": args.step_size,
        "max_age": args.max_age,
        "staleness": args.staleness,
        "divisor": args.divisor,
        "exchange": args.exchange,
    }
    given = {key: value for key, value in beside.items() if value is not None}
    for key in given.keys() & setup.values.keys():
        raise AlgorithmError(
            f"{key} is given twice: in {args.algorithm!r} and as an option", key=key
        )
    return replace(setup.with_(**given).algorithm(), name=args.algorithm)
