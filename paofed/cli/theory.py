"""Say before any run which step sizes are safe, where the model goes and what it costs.

SCENARIO is a TOML file, a preset, or a recorded trace (.npz) to estimate from. With --runs the
prediction is compared with the average over so many runs in the same world. With --second the
learning curve is predicted too: the mean error of the models, not the error of their mean. How far
off it is, those runs say, or a few that theory makes itself; beyond 0.5 dB it is refused.
"""

from argparse import ArgumentParser, Namespace

from paofed.cli.shared import outputs
from paofed.cli.shared.worlds import add_world
from paofed.errors import InputError
from paofed.world.names import PRESETS

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
    """Refuse what cannot be; then foretell."""
    from paofed.cli.shared.foretelling import foretell

    outputs.check(args, inputs=[args.scenario])
    for what, least in (("runs", 0), ("every", 1)):
        if getattr(args, what) < least:
            raise InputError(f"{what} is {getattr(args, what)}: expected at least {least}")
    args.algorithm = args.algorithm or _USUAL
    foretell(args)
    return 0
