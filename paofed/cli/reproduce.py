"""Reproduce the paper: its figures, its claims judged with uncertainty, one page to look at.

Runs the paper's two settings and an ideal one, then a grid over step size and kernel width, then
theory beside simulation. Writes report.html (self-contained), the figures as SVG and PNG, every
number as CSV, the results, and which command and versions made them. The page is there from the
start and is filled as the work goes on. It ends with the comparison with other methods that comes
with this version.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.cli.shared.crew import add_crew_options, add_engine_option, crew_of, stage
from paofed.cli.shared.progress import say
from paofed.cli.shared.worlds import add_seed
from paofed.experiments.paper.claims import FULL, QUICK
from paofed.words import counted

EXAMPLE = "paofed reproduce --quick --out out"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--runs", type=int, metavar="R",
        help=f"Monte Carlo runs of each setting, at least 2 (default: {FULL.runs})")  # fmt: skip
    add_seed(parser)
    add("--out", type=Path, default=Path("out"), metavar="DIR",
        help="folder to write to, made if it is not there (default: %(default)s)")  # fmt: skip
    add_engine_option(parser)
    add_crew_options(parser)
    add("--theory-ticks", type=int, metavar="T",
        help="ticks for which theory is followed beside simulation (default: "
        f"{FULL.theory_ticks}; with --quick: {QUICK.theory_ticks})")  # fmt: skip
    add(
        "--quick",
        action="store_true",
        help=f"take a first look: {counted(QUICK.runs, 'run')}, a smaller grid",
    )


def run(args: Namespace) -> int:
    """Run the study with progress, and print what it says."""
    from paofed.reproduction import PAGE, as_text, reproduce

    with crew_of(args) as crew:
        try:
            study = reproduce(
                args.out,
                runs=args.runs,
                seed=args.seed,
                quick=args.quick,
                theory_ticks=args.theory_ticks,
                engine=args.engine,
                crew=crew,
                open_stage=stage,
            )
        except KeyboardInterrupt:
            say(f"what was finished is kept in {args.out}: {PAGE}, and the settings as .npz")
            raise
    print(f"{as_text(study)}\n\nopen {args.out / PAGE}")
    return 0
