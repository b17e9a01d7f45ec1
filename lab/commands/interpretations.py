"""Judge the paper's disputed statements under every interpretation of what the paper leaves open.

What is finished stays in DIR: a second start goes on where the first ended.
Writes interpretations.html (self-contained), the figure as SVG and PNG, readings.csv and steps.csv,
and which command and versions made them.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lab.interpretations.amount import FULL, QUICK
from paofed.cli.shared.crew import add_crew_options, stage
from paofed.cli.shared.worlds import add_seed
from paofed.core.random import key_of
from paofed.errors import InputError
from paofed.words import counted, table

if TYPE_CHECKING:
    from lab.interpretations.study import InterpretationStudy

EXAMPLE = "python -m lab interpretations --quick --out interpretations"

_MARKS = {"holds": "+", "does not hold": "-", "tie": "=", "inconclusive": "?"}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--runs", type=int, metavar="R",
        help=f"Monte Carlo runs of each setting, at least 2 (default: {FULL.runs})")  # fmt: skip
    add_seed(parser)
    add("--out", type=Path, default=Path("interpretations"), metavar="DIR",
        help="folder to write to, made if it is not there (default: %(default)s)")  # fmt: skip
    add_crew_options(parser)
    add("--quick", action="store_true",
        help=f"take a first look: {counted(QUICK.runs, 'run')} of a twentieth of the "
        "ticks")  # fmt: skip


def run(args: Namespace) -> int:
    """Compute what is missing, then write what the interpretations say."""
    from lab.interpretations.figure import verdicts
    from lab.interpretations.interpretations import INTERPRETATIONS
    from lab.interpretations.page import build
    from lab.interpretations.study import gathered
    from lab.study_folder import crew_in_folder
    from paofed.report.shared.figures import write_page

    effort = QUICK if args.quick else FULL
    if args.runs is not None:
        effort = effort._replace(runs=args.runs)
    if effort.runs < 2:
        raise InputError(f"runs is {effort.runs}: expected at least 2, for intervals")
    key_of(args.seed)  # a wrong seed is refused now, not after the folder is made
    command = f"python -m lab interpretations --runs {effort.runs} --seed {args.seed}"
    command += " --quick" if args.quick else ""
    with crew_in_folder(args, command) as crew:
        study = gathered(INTERPRETATIONS, effort, args.seed, stage, crew)
    caption = (
        "Every disputed comparison under every interpretation; grey: a tie, or the default "
        "interpretation"
    )
    write_page(
        args.out / "interpretations.html",
        {"interpretations": (caption, verdicts(study))},
        lambda drawings: build(study, drawings, command),
        study.tables(),
    )
    _print(study, args.out)
    return 0


def _print(study: "InterpretationStudy", folder: Path) -> None:
    for statement, labels, rows in study.groups():
        cells = [
            [interpretation.key, *(f"{e.mean:.2f} {_MARKS[e.verdict]}" for e in found)]
            for interpretation, found in rows.items()
        ]
        print(statement)
        print(table(["interpretation", *labels], cells), end="\n\n")
    print(", ".join(f"{mark} {verdict}" for verdict, mark in _MARKS.items()))
    print(f"\nopen {folder / 'interpretations.html'}")
