"""Reproduce the paper: its figures, its claims judged with uncertainty, one page to look at.

Runs the paper's two settings and an ideal one, then a grid over step size and kernel width, then
theory beside simulation. Writes report.html (self-contained), the figures as SVG and PNG, every
number as CSV, the results, and which command and versions made them. The page ends with the
comparison with other methods that comes with this version.
"""

import html
import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from paofed.cli.shared.crew import add_crew_options, add_engine_option, crew_of
from paofed.cli.shared.outputs import say
from paofed.cli.shared.seed import add_seed
from paofed.cli.shared.stages import stage
from paofed.cli.shared.summary import as_table
from paofed.core.random import key_of
from paofed.errors import InputError
from paofed.files import make_folder, write_text
from paofed.report.compare.figure import figures
from paofed.report.compare.page import in_short
from paofed.report.compare.published import published
from paofed.report.paper.claims import II, I
from paofed.report.paper.experiment import FULL, QUICK, run_study
from paofed.report.paper.gallery import gallery
from paofed.report.paper.page import build
from paofed.report.paper.study import Study
from paofed.report.shared.figures import save_all
from paofed.report.shared.markup import note
from paofed.simulate.engines import USUAL
from paofed.simulate.results.result import versions
from paofed.words import counted, table

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
    add(
        "--quick",
        action="store_true",
        help=f"take a first look: {counted(QUICK.runs, 'run')}, a smaller grid",
    )


def run(args: Namespace) -> int:
    """Run the study stage by stage, then write what it says."""
    effort = QUICK if args.quick else FULL
    if args.runs is not None:
        effort = effort._replace(runs=args.runs)
    if effort.runs < 2:
        raise InputError(f"runs is {effort.runs}: expected at least 2, for intervals")
    key_of(args.seed)  # refused now, not after the folder is made
    with crew_of(args) as crew:
        make_folder(args.out)
        try:
            study = run_study(effort, args.seed, args.out, stage, crew, args.engine)
        except KeyboardInterrupt:
            say(f"the settings that were finished are kept in {args.out}, as .npz")
            raise
    study.save(args.out)
    drawings = save_all(gallery(study, args.seed), args.out)
    command = f"paofed reproduce --runs {effort.runs} --seed {args.seed}"
    command += " --quick" if args.quick else ""
    command += f" --engine {args.engine}" if args.engine != USUAL else ""
    about = {"command": command, "versions": versions()}
    write_text(args.out / "about.json", json.dumps(about, indent=1) + "\n")
    write_text(args.out / "report.html", build(study, drawings, command, _beyond(args.out)))
    _print(study, args.out)
    return 0


def _beyond(folder: Path) -> Iterator[str]:
    """Yield the published comparison with other methods, drawn here and not run again."""
    found, command, about = published()
    yield "<section><h2>Beyond the paper: other methods at equal bytes</h2>"
    yield from in_short(found, save_all(figures(found), folder))
    made = f"Not run here: {command}, paofed {about['paofed']}, made these numbers."
    yield f"{note(html.escape(made))}</section>"


def _print(study: Study, folder: Path) -> None:
    for setting in (I, II):
        print(as_table(study.results[setting]), end="\n\n")
    rows = [
        [claim.key, f"{e.mean:.2f}", f"[{e.low:.2f}, {e.high:.2f}]", found.verdict]
        for claim, found in study.verdicts()
        for e in [found.above(claim.level)]
    ]
    print(table(["claim", "difference", "95 %", "verdict"], rows, left=(0, 3)))
    print(f"\nopen {folder / 'report.html'}")
