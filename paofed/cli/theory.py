"""Say before any run which step sizes are safe, where the model goes and what it costs.

SCENARIO is a TOML file, a preset, or a recorded trace (.npz) to estimate from. With --runs the
prediction is compared with the average over so many runs in the same world. With --second the
learning curve is predicted too: the mean error of the models, not the error of their mean. How far
off it is, those runs say, or a few that theory makes itself; beyond 0.5 dB it is refused.
"""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from paofed.algorithms.base import Algorithm
from paofed.algorithms.setup import resolve
from paofed.cli.shared import outputs
from paofed.cli.shared.progress import Progress, say
from paofed.cli.shared.worlds import add_world
from paofed.errors import InputError
from paofed.table import in_files
from paofed.words import counted
from paofed.world.names import PRESETS

if TYPE_CHECKING:
    from paofed.report.paper.foretelling import Foretold
    from paofed.simulate.average import Average

EXAMPLE = "paofed theory setting-1 --algorithm pao-fed-u1 --runs 40 --figure theory.png"

_USUAL = ["online-fedsgd", "pao-fed-u1", "pao-fed-c2"]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("scenario", metavar="SCENARIO",
        help=f"TOML file, preset ({', '.join(PRESETS)}) or trace (.npz)")  # fmt: skip
    add(
        "--algorithm",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="algorithms with their options, as in pao-fed-u1:shared=32,step_size=0.2 (default: "
        f"{', '.join(_USUAL)})",
    )
    add_world(parser)
    add("--runs", type=int, default=0, metavar="R",
        help="number of runs to simulate in the same world, to hold the prediction against "
        "(default: none)")  # fmt: skip
    add("--second", action="store_true",
        help="predict learning curves and the largest stable step sizes, too")  # fmt: skip
    add("--best-step", action="store_true",
        help="find the step size with the least predicted error after the last tick; implies "
        "--second")  # fmt: skip
    add("--steady-state", action="store_true",
        help="find where the learning curve ends, after sixteen times the ticks; implies "
        "--second")  # fmt: skip
    add("--every", type=int, default=50, metavar="N",
        help="ticks between two points of a curve (default: %(default)s)")  # fmt: skip
    outputs.add_arguments(parser)


def run(args: Namespace) -> int:
    """Refuse what cannot be; then compute, and show what is finished even after an interrupt."""
    outputs.check(args, inputs=[args.scenario])
    for what, least in (("runs", 0), ("every", 1)):
        if getattr(args, what) < least:
            raise InputError(
                f"{what} is {getattr(args, what)}: expected at least {least}", key=what
            )
    methods = [resolve(text) for text in args.algorithm or _USUAL]
    found = _begun(args, methods)
    try:
        if _second(args):
            found.add_second_moments(
                methods, lambda part: Progress(f"{args.scenario}, {part}"), every=args.every,
                best=args.best_step, steady=args.steady_state,
                check="none" if args.runs else "tell",
            )  # fmt: skip
        if args.runs:
            found.simulated = _simulated(args, methods)
    except KeyboardInterrupt:
        found.remarks.append("interrupted: this is what was finished")
        _show(args, found)
        raise
    _show(args, found)
    return 0


def _second(args: Namespace) -> bool:
    return bool(args.second or args.best_step or args.steady_state)


def _begun(args: Namespace, methods: list[Algorithm]) -> "Foretold":
    """Return what the mean recursion says; refuse unstable steps before anything takes long."""
    from paofed.report.paper.foretelling import Foretold
    from paofed.theory.foresight import foresee
    from paofed.theory.second.stability import require_stable
    from paofed.world.scenario import Scenario
    from paofed.world.trace import Trace

    is_trace = Path(args.scenario).suffix == ".npz"
    source = Trace.load(args.scenario) if is_trace else Scenario.load(args.scenario)
    if is_trace and args.runs:
        raise InputError(f"{args.scenario} is a trace, one run that was: --runs needs a scenario")
    foresight = foresee(source, seed=args.seed, world=args.world)
    for method in methods if _second(args) else ():
        require_stable(foresight.fleet, method, foresight.settings)
    with Progress(f"{args.scenario}, mean recursion") as progress:
        outlook = foresight.outlook(methods, every=args.every, report=progress)
    return Foretold(foresight, args.scenario, args.seed, args.world, outlook)


def _simulated(args: Namespace, methods: list[Algorithm]) -> "Average":
    """Average the runs that are asked for."""
    # Imported here with the engine, which takes a second.
    from paofed.cli.shared.crew import stage
    from paofed.simulate.average import average
    from paofed.world.scenario import Scenario

    with stage(f"{args.scenario}, {counted(args.runs, 'run')}") as progress:
        return average(
            Scenario.load(args.scenario), methods, runs=args.runs, seed=args.seed,
            world=args.world, every=args.every, report=progress,
        )  # fmt: skip


def _show(args: Namespace, found: "Foretold") -> None:
    """Write the files that are asked for, then warn, and print the rest."""
    beside = found.beside
    if args.csv is not None:
        curves = beside.curves(beside.names[0])
        in_files(["algorithm", "tick", *curves], beside.rows()).csv(args.csv)
    if args.figure is not None:
        from paofed.report.paper.figures import mean_and_learning
        from paofed.report.shared.figures import save

        save(mean_and_learning({args.scenario: beside}), args.figure)
    for warning in found.warnings:
        say(warning)
    told = found.as_json(args.tariff) if args.json else found.as_text(args.tariff)
    print(json.dumps(told) if args.json else told)
