"""Reproduce the paper: its figures, its claims judged with uncertainty, one page to look at.

Runs the paper's two settings and an ideal one, then a grid over step size and kernel width, then
theory beside simulation. Writes report.html (self-contained), the figures as SVG and PNG, every
number as CSV, the results, and which command and versions made them. The page is there from the
start and is filled as the work goes on. It ends with the comparison with other methods that comes
with this version.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from paofed.cli.shared.progress import say
from paofed.cli.shared.spread_options import add_crew_options, add_engine_option, crew_of, stage
from paofed.cli.shared.worlds import add_seed
from paofed.core.random import key_of
from paofed.errors import InputError, whole
from paofed.experiments.paper.claims import FULL, QUICK
from paofed.files import make_folder, write_text
from paofed.simulate.engines import USUAL, engine_of, preferred
from paofed.simulate.results.outcome import versions
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
    """Run the study stage by stage, and write what it says after each of them."""
    from paofed.cli.shared.study import StudyPage, as_text
    from paofed.experiments.paper.stages import run_study

    effort = QUICK if args.quick else FULL
    if args.runs is not None:
        effort = effort._replace(runs=args.runs)
    if args.theory_ticks is not None:
        effort = effort._replace(theory_ticks=whole("--theory-ticks", args.theory_ticks, least=1))
    if effort.runs < 2:
        raise InputError(f"runs is {effort.runs}: expected at least 2, for intervals")
    key_of(args.seed)  # a wrong seed is refused now, not after the folder is made
    command = f"paofed reproduce --runs {effort.runs} --seed {args.seed}"
    command += " --quick" if args.quick else ""
    command += f" --theory-ticks {args.theory_ticks}" if args.theory_ticks is not None else ""
    command += f" --engine {args.engine}" if args.engine != USUAL else ""
    for name in preferred(args.engine):
        engine_of(name)  # an engine whose packages are missing is refused now, too
    with crew_of(args) as crew, ThreadPoolExecutor(1) as pen:
        make_folder(args.out)
        page = StudyPage(args.out, command, args.seed)
        work = run_study(effort, args.seed, args.out, stage, crew, args.engine)
        pages: list[Future[None]] = []
        try:
            with closing(work):
                for study in work:
                    # While the next stage runs, whose kernels need no interpreter. The first page
                    # is waited for: compiling kernels would delay it.
                    pages.append(pen.submit(page.show, study))
                    _raise_errors(pages[:1] if len(pages) == 1 else filter(Future.done, pages))
            _raise_errors(pages)
        except KeyboardInterrupt:
            pen.shutdown(cancel_futures=True)
            page.end(study if pages else None)
            say(f"what was finished is kept in {args.out}: report.html, and the settings as .npz")
            raise
    study.save(args.out)
    about = {"command": command, "versions": versions()}
    write_text(args.out / "about.json", json.dumps(about, indent=1) + "\n")
    print(f"{as_text(study)}\n\nopen {args.out / 'report.html'}")
    return 0


def _raise_errors(pages: Iterable[Future[None]]) -> None:
    """Wait for pages to be written, and raise what went wrong."""
    for page in pages:
        page.result()
