"""The paper's settings, reproduced: everything is run, and a folder says what holds.

from pathlib import Path
from paofed.reproduction import as_text, reproduce

print(as_text(reproduce(Path("out"), quick=True)))
"""

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from paofed.core.random import key_of
from paofed.errors import InputError, whole
from paofed.experiments.paper.claims import FULL, II, QUICK, I
from paofed.experiments.paper.stages import OpenStage, run_study
from paofed.experiments.paper.study import Study
from paofed.files import make_folder, write_text
from paofed.report.comparison.page import figures, in_short, published
from paofed.report.paper.figures import gallery
from paofed.report.paper.page import Beyond, build
from paofed.report.run.words import as_table
from paofed.report.shared.figures import save_all
from paofed.simulate.engines import USUAL, engine_of, preferred
from paofed.simulate.results.outcome import versions
from paofed.simulate.spread.crew import HERE, Crew
from paofed.simulate.stopping import Report, ignored

PAGE = "report.html"


@contextmanager
def _silently(_: str) -> Iterator[Report]:
    yield ignored


def reproduce(
    folder: Path,
    *,
    runs: int | None = None,
    seed: int = 0,
    quick: bool = False,
    theory_ticks: int | None = None,
    engine: str = USUAL,
    crew: Crew = HERE,
    open_stage: OpenStage = _silently,
) -> Study:
    """Run the study stage by stage, and leave its page and its numbers in a folder.

    `runs`, `quick` and `theory_ticks` are the options of `paofed reproduce`; None is what they
    usually are. The page is there from the start, and is written again after every stage, which
    `open_stage` is told of by name, and which reports to what it yields. After an interrupt
    (Ctrl-C), what was finished is kept.
    """
    effort = QUICK if quick else FULL
    if runs is not None:
        effort = effort._replace(runs=runs)
    if theory_ticks is not None:
        effort = effort._replace(theory_ticks=whole("theory_ticks", theory_ticks, least=1))
    if effort.runs < 2:
        raise InputError(f"runs is {effort.runs}: expected at least 2, for intervals", key="runs")
    key_of(seed)  # a wrong seed is refused now, not after the folder is made
    for name in preferred(engine):
        engine_of(name)  # an engine whose packages are missing is refused now, too
    command = f"paofed reproduce --runs {effort.runs} --seed {seed}"
    command += " --quick" if quick else ""
    command += f" --theory-ticks {theory_ticks}" if theory_ticks is not None else ""
    command += f" --engine {engine}" if engine != USUAL else ""
    make_folder(folder)
    page, pages = _StudyPage(folder, command, seed), list[Future[None]]()
    with ThreadPoolExecutor(1) as pen:
        try:
            with closing(run_study(effort, seed, folder, open_stage, crew, engine)) as work:
                for study in work:
                    # While the next stage runs, whose kernels need no interpreter. The first page
                    # is waited for: compiling kernels would delay it.
                    pages.append(pen.submit(page.show, study))
                    _raise_errors(pages[:1] if len(pages) == 1 else filter(Future.done, pages))
            _raise_errors(pages)
        except KeyboardInterrupt:
            pen.shutdown(cancel_futures=True)
            page.end(study if pages else None)
            raise
    study.save(folder)
    about = {"command": command, "versions": versions()}
    write_text(folder / "about.json", json.dumps(about, indent=1) + "\n")
    return study


def _raise_errors(pages: Iterable[Future[None]]) -> None:
    """Wait for pages to be written, and raise what went wrong."""
    for page in pages:
        page.result()


def as_text(study: Study) -> str:
    """Return both settings of the paper as tables, and the verdicts on its claims."""
    finals = [as_table(study.results[setting]) for setting in (I, II)]
    return "\n\n".join([*finals, study.verdict_table().text()])


class _StudyPage:
    """The page of a study in a folder, written again whenever there is more to show."""

    def __init__(self, folder: Path, command: str, seed: int) -> None:
        self._folder, self._command, self._seed = folder, command, seed
        self._study = Study({}, {})
        self._drawings: dict[str, tuple[str, str]] = {}
        self._beyond: Beyond | None = None

    def show(self, study: Study) -> None:
        """Draw what was not drawn yet, and write the page."""
        first = not self._drawings
        self._draw(study)
        self._write()
        if not first and self._beyond is None:  # the first picture shall not wait for these
            self._beyond = _beyond(self._folder)
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
        write_text(self._folder / PAGE, page)


def _beyond(folder: Path) -> Beyond:
    """Return the published comparison with other methods, drawn here and not run again."""
    found, command, about = published()
    return Beyond(in_short(found, save_all(figures(found), folder)), command, about["paofed"])
