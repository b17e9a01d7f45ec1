"""Run one algorithm over a recorded trace and write the model, error curve and traffic."""

import hashlib
import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import get_args

from paofed.algorithms import Algorithm, made
from paofed.algorithms.base import Exchange, Settled
from paofed.algorithms.spec import parted
from paofed.cli.shared.summary import plain
from paofed.core.random import key_of
from paofed.core.rules import Divisor
from paofed.errors import AlgorithmError
from paofed.files import require_writable
from paofed.simulate.engines import ENGINES, LAST, engine_of
from paofed.world.trace import Trace

EXAMPLE = "paofed replay trace.npz --algorithm pao-fed-u1 --shared 4 --out outcome.npz"

_DEFAULTS = Settled(step_size=0.4, max_age=10)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("trace", type=Path, metavar="TRACE.npz", help="a trace: docs/notation.md has its arrays")
    add("--algorithm", required=True, metavar="NAME", help="as `paofed run` takes it")
    add("--shared", type=int, metavar="M", help="coordinates per message (default 4)")
    add("--step-size", type=float, metavar="MU", help=f"(default {_DEFAULTS.step_size})")
    add("--max-age", type=int, metavar="TICKS", help=f"(default {_DEFAULTS.max_age})")
    add("--staleness", type=float, metavar="BASE", help="weight BASE^age (default: the row's own)")
    add("--subset", type=number, metavar="S", help="whom the server picks: a fraction or a count")
    add("--divisor", choices=get_args(Divisor), help="(default class)")
    add("--uncoordinated", action="store_true", help="for rows that offer it (default: their own)")
    add("--exchange", choices=get_args(Exchange), help="(default paper)")
    add(
        "--seed", type=int, default=0, metavar="S", help="of numbers it draws (default %(default)s)"
    )
    add("--engine", choices=ENGINES, default=LAST, help="(default %(default)s)")
    add("--out", type=Path, required=True, metavar="OUT.npz", help="where to write the outcome")
    add("--json", action="store_true", help="print the summary as JSON")


def number(text: str) -> float:
    """Read a number: 1 is a whole number (a count), 0.2 a fraction."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def run(args: Namespace) -> int:
    """Replay, save, print a summary."""
    require_writable(args.out)
    key_of(args.seed)  # a wrong seed is refused now, also where no algorithm draws numbers
    method = _method(args)
    trace = Trace.load(args.trace)
    settled = replace(method, **method.settled(**_DEFAULTS._asdict())._asdict())
    outcome = engine_of(args.engine).replay(trace, settled, seed=args.seed)
    outcome.save(args.out, _provenance(args, settled))
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
        print(json.dumps(plain(summary)))
    else:
        print(
            f"{method.name}: {outcome.final_db:.2f} dB after {trace.ticks} ticks; "
            f"{outcome.sent_up} coordinates up, {outcome.sent_down} down "
            f"({outcome.payload} bytes); wrote {args.out}"
        )
    return 0


def _method(args: Namespace) -> Algorithm:
    """Make the algorithm of a word and of options beside it; no option may be given in both."""
    name, options = parted(args.algorithm)
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
    for key, value in beside.items():
        if value is not None:
            if key in options:
                raise AlgorithmError(
                    f"{key} is given twice: in {args.algorithm!r} and as an option"
                )
            options[key] = value
    return replace(made(name, options), name=args.algorithm)


def _provenance(args: Namespace, method: Algorithm) -> dict[str, object]:
    return {
        "trace": args.trace.name,
        "trace_sha256": hashlib.sha256(args.trace.read_bytes()).hexdigest(),
        "algorithm": method.describe(),
        "engine": args.engine,
        "seed": args.seed,
    }
