"""Reproduce the paper: its figures, its claims judged with uncertainty, one page to look at.

Runs the paper's two settings and an ideal one, then a grid over step size and kernel width, then
theory beside simulation. Writes report.html (self-contained), the figures as SVG and PNG, every
number as CSV, the results, and which command and versions made them. The page is there from the
start and is filled as the work goes on. It ends with the comparison with other methods that comes
with this version.
"""

import html
import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from paofed.cli.shared.crew import add_crew_options, add_engine_option, crew_of
from paofed.cli.shared.outputs import say
from paofed.cli.shared.seed import add_seed
from paofed.cli.shared.stages import stage
from paofed.cli.shared.summary import as_table
from paofed.core.random import key_of
from paofed.errors import InputError, whole
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
from paofed.report.shared.markup import heading, note
from paofed.simulate.engines import USUAL, engine_of, preferred
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
        page = _Page(args.out, command, args.seed)
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
    _print(study, args.out)
    return 0


def _raise_errors(pages: Iterable[Future[None]]) -> None:
    """Wait for pages to be written, and raise what went wrong."""
    for page in pages:
        page.result()


class _Page:
    """The page of a study in a folder, written again whenever there is more to show."""

    def __init__(self, folder: Path, command: str, seed: int) -> None:
        self._folder, self._command, self._seed = folder, command, seed
        self._study = Study({}, {})
        self._drawings: dict[str, tuple[str, str]] = {}
        self._beyond: list[str] = []

    def show(self, study: Study) -> None:
        """Draw what was not drawn yet, and write the page."""
        first = not self._drawings
        self._draw(study)
        self._write()
        if not first and not self._beyond:  # the first picture shall not wait for these
            self._beyond = list(_beyond(self._folder))
            self._write()

    def end(self, study: Study | None) -> None:
        """Show a study as far as it came, and say that the work was interrupted."""
        if study is not None:
            self._draw(study)
            self._write(interrupted=True)

    def _draw(self, study: Study) -> None:
        self._study = study
        pictures = gallery(study, self._seed)
        for name, (caption, draw) in pictures.items():
            if self._drawings.get(name, ("",))[0] != caption:  # not yet, or of fewer runs
                self._drawings |= save_all({name: (caption, draw())}, self._folder)
        self._drawings = {name: self._drawings[name] for name in pictures}

    def _write(self, *, interrupted: bool = False) -> None:
        page = build(
            self._study, self._drawings, self._command, self._beyond, interrupted=interrupted
        )
        write_text(self._folder / "report.html", page)


def _beyond(folder: Path) -> Iterator[str]:
    """Yield the published comparison with other methods, drawn here and not run again."""
    found, command, about = published()
    yield f"<section>{heading('Beyond the paper: other methods at equal bytes')}"
    yield from in_short(found, save_all(figures(found), folder))
    made = f"Not run here: {command}, paofed {about['paofed']}, made these numbers."
    yield f"{note(html.escape(made))}</section>"


def _print(study: Study, folder: Path) -> None:
    for setting in (I, II):
        print(as_table(study.results[setting]), end="\n\n")
    rows = [
        [
            claim.key,
            f"{e.mean:.2f}",
            f"[{e.low:.2f}, {e.high:.2f}]",
            claim.shown_unit,
            found.verdict,
        ]
        for claim, found in study.verdicts()
        for e in [claim.shown(found)]
    ]
    print(table(["claim", "found", "95 %", "", "verdict"], rows, left=(0, 3, 4)))
    print(f"\nopen {folder / 'report.html'}")
