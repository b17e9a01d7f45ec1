"""Realise one run of a scenario as a trace file, to replay it or to feed it to another program."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.cli.shared.progress import say
from paofed.cli.shared.worlds import add_labels, add_world, with_labels
from paofed.errors import InputError
from paofed.files import require_archive
from paofed.world.names import PRESETS

EXAMPLE = "paofed trace setting-1 --seed 7 --out trace.npz"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("scenario", metavar="SCENARIO", help=f"a TOML file or a preset: {', '.join(PRESETS)}")
    add_labels(parser)
    add_world(parser)
    add("--run", type=int, default=0, metavar="R",
        help="number of the run in it (default: %(default)s)",
        dest="index")  # fmt: skip
    add("--out", type=Path, required=True, metavar="TRACE.npz", help="file to write the trace to")


def run(args: Namespace) -> int:
    """Realise the run, save it, and say what is in it."""
    from paofed.world.faults import FaultyMessages
    from paofed.world.realize import realize
    from paofed.world.scenario import Scenario

    require_archive(args.out)
    scenario = with_labels(Scenario.load(args.scenario), args.labels)
    if args.out.resolve() in {path.resolve() for path in (Path(args.scenario), *scenario.files)}:
        raise InputError(f"{args.out} is what the trace is made of: write it elsewhere")
    if scenario.numbered(FaultyMessages):
        say("a trace says what clients measure: faults of what they send are no part of it")
    trace = realize(scenario, args.world, args.index, seed=args.seed)
    trace.save(args.out)
    print(
        f"{args.out}: {trace.ticks} ticks of {trace.clients} clients, "
        f"{trace.has_data.sum()} samples, {trace.available.sum()} contacts"
    )
    return 0
