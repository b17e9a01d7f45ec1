"""The paper's study as it goes on: its page, written again and again, and its tables in the end."""

from pathlib import Path

from paofed.experiments.paper.claims import II, I
from paofed.experiments.paper.study import Study
from paofed.files import write_text
from paofed.report.comparison.page import figures, in_short, published
from paofed.report.paper.figures import gallery
from paofed.report.paper.page import Beyond, build
from paofed.report.run.words import as_table
from paofed.report.shared.figures import save_all


class StudyPage:
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
        write_text(self._folder / "report.html", page)


def _beyond(folder: Path) -> Beyond:
    """Return the published comparison with other methods, drawn here and not run again."""
    found, command, about = published()
    return Beyond(in_short(found, save_all(figures(found), folder)), command, about["paofed"])


def as_text(study: Study) -> str:
    """Return both settings of the paper as tables, and the verdicts on its claims."""
    finals = [as_table(study.results[setting]) for setting in (I, II)]
    return "\n\n".join([*finals, study.verdict_table().text()])
