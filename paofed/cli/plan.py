"""Which settings for a fleet and its bytes: method, parameters, step, bounds, contacts per day.

Candidates race within the budget, and the winner's error is measured on worlds that took no part in
the choice. Writes plan.html (self-contained), its figure, plan.json, and plan.toml, a scenario for
`paofed run`, into DIR; prints the commands that run the plan and make a fleet of it.
"""

import json
import re
import shlex
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from paofed.algorithms.base import Exchange
from paofed.cli.shared import worlds
from paofed.cli.shared.crew import add_crew_options, add_engine_option, crew_of, stage
from paofed.cli.shared.progress import say
from paofed.cli.shared.worlds import add_seed
from paofed.core.tariffs import TARIFFS
from paofed.experiments import TOLERANCE
from paofed.experiments.plan.field import FIELD
from paofed.files import require_folder
from paofed.simulate.engines import announced
from paofed.simulate.stopping import Interrupted

if TYPE_CHECKING:
    from paofed.experiments.plan.record import FleetPlan

EXAMPLE = "paofed plan setting-1 --tick 1h --budget 2kB/day/device --tariff mqtt-tls"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    worlds.add_arguments(parser)
    add("--budget", metavar="BYTES",
        help="bytes on the wire, both ways: 2kB/day/device, 100MB/month (of a whole fleet), "
        "3MB/run (default: what --error takes)")  # fmt: skip
    # Without this, argparse would take -7dB for an option: it knows negative numbers without a
    # unit.
    parser._negative_number_matcher = re.compile(r"-\d+(\.\d+)?(dB)?$")
    add("--error", metavar="DB",
        help="error to stay below at the least cost, as in -7dB (default: the least error for the "
        "budget)")  # fmt: skip
    add("--tariff", default="mqtt-tls", metavar="T",
        help=f"which bytes of a message are counted: {', '.join(TARIFFS)}, or numbers of your own "
        "as in up=31,down=29 (default: %(default)s)")  # fmt: skip
    add("--algorithm", nargs="+", action="extend", metavar="NAME",
        help="methods to try; options that are given are not varied (default: "
        f"{' '.join(map(str, FIELD))})")  # fmt: skip
    add("--exchange", choices=get_args(Exchange), default="live",
        help="order of a contact (default: %(default)s, as in a live fleet)")  # fmt: skip
    add("--tolerance", type=float, default=TOLERANCE, metavar="DB",
        help="how much worse than the best cheaper settings may be, in dB (default: "
        "%(default)s)")  # fmt: skip
    add_seed(parser)
    add_engine_option(parser)
    add_crew_options(parser)
    add("--out", type=Path, default=Path("plan"), metavar="DIR",
        help="folder to write to, made if it is not there (default: %(default)s)")  # fmt: skip
    add("--json", action="store_true", help="print what plan.json has, as JSON")


def run(args: Namespace) -> int:
    """Make the plan, write it, and say what to do with it."""
    from paofed.experiments.plan.plan import plan
    from paofed.report.plan import write

    worlds.check(args)
    if args.step_size is not None:
        say("--step-size is one of those that are tried")
    scenario = worlds.world_of(args)
    require_folder(args.out)
    worlds.tell(scenario, args)
    with (
        crew_of(args) as crew,
        stage(f"{scenario.name}, a plan") as progress,
        announced(args.engine, say),
    ):
        try:
            found = plan(
                scenario,
                budget=args.budget,
                error=args.error,
                tariff=args.tariff,
                algorithms=args.algorithm,
                exchange=args.exchange,
                tolerance=args.tolerance,
                engine=args.engine,
                seed=args.seed,
                report=progress,
                **crew._asdict(),
            )
        except Interrupted as interrupt:
            if interrupt.plan is not None:
                say(str(interrupt.plan))
            raise
    write(found, args.out, shlex.join(["paofed", *sys.argv[1:]]))
    print(json.dumps(found.as_json()) if args.json else _text(found, args.out))
    return 0


def _text(found: "FleetPlan", folder: Path) -> str:
    from paofed.experiments.plan.use import FILE, advice, commands

    steps = [*commands(found, str(folder / FILE)), *filter(None, [advice(found)])]
    return f"{found}\n\n" + "\n".join([*steps, f"open {folder / 'plan.html'}"])
