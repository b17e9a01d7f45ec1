"""What `run` and `result` have in common: a Result as a table, JSON, CSV or figure."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from paofed.cli.shared.summary import as_json, as_table
from paofed.errors import InputError
from paofed.files import make_folder, require_folder, require_writable
from paofed.report.run.numbers import PAGE
from paofed.simulate.results.result import Result
from paofed.words import counted

FIGURES = (".png", ".svg", ".pdf")
_ENDINGS = ", ".join(FIGURES)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the outputs that both verbs offer."""
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the curves as a tidy table")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw them (.png, .svg, .pdf)")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def add_page(parser: ArgumentParser) -> None:
    """Declare the page, of those verbs that have one."""
    parser.add_argument("--report", type=Path, metavar="DIR", help="write a page to look at")


def require_figure(path: Path) -> None:
    """Refuse a name that no figure can have."""
    if path.suffix not in FIGURES:
        raise InputError(f"{path} is no figure's name: expected one that ends in {_ENDINGS}")


def check(args: Namespace, *more: Path | None, inputs: Sequence[str | Path] = ()) -> None:
    """Refuse places that cannot be written to before the work begins."""
    if args.figure is not None:
        require_figure(args.figure)
    taken = {Path(str(given)).resolve() for given in inputs}
    folder: Path | None = getattr(args, "report", None)
    pages = [] if folder is None else [folder / name for name in PAGE]
    if folder is not None:
        require_folder(folder)  # made when there is something to put into it
    for path in pages:
        if path.resolve() in taken:
            raise InputError(f"{path} would be overwritten by the page: write it elsewhere")
    taken |= {path.resolve() for path in pages}
    for path in (args.csv, args.figure, *more):
        if path is not None:
            if path.resolve() in taken:
                raise InputError(f"{path} is given twice: every file needs a name of its own")
            taken.add(path.resolve())
            require_writable(path)


def show(result: Result, args: Namespace) -> None:
    """Write the files asked for, then print the summary."""
    if args.csv is not None:
        result.to_csv(args.csv)
    if args.figure is not None:
        _draw(result, args.figure)
    if args.report is not None:
        from paofed.report.run.page import write

        make_folder(args.report)
        write(result, args.report)
        say(f"open {args.report / 'report.html'}")
    for line in result.summary():
        if line["diverged_runs"]:
            say(
                f"{line['algorithm']} diverged in {line['diverged_runs']} of "
                f"{counted(result.runs, 'run')}, first at tick {line['diverged_at']}: its step "
                f"size is too large"
            )
    if args.json:
        print(json.dumps(as_json(result)))
    else:
        print(as_table(result))


def _draw(result: Result, path: Path) -> None:
    from paofed.report.run.fleet_figures import over_time
    from paofed.report.shared.figures import learning_curves, save

    judged = result.progressive
    save(learning_curves(result) if judged is None else over_time(result, judged), path)


def say(text: str) -> None:
    """Tell people something that is not a result."""
    print(text, file=sys.stderr)
