"""Rehearse a fleet's disasters: bad networks, broken sensors, power cuts at every write.

Each seed is one small fleet, run in this process on virtual time and a real journal on disk, with
an auditor that ends it when a promise is broken. A fault that was never tried fails the command.
"""

import json
import tempfile
from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path

from lab.rehearsal.auditor import BrokenPromiseError
from lab.rehearsal.rehearsal import POINTS, rehearse
from paofed.cli.shared.progress import Progress, say
from paofed.errors import InputError
from paofed.words import counted, table

EXAMPLE = "python -m lab chaos --seeds 300"

_MEMORY = Path("/dev/shm")  # noqa: S108 (a folder in memory, where there is one: many small files)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "--seeds",
        type=int,
        default=300,
        metavar="N",
        help="number of fleets (default: %(default)s)",
    )
    add("--first", type=int, default=0, metavar="S", help="first seed (default: %(default)s)")
    add("--json", action="store_true", help="print how often each fault was tried as JSON")


def run(args: Namespace) -> int:
    """Run the seeds; return 1 if one fails or a fault was never tried."""
    if args.seeds < 1 or args.first < 0:
        raise InputError("expected at least one seed, from 0 on")
    hits: Counter[str] = Counter()
    with Progress(f"{args.seeds} federations") as progress:
        for i in range(args.seeds):
            seed = args.first + i
            try:
                hits += _one(seed)
            except Exception as error:
                say(f"seed {seed}: {error}\nagain: python -m lab chaos --first {seed} --seeds 1")
                if isinstance(error, BrokenPromiseError):
                    return 1
                raise
            progress((i + 1) / args.seeds)
    tried = {point: hits[point] for point in POINTS}
    if args.json:
        print(json.dumps({"seeds": args.seeds, "tried": tried}))
    else:
        rows = [[point, f"{count:,}"] for point, count in tried.items()]
        print(table(["fault or power cut", "times"], rows))
        print(f"\n{counted(args.seeds, 'federation')} kept every promise")
    missing = [point for point, count in tried.items() if not count]
    if missing and args.seeds > 1:
        say(f"never tried: {', '.join(missing)}; run more seeds")
        return 1
    return 0


def _one(seed: int) -> Counter[str]:
    place = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="paofed-", dir=place) as folder:
        return rehearse(seed, Path(folder) / "fleet")
